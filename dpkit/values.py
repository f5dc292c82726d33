"""`dataclass` as the standard library has it, whose methods are made when first used.

A command imports hundreds of value types and makes objects of a few. The standard library compiles up to six methods a class
from text, at once; here `__init__` is compiled for the first object, and the others are closures over the fields.
"""

from __future__ import annotations

import dataclasses
import inspect
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

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
    inherits = any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
    own = set(cls.__dict__)
    hashed = "__hash__" in own and not (cls.__dict__["__hash__"] is None and "__eq__" in own)
    if cls.__doc__ is None:  # else the library would write the signature there, and read a regular expression for that
        cls.__doc__ = cls.__name__
    made: Any = dataclasses.dataclass(
        cls, init=False, repr=False, eq=False, frozen=frozen and inherits, slots=slots, kw_only=kw_only
    )
    if made is not cls:
        _mend_super(cls, made)
    parameters = made.__dataclass_params__
    parameters.init, parameters.repr, parameters.eq, parameters.frozen = init, repr, eq, frozen
    fields = dataclasses.fields(made)
    if init and "__init__" not in own:
        made.__init__ = _first_init(made)
        made.__signature__ = _Signature()
    if repr and "__repr__" not in own:
        made.__repr__ = _shown(tuple(field.name for field in fields if field.repr))
    if eq:
        if "__eq__" not in own:
            made.__eq__ = _equal(_getter([field.name for field in fields if field.compare]))
        if not hashed:
            counted = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
            made.__hash__ = _hashed(_getter(counted)) if frozen else None
    if frozen and not inherits:
        _freeze(made, frozenset(field.name for field in fields), own, slots=slots)
    return made


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
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
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
            body.append(f"_set(self, {name!r}, {value})" if cls.__dataclass_params__.frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ", ".join([*places, *(["*", *named] if named else [])])
    exec(f"def __init__({arguments}):\n " + "\n ".join(body or ["pass"]), space)  # from names of fields, which are identifiers
    made: Callable[..., None] = space["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


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
