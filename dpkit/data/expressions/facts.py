"""What is known of a value before any row is read: its kind, the range of its codes, and whether it may be NULL."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum

from dpkit.data.columns.kinds import Boolean, Category, Coded, Number
from dpkit.values import dataclass


class ValueKind(Enum):
    """What a value is. Codes are floats throughout: truth is 1 and 0, a text its place in `texts`."""

    NUMBER = "a number"
    BOOLEAN = "a truth value"
    TEXT = "a text"
    DATE = "a date"
    TIME = "a time"
    SPAN = "an interval"
    NULL = "NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A promise about every value: its code is NaN, which is NULL, and only where `nullable`; or from `lower` to `upper`.

    A bound may be infinite: a quotient may be as large as it likes. `whole`: codes are whole numbers. `texts` are all texts
    that the value can be, each once.
    """

    kind: ValueKind
    lower: float
    upper: float
    nullable: bool = True
    whole: bool = False
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for end in ("lower", "upper"):
            object.__setattr__(self, end, float(getattr(self, end)))

    @property
    def is_bounded(self) -> bool:
        """Whether both bounds are finite."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)

    def or_null(self) -> Fact:
        """The same, or NULL."""
        return replace(self, nullable=True)


def number(lower: float, upper: float, *, nullable: bool, whole: bool = False) -> Fact:
    """A number; a bound that is not a number is none."""
    low = -math.inf if math.isnan(lower) else lower
    high = math.inf if math.isnan(upper) else upper
    return Fact(kind=ValueKind.NUMBER, lower=low, upper=high, nullable=nullable, whole=whole)


def truth(*, nullable: bool) -> Fact:
    """True or false."""
    return Fact(kind=ValueKind.BOOLEAN, lower=0.0, upper=1.0, nullable=nullable, whole=True)


def one_of_texts(texts: Iterable[str], *, nullable: bool) -> Fact:
    """One of these texts."""
    known = tuple(dict.fromkeys(texts))
    upper = float(max(len(known) - 1, 0))
    return Fact(kind=ValueKind.TEXT, lower=0.0, upper=upper, nullable=nullable, whole=True, texts=known)


NOTHING = Fact(kind=ValueKind.NULL, lower=0.0, upper=0.0, nullable=True)
"""The literal NULL, which fits every kind."""


def any_of(facts: Iterable[Fact], *, nullable: bool | None = None) -> Fact:
    """One value of several, all of one kind (texts share one list); NULL where one of them may be, unless it is said."""
    listed = list(facts)
    typed = [fact for fact in listed if fact.kind is not ValueKind.NULL]
    may_be_null = any(fact.nullable for fact in listed) if nullable is None else nullable
    if not typed:
        return NOTHING
    return replace(
        typed[0],
        lower=min(fact.lower for fact in typed),
        upper=max(fact.upper for fact in typed),
        whole=all(fact.whole for fact in typed),
        nullable=may_be_null,
    )


def fact_of(column: Coded) -> Fact | None:
    """What a declared column promises of its codes; None for a kind of column that expressions do not understand."""
    lower, upper = column.range
    if isinstance(column, Category):
        return one_of_texts(column.levels, nullable=column.may_drop)
    if isinstance(column, Boolean):
        return truth(nullable=column.may_drop)
    if isinstance(column, Number):
        return number(lower, upper, nullable=column.may_drop, whole=column.whole)
    fact: object = getattr(column, "fact", None)
    return fact if isinstance(fact, Fact) else None
