"""`dataclass` as the standard library has it, whose methods are made when first used.

A command imports hundreds of value types and makes objects of a few. The standard library compiles up to six methods a class
from text, at once; here `__init__` is compiled for the first object, the others are closures over the fields, and the fields
themselves are described when somebody asks for them.
"""

from __future__ import annotations

import dataclasses
import inspect
import reprlib
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, init=True, repr=True, eq=True, frozen=False, slots=False, kw_only=False):
        """`dataclasses.dataclass`, of the same meaning; options that are not listed here are not taken."""

        def made(found):
            return _made(found, init=init, repr=repr, eq=eq, frozen=frozen, slots=slots, kw_only=kw_only)

        return made if cls is None else made(cls)


def _made(cls: Any, *, init: bool, repr: bool, eq: bool, frozen: bool, slots: bool, kw_only: bool) -> Any:
    inherits = any("__dataclass_fields__" in base.__dict__ for base in cls.__mro__[1:])
    own = set(cls.__dict__)
    hashed = "__hash__" in own and not (cls.__dict__["__hash__"] is None and "__eq__" in own)
    if cls.__doc__ is None:  # else the library would write the signature there, and read a regular expression for that
        cls.__doc__ = cls.__name__
    flags = {"init": init, "repr": repr, "eq": eq, "frozen": frozen}
    plain = None if inherits else _plain_fields(cls, slots=slots, kw_only=kw_only)
    if plain is None:
        made = dataclasses.dataclass(
            cls, init=False, repr=False, eq=False, frozen=frozen and inherits, slots=slots, kw_only=kw_only
        )
        _mark(made.__dataclass_params__, flags)
        given: dict[str, Any] = {field.name: field for field in dataclasses.fields(made)}
    else:
        made, given = _with_slots(cls, plain) if slots else cls, plain
        described = _Description(made, given, slots=slots, kw_only=kw_only, flags=flags)
        made.__dataclass_fields__, made.__dataclass_params__ = _Late(described, 0), _Late(described, 1)
        if "__match_args__" not in own:
            made.__match_args__ = () if kw_only else tuple(given)  # type: ignore[misc]
    if made is not cls:
        _mend_super(cls, made)
    if init and "__init__" not in own:
        made.__init__ = _first_init(made)
        made.__signature__ = _Signature()
    if repr and "__repr__" not in own:
        made.__repr__ = _shown(
            tuple(name for name, value in given.items() if not isinstance(value, dataclasses.Field) or value.repr)
        )
    if eq:
        compared = [name for name, value in given.items() if not isinstance(value, dataclasses.Field) or value.compare]
        if "__eq__" not in own:
            made.__eq__ = _equal(_getter(compared))
        if not hashed:
            counted = [
                name
                for name, value in given.items()
                if not isinstance(value, dataclasses.Field) or (value.compare if value.hash is None else value.hash)
            ]
            made.__hash__ = _hashed(_getter(counted)) if frozen else None
    if frozen and not inherits:
        _freeze(made, frozenset(given), own, slots=slots)
    return made


def _mark(parameters: Any, flags: dict[str, bool]) -> None:
    """What the class was asked for, which the library did not make."""
    for name, value in flags.items():
        setattr(parameters, name, value)


def _plain_fields(cls: Any, *, slots: bool, kw_only: bool) -> dict[str, Any] | None:
    """The names of the fields, each with its default, where that is all there is to know; None where the library must look."""
    annotations: dict[str, Any] | None = vars(cls).get("__annotations__")  # none of its own, where they are not texts
    if annotations is None or any(base.__dict__.get("__slots__") for base in cls.__mro__[1:-1]):
        return None
    for annotation in annotations.values():
        if not isinstance(annotation, str) or any(word in annotation for word in ("ClassVar", "InitVar", "KW_ONLY")):
            return None
    found = {name: cls.__dict__.get(name, dataclasses.MISSING) for name in annotations}
    stated = [name for name, value in cls.__dict__.items() if isinstance(value, dataclasses.Field)]
    if stated and not (slots and kw_only and all(name in found for name in stated)):
        return None
    return None if "__slots__" in cls.__dict__ or any(type(value).__hash__ is None for value in found.values()) else found


def _with_slots(cls: Any, names: Iterable[str]) -> Any:
    """The class once more, with slots, as the library makes it."""
    space = {name: value for name, value in cls.__dict__.items() if name not in {*names, "__dict__", "__weakref__"}}
    made = type(cls)(cls.__name__, cls.__bases__, space | {"__slots__": tuple(names)})
    made.__qualname__ = cls.__qualname__
    return made


class _Description:
    """What the standard library keeps of the fields of a class, made when it is first asked for; few are ever asked."""

    def __init__(self, made: Any, given: dict[str, Any], *, slots: bool, kw_only: bool, flags: dict[str, bool]) -> None:
        self.made, self.given, self.slots, self.kw_only, self.flags = made, given, slots, kw_only, flags

    def written(self) -> tuple[Any, Any]:
        """The fields and the parameters, which are the class's own from now on."""
        space = {name: value for name, value in self.given.items() if value is not dataclasses.MISSING}
        space |= {name: vars(self.made)[name] for name in ("__annotations__", "__module__", "__doc__")}
        shadow: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self.kw_only)(
            type(self.made.__name__, (), space)
        )
        fields, parameters = shadow.__dataclass_fields__, shadow.__dataclass_params__
        _mark(parameters, self.flags)
        if hasattr(parameters, "slots"):  # not in Python 3.11
            parameters.slots = self.slots
        self.made.__dataclass_fields__, self.made.__dataclass_params__ = fields, parameters
        return fields, parameters


class _Late:
    """One of the two, on the class, until it is asked for."""

    def __init__(self, described: _Description, place: int) -> None:
        self.described, self.place = described, place

    def __get__(self, instance: object, owner: Any) -> Any:
        return self.described.written()[self.place]


def _mend_super(old: Any, new: Any) -> None:
    """With slots the class is made a second time; `super()` in its methods, which share one cell, means the second."""
    for member in vars(new).values():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        for cell in getattr(function, "__closure__", None) or ():
            if cell.cell_contents is old:
                cell.cell_contents = new
                return


def _first_init(cls: Any) -> Callable[..., None]:
    """An `__init__` that puts the compiled one into its place, and calls it."""

    def first(self: object, /, *values: object, **named: object) -> None:
        if cls.__init__ is first:
            cls.__init__ = _init_of(cls)
        cls.__init__(self, *values, **named)

    return first


def _init_of(cls: Any) -> Callable[..., None]:
    """Sets each field to what was given, or to its default, or to what its factory makes; then comes `__post_init__`."""
    space: dict[str, Any] = {"_set": object.__setattr__, "_made": dataclasses.MISSING}
    places: list[str] = ["self"]
    named: list[str] = []
    body: list[str] = []
    parts, frozen = _parts_of(cls)
    for name, field in parts.items():
        value = name
        space[f"_default_{name}"] = field.default
        if field.default_factory is not dataclasses.MISSING:
            space[f"_factory_{name}"] = field.default_factory
            value = f"_factory_{name}() if {name} is _made else {name}" if field.init else f"_factory_{name}()"
        elif not field.init:
            value = f"_default_{name}"
        default = "" if value == name and field.default is dataclasses.MISSING else f"=_default_{name}"
        if field.init:
            (named if field.kw_only else places).append(name + default)
        if field.init or space[f"_default_{name}"] is not dataclasses.MISSING or value != f"_default_{name}":
            body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ", ".join([*places, *(["*", *named] if named else [])])
    exec(f"def __init__({arguments}):\n " + "\n ".join(body or ["pass"]), space)  # from names of fields, which are identifiers
    made: Callable[..., None] = space["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


def _parts_of(cls: Any) -> tuple[Mapping[str, Any], bool]:
    """The fields of a class by name, as far as `__init__` must know them; and whether it is frozen."""
    late = vars(cls)["__dataclass_fields__"]
    if not isinstance(late, _Late):
        return {field.name: field for field in dataclasses.fields(cls)}, cls.__dataclass_params__.frozen
    described = late.described
    parts = {
        name: _Part(value.default, value.default_factory, value.init, described.kw_only)
        if isinstance(value, dataclasses.Field)
        else _Part(value, dataclasses.MISSING, True, described.kw_only)
        for name, value in described.given.items()
    }
    return parts, described.flags["frozen"]


class _Part(NamedTuple):
    default: object
    default_factory: object
    init: bool
    kw_only: bool


class _Signature:
    """The signature of a class, for `inspect.signature`, which else would see that of an `__init__` still to be made.

    An object has none of its own: one that can be called has that of its `__call__`.
    """

    def __get__(self, instance: object, owner: Any) -> inspect.Signature | None:
        if instance is not None:
            return None
        maker = next(base for base in owner.__mro__ if "__init__" in base.__dict__)
        if not isinstance(maker.__dict__.get("__signature__"), _Signature):
            return None
        fields = [(field.name, field.type, field) for field in dataclasses.fields(maker)]
        return inspect.signature(dataclasses.make_dataclass(maker.__name__, fields))


def _getter(names: list[str]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _shown(names: tuple[str, ...]) -> Callable[[object], str]:
    @reprlib.recursive_repr()
    def show(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return show


def _equal(values: Callable[[object], tuple[object, ...]]) -> Callable[[object, object], bool]:
    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashed(values: Callable[[object], tuple[object, ...]]) -> Callable[[object], int]:
    def hashed(self: object) -> int:
        return hash(values(self))

    return hashed


def _freeze(cls: Any, names: frozenset[str], own: set[str], *, slots: bool) -> None:
    """Fields cannot be set; and with slots, copies and pickles go round that."""

    def refuse_to_set(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    for name in {"__setattr__", "__delattr__"} & own:
        raise TypeError(f"Cannot overwrite attribute {name} in class {cls.__name__}")
    cls.__setattr__, cls.__delattr__ = refuse_to_set, refuse_to_delete
    for name, method in (("__getstate__", _state), ("__setstate__", _restore)):
        if slots and name not in own:
            setattr(cls, name, method)


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
