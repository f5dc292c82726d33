"""Validation shared by the value types: each check returns the normalised value or names field, finding and allowance."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from typing import TypeVar

from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import in_full

T = TypeVar("T")


def checked(**checks: Callable[..., object]) -> Callable[[type[T]], type[T]]:
    """Below `@dataclass`: each field named becomes what its check returns; then comes the class's own `__post_init__`.

    Once a field `name` is checked, messages carry it.
    """

    def decorate(cls: type[T]) -> type[T]:
        rest = cls.__dict__.get("__post_init__")

        def check_fields(self: object) -> None:
            where = type(self).__name__
            for field, check in checks.items():
                object.__setattr__(self, field, check(getattr(self, field), field=field, where=where))
                if field == "name":
                    where = f"{where}({getattr(self, field)})"
            if rest is not None:
                rest(self)

        cls.__post_init__ = check_fields  # type: ignore[attr-defined]
        return cls

    return decorate


def or_none(check: Callable[..., object]) -> Callable[..., object]:
    """The same check, where None is allowed too."""
    return lambda value, **place: None if value is None else check(value, **place)


def finite_number(
    value: object,
    *,
    field: str,
    where: str,
    minimum: float = -math.inf,
    below: float = math.inf,
    strict: bool = False,
) -> float:
    """A finite real number with `minimum <= value < below` (`minimum < value` if strict), as a float."""
    if type(value) is float and (minimum < value if strict else minimum <= value) and value < below and math.isfinite(value):
        return value + 0.0  # most are this; -0.0 and 0.0 are one value
    moved = False
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        moved = number != value and value == value  # to the nearest, which may be the unsafe side
        high_enough = number > minimum if strict else number >= minimum
        if math.isfinite(number) and high_enough and number < below and not moved:
            return number + 0.0  # -0.0 and 0.0 are one value
        moved = moved and math.isfinite(number)
    low = "" if minimum == -math.inf else f" {'>' if strict else '>='} {in_full(minimum)}"
    high = "" if below == math.inf else f" and < {in_full(below)}" if low else f" < {in_full(below)}"
    allowed = f"a finite number{low}{high}{' that a float holds exactly' if moved else ''}"
    fix = "Round it to the safe side yourself." if moved else ""
    raise InvalidValueError(field=field, found=value, allowed=allowed, where=where, fix=fix)


def whole_number(value: object, *, field: str, where: str, minimum: int = 0) -> int:
    """An integer that is at least `minimum`; a float is refused even when it is whole."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise InvalidValueError(field=field, found=value, allowed=f"a whole number >= {minimum}", where=where)
    return int(value)


def nonnegative(value: object, *, field: str, where: str) -> float:
    """A finite number >= 0."""
    return finite_number(value, field=field, where=where, minimum=0.0)


def probability_below_one(value: object, *, field: str, where: str) -> float:
    """A number in [0, 1): what a failure probability may be."""
    return finite_number(value, field=field, where=where, minimum=0.0, below=1.0)


def probability(value: object, *, field: str, where: str, minimum_is_open: bool = False) -> float:
    """A number in [0, 1], or in (0, 1]."""
    number = finite_number(value, field=field, where=where, minimum=0.0, strict=minimum_is_open)
    if number > 1.0:
        allowed = f"a number in {'(' if minimum_is_open else '['}0, 1]"
        raise InvalidValueError(field=field, found=value, allowed=allowed, where=where)
    return number


def positive(value: object, *, field: str, where: str) -> float:
    """A finite number > 0."""
    return finite_number(value, field=field, where=where, minimum=0.0, strict=True)


def instance_of(value: T, kind: type | tuple[type, ...], *, field: str, where: str, allowed: str) -> T:
    """A value of this type."""
    if not isinstance(value, kind):
        raise InvalidValueError(field=field, found=value, allowed=allowed, where=where)
    return value


def function(value: T, *, field: str, where: str, allowed: str = "a function") -> T:
    """What can be called."""
    if not callable(value):
        raise InvalidValueError(field=field, found=value, allowed=allowed, where=where)
    return value


def tuple_of(values: object, kind: type, *, field: str, where: str, allowed: str, least: int = 0) -> tuple[object, ...]:
    """An iterable of instances of one type, as a tuple of at least `least`."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidValueError(field=field, found=values, allowed=allowed, where=where)
    items = tuple(values)
    for item in items:
        instance_of(item, kind, field=field, where=where, allowed=allowed)
    if len(items) < least:
        raise InvalidValueError(field=field, found=items, allowed=allowed, where=where)
    return items


def nonempty_text(value: object, *, field: str, where: str) -> str:
    """A string with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidValueError(field=field, found=value, allowed="a non-empty string", where=where)
    return value


def one_of(value: T, options: tuple[str, ...], *, field: str, where: str) -> T:
    """One of a few named options."""
    if value not in options:
        allowed = "one of " + ", ".join(repr(option) for option in options)
        raise InvalidValueError(field=field, found=value, allowed=allowed, where=where)
    return value
