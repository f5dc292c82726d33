"""Declared columns: what a cell may hold, and what becomes of every cell that holds something else.

A column turns cells into codes, finite float64 within declared bounds. NaN is the code of a cell whose row is dropped: it
contributes zero to every query that reads the column, and still counts as a row. Nothing here raises on what a cell holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field as declared
from enum import Enum
from typing import Protocol, runtime_checkable

import numpy as np

from dpkit.contracts.table import Cells
from dpkit.data.columns.cells import FloatArray, Kind, plain_spelling, read_names, read_numbers, read_texts, text_of
from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import LARGEST_BOUND
from dpkit.numerics.rounding import in_full
from dpkit.privacy.checks import finite_number, nonempty_text, one_of, tuple_of
from dpkit.values import dataclass

_FLOAT32_WHOLE = 2.0**24


class Policy(Enum):
    """What becomes of a cell that is not as declared, where no value is given to stand for it."""

    DROP = "drop"
    CLIP = "clip"

    def __str__(self) -> str:
        return self.value


@runtime_checkable
class Coded(Protocol):
    """What is known of the codes of a column, whether it stands in the table or is derived."""

    @property
    def name(self) -> str:
        """Its name in the table."""
        ...

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest code."""
        ...

    @property
    def may_drop(self) -> bool:
        """Whether some cell could make its row contribute zero."""
        ...


@runtime_checkable
class Column(Coded, Protocol):
    """What every kind of declared column does."""

    def encode(self, cells: Cells) -> FloatArray:
        """The code of each cell; NaN where the row is dropped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number between declared, public bounds; with `whole`, rounded to the nearest whole number (halves to even).

    Every policy is `Policy.DROP` (the row contributes zero) or a number that stands for the cell; what lies outside the
    bounds, infinities included, may also be clipped to them. `nan` and `text` are as `missing` unless they are given. `decimal`
    is the sign before the decimals of a number that is written as a text: a point or a comma.
    """

    name: str
    lower: float
    upper: float
    whole: bool = False
    missing: Policy | float = Policy.DROP
    nan: Policy | float | None = None
    text: Policy | float | None = None
    infinite: Policy | float = Policy.CLIP
    outside: Policy | float = Policy.CLIP
    decimal: str = declared(default=".", repr=False)

    def __post_init__(self) -> None:
        where = f"Number({nonempty_text(self.name, field='name', where='Number')})"
        lower = finite_number(self.lower, field="lower", where=where, minimum=-LARGEST_BOUND)
        upper = finite_number(self.upper, field="upper", where=where, minimum=lower)
        if upper > LARGEST_BOUND or (self.whole and not (lower.is_integer() and upper.is_integer())):
            allowed = "a whole number, as `lower`" if self.whole else "at most 2**400"
            raise InvalidValueError(field="upper", found=self.upper, allowed=allowed, where=where)
        one_of(self.decimal, (".", ","), field="decimal", where=where)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        for field in ("nan", "text"):
            if getattr(self, field) is None:
                object.__setattr__(self, field, self.missing)
        for field in ("missing", "nan", "text", "infinite", "outside"):
            clips = field in ("infinite", "outside")
            object.__setattr__(self, field, self._policy(getattr(self, field), field=field, where=where, clips=clips))

    def _policy(self, given: object, *, field: str, where: str, clips: bool) -> Policy | float:
        options = [policy for policy in Policy if clips or policy is Policy.DROP]
        for policy in options:
            if given is policy or given == policy.value:
                return policy
        named = " or ".join(repr(policy.value) for policy in options)
        allowed = f"{named}, or a {'whole ' if self.whole else ''}number from {in_full(self.lower)} to {in_full(self.upper)}"
        if isinstance(given, str | Policy):
            raise InvalidValueError(field=field, found=str(given), allowed=allowed, where=where)
        number = finite_number(given, field=field, where=where)
        if not self.lower <= number <= self.upper or (self.whole and not number.is_integer()):
            raise InvalidValueError(field=field, found=given, allowed=allowed, where=where)
        return number

    @property
    def range(self) -> tuple[float, float]:
        """The bounds."""
        return self.lower, self.upper

    @property
    def may_drop(self) -> bool:
        """Whether some policy drops."""
        return Policy.DROP in (self.missing, self.nan, self.text, self.infinite, self.outside)

    def encode(self, cells: Cells) -> FloatArray:
        """The numbers, clipped and mapped."""
        found, kinds = read_numbers(cells, decimal_comma=self.decimal == ",")
        codes = np.clip(np.rint(found) if self.whole else found, self.lower, self.upper)
        codes += 0.0  # minus zero is zero
        if self.outside is not Policy.CLIP:
            codes[(found < self.lower) | (found > self.upper)] = _code(self.outside)
        if not self.infinite == self.outside == Policy.CLIP:
            infinite = np.isinf(found)
            clipped = np.where(found > 0.0, self.upper, self.lower)
            codes[infinite] = clipped[infinite] if self.infinite is Policy.CLIP else _code(self.infinite)
        if kinds.any():
            for kind, policy in ((Kind.MISSING, self.missing), (Kind.NAN, self.nan), (Kind.TEXT, self.text)):
                codes[kinds == kind] = _code(policy)
        return codes


_LAST_WHOLE = 2.0**53
"""Below it a float holds every whole number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One of a few declared, public levels; the code of a level is its place in the list.

    Levels are compared as texts: the whole number 3, the float 3.0 and the texts "3" and "3.0" are one level, unless both texts
    are declared. `missing` and `unknown` are
    `Policy.DROP` or a level; a text too long to be a level is unknown. Where `decimal` is a comma, "3,0" is the level 3, too.
    """

    name: str
    levels: tuple[str, ...]
    missing: Policy | str = Policy.DROP
    unknown: Policy | str = Policy.DROP
    decimal: str = declared(default=".", repr=False)

    def __post_init__(self) -> None:
        where = f"Category({nonempty_text(self.name, field='name', where='Category')})"
        allowed = "a tuple of texts, whole numbers or booleans that differ"
        given = tuple_of(self.levels, object, field="levels", where=where, allowed=allowed)
        levels = tuple(text_of(level) for level in given)
        if any(
            isinstance(level, float) and not abs(level) < _LAST_WHOLE for level in given
        ):  # digits were lost: none may match
            allowed = "texts, whole numbers or booleans; a number with more than 15 digits in quotes"
            raise InvalidValueError(field="levels", found=self.levels, allowed=allowed, where=where)
        if any(level == "" for level in given):
            allowed = "texts with at least one character: a cell without text is missing, and `missing` says what it becomes"
        if not levels or None in levels or len(set(levels)) != len(levels):
            raise InvalidValueError(field="levels", found=self.levels, allowed=allowed, where=where)
        object.__setattr__(self, "levels", levels)
        one_of(self.decimal, (".", ","), field="decimal", where=where)
        for field in ("missing", "unknown"):
            policy = getattr(self, field)
            level = text_of(policy)
            if level in levels:
                object.__setattr__(self, field, level)
            elif policy is Policy.DROP or policy == Policy.DROP.value:
                object.__setattr__(self, field, Policy.DROP)
            else:
                raise InvalidValueError(field=field, found=policy, allowed="'drop' or a declared level", where=where)

    @property
    def range(self) -> tuple[float, float]:
        """The first and the last place in the list of levels."""
        return 0.0, float(len(self.levels) - 1)

    @property
    def may_drop(self) -> bool:
        """Whether a missing or unknown level drops its row."""
        return Policy.DROP in (self.missing, self.unknown)

    def encode(self, cells: Cells) -> FloatArray:
        """The place of each level."""
        places = _also_plainly_spelt({level: float(place) for place, level in enumerate(self.levels)})
        missing, unknown = self._place(self.missing), self._place(self.unknown)
        return _looked_up(read_texts(cells), places, missing=missing, unknown=unknown, decimal=self.decimal)

    def _place(self, policy: Policy | str) -> float:
        return np.nan if isinstance(policy, Policy) else float(self.levels.index(policy))


TRUTH = {**dict.fromkeys(("true", "t", "yes", "y", "1"), 1.0), **dict.fromkeys(("false", "f", "no", "n", "0"), 0.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean:
    """True or false, as 1 and 0; also read from 1 and 0, and from true, t, yes, y, false, f, no, n in any case.

    `missing` and `unknown` (anything else) are `Policy.DROP`, True or False. Where `decimal` is a comma, "1,0" is true, too.
    """

    name: str
    missing: Policy | bool = Policy.DROP
    unknown: Policy | bool = Policy.DROP
    decimal: str = declared(default=".", repr=False)

    def __post_init__(self) -> None:
        where = f"Boolean({nonempty_text(self.name, field='name', where='Boolean')})"
        one_of(self.decimal, (".", ","), field="decimal", where=where)
        for field in ("missing", "unknown"):
            policy = getattr(self, field)
            if policy == Policy.DROP.value:
                object.__setattr__(self, field, Policy.DROP)
            elif policy is not Policy.DROP and not isinstance(policy, bool):
                raise InvalidValueError(field=field, found=policy, allowed="'drop', True or False", where=where)

    @property
    def range(self) -> tuple[float, float]:
        """False and true."""
        return 0.0, 1.0

    @property
    def may_drop(self) -> bool:
        """Whether a missing or unknown cell drops its row."""
        return Policy.DROP in (self.missing, self.unknown)

    def encode(self, cells: Cells) -> FloatArray:
        """1 for true and 0 for false."""
        texts = [None if text is None else text.strip().casefold() or None for text in read_texts(cells)]
        return _looked_up(texts, TRUTH, missing=_code(self.missing), unknown=_code(self.unknown), decimal=self.decimal)


TEXT_BITS = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Any text: a column without declared levels, whose values come out only where enough people have them.

    The code of a text is a number of 52 bits, made of the text alone. Two texts have the same one with a probability of 2**-52;
    their rows are then counted together, which changes an answer and no price. A row without a text is dropped.
    """

    name: str
    cell: str = ""

    def __post_init__(self) -> None:
        nonempty_text(self.name, field="name", where="Text")
        object.__setattr__(self, "cell", self.cell or self.name)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest code."""
        return 0.0, 2.0**TEXT_BITS - 1.0

    @property
    def may_drop(self) -> bool:
        """A row without a text is dropped."""
        return True

    def encode(self, cells: Cells) -> FloatArray:
        """The code of each text."""
        texts = read_names(cells)
        known = {text: text_code(text) for text in set(texts) if text is not None}
        return np.array([np.nan if text is None else known[text] for text in texts], dtype=np.float64)


def text_code(text: str) -> float:
    """A number of 52 bits that stands for a text."""
    digest = hashlib.blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=8, person=b"dpkit text").digest()
    return float(int.from_bytes(digest, "little") >> (64 - TEXT_BITS))


def cell_of(column: Coded) -> str:
    """The column of the table that a declared column is read from."""
    return column.cell if isinstance(column, Text) else column.name


def encoded(column: Column, cells: Cells) -> FloatArray:
    """The codes of a column's cells; where the distinct values are known, from those: each cell is read on its own."""
    if cells.distinct is None or cells.places is None or cells.missing is not None:
        return column.encode(cells)
    return np.asarray(column.encode(Cells(values=cells.distinct))[cells.places], dtype=np.float64)


def exact_in_float32(column: Coded, *, narrow: bool = False) -> bool:
    """Whether a float32 holds every code of a column exactly, by its declaration; `narrow`: its cells are float32 or shorter.

    Places in a list and truth values do, and whole numbers up to 2**24. Other numbers do where their cells are narrow and
    the bounds and all values that stand for cells are float32 themselves: clipping then makes no other number.
    """
    lower, upper = column.range
    if isinstance(column, Category | Boolean):
        return upper < _FLOAT32_WHOLE
    if getattr(column, "whole", False):
        return lower >= -_FLOAT32_WHOLE and upper <= _FLOAT32_WHOLE
    if not isinstance(column, Number):
        return False
    given = (column.missing, column.nan, column.text, column.infinite, column.outside)
    values = [lower, upper, *(value for value in given if isinstance(value, float))]
    with np.errstate(over="ignore"):
        return narrow and all(float(np.float32(value)) == value for value in values)


def _looked_up(
    texts: list[str | None], codes: Mapping[str, float], *, missing: float, unknown: float, decimal: str
) -> FloatArray:
    """The code of each text as it is written, or else of the number that it writes, as that is spelt."""
    known: dict[str | None, float] = {None: missing}
    for text in set(texts) - {None}:
        assert text is not None
        known[text] = codes[text] if text in codes else codes.get(plain_spelling(text, decimal), unknown)
    return np.array([known[text] for text in texts], dtype=np.float64)


def _also_plainly_spelt(codes: Mapping[str, float]) -> Mapping[str, float]:
    """The codes, also under their plain spelling: 1 for a level that is declared as 1.0. None that is ambiguous."""
    others: dict[str, set[float]] = {}
    for text, code in codes.items():
        others.setdefault(plain_spelling(text), set()).add(code)
    return {**{text: found.pop() for text, found in others.items() if len(found) == 1}, **codes}


def _code(policy: Policy | float | None) -> float:
    return np.nan if policy is None or isinstance(policy, Policy) else float(policy)
