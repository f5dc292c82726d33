"""Derived columns and conditions: what `let` and `where` declare, checked against the columns that are there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

import numpy as np
import numpy.typing as npt

from dpkit.data.expressions.evaluate import Codes, Rows, is_true, values
from dpkit.data.expressions.facts import Fact, ValueKind, number
from dpkit.data.expressions.read_sql import read_sql
from dpkit.data.expressions.tree import Node
from dpkit.errors import ExpressionError
from dpkit.numerics.exact_sums import LARGEST_BOUND
from dpkit.numerics.rounding import in_full
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A column that each row computes from its other columns. NULL drops the row from whatever reads it.

    Two are equal when they are written alike: over the same columns they are then the same. One that is `joined` is looked up
    in a public table, and what is written is a digest of that.
    """

    name: str
    sql: str
    lower: float | None = None
    upper: float | None = None
    joined: bool = False
    fact: Fact = field(repr=False, compare=False)
    tree: Node = field(repr=False, compare=False)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest code."""
        return self.fact.lower, self.fact.upper

    @property
    def may_drop(self) -> bool:
        """Whether it may be NULL."""
        return self.fact.nullable

    @property
    def levels(self) -> tuple[str, ...]:
        """The texts that it can be; none where it is no text."""
        return self.fact.texts

    @property
    def whole(self) -> bool:
        """Whether its codes are whole numbers."""
        return self.fact.whole

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it is computed from."""
        return self.tree.columns

    def codes(self, rows: Rows, count: int) -> Codes:
        """Its codes within its bounds; NaN where it is NULL."""
        with np.errstate(all="ignore"):
            found = np.clip(values(self.tree, rows), self.fact.lower, self.fact.upper) + 0.0  # minus zero is zero
        return np.ascontiguousarray(np.broadcast_to(found, (count,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Which rows are used: those for which it is true. Others contribute zero, as dropped ones do."""

    sql: str
    tree: Node = field(repr=False, compare=False)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it reads."""
        return self.tree.columns

    def holds(self, rows: Rows, count: int) -> npt.NDArray[np.bool_]:
        """Whether it is true, for each row."""
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(np.broadcast_to(is_true(self.tree, rows), (count,)))


def derive(
    name: str, sql: str, known: Mapping[str, Fact | None], *, lower: float | None = None, upper: float | None = None
) -> Derived:
    """A derived column. Its bounds follow from those of the columns; declared ones win, and values are clipped to them."""
    tree = read_sql(sql, known)
    fact = tree.fact
    if fact.kind in (ValueKind.NULL, ValueKind.SPAN):
        raise ExpressionError(found=f"it is always {fact.kind.value}", allowed="a value that a row can have")
    if fact.kind is not ValueKind.NUMBER and (lower is not None or upper is not None):
        raise ExpressionError(found=f"bounds of {fact.kind.value}", allowed="bounds of a number alone")
    if fact.kind is ValueKind.NUMBER:
        fact = _bounded(fact, lower, upper)
    if fact.kind is ValueKind.TEXT and (not fact.texts or "" in fact.texts):
        hint = "An empty text means that there is none: write NULLIF(x, '')."
        raise ExpressionError(found="it may be an empty text", allowed="texts with at least one character", hint=hint)
    return Derived(name=name, sql=sql, lower=lower, upper=upper, fact=fact, tree=tree)


def _bounded(fact: Fact, lower: float | None, upper: float | None) -> Fact:
    low = fact.lower if lower is None else lower
    high = fact.upper if upper is None else upper
    if not (math.isfinite(low) and math.isfinite(high)) or max(abs(low), abs(high)) > LARGEST_BOUND:
        found = f"its bounds would be {in_full(low)} and {in_full(high)}"
        hint = "Declare them: {sql: ..., lower: 0, upper: 100}; values beyond are clipped. Or write LEAST(GREATEST(x, 0), 100)."
        raise ExpressionError(found=found, allowed="finite bounds, at most 2**400", hint=hint)
    if low > high:
        raise ExpressionError(found=f"bounds from {in_full(low)} to {in_full(high)}", allowed="`lower` below `upper`")
    whole = fact.whole and low.is_integer() and high.is_integer()
    return number(low, high, nullable=fact.nullable, whole=whole)


def require(sql: str, known: Mapping[str, Fact | None]) -> Condition:
    """A condition on rows."""
    tree = read_sql(sql, known)
    if tree.kind is not ValueKind.BOOLEAN:
        hint = "Compare it: x <> 0." if tree.kind is ValueKind.NUMBER else ""
        raise ExpressionError(found=f"`where` is {tree.kind.value}", allowed="a condition, which is true or not", hint=hint)
    return Condition(sql=sql, tree=tree)
