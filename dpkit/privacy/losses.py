"""Privacy losses: one frozen value a notion, which validates itself; and Rényi curves that are known at every order.

No bare (epsilon, delta) tuples anywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Self

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import SMALLEST, exact_sum, round_up
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import checked, finite_number, nonnegative, probability_below_one, tuple_of, whole_number
from dpkit.values import dataclass


class Loss:
    """A bound on what an output may reveal about one neighbour step. Subclass it as a frozen dataclass."""

    __slots__ = ()


class RenyiCurve(Loss, ABC):
    """A bound on the Rényi divergence as a function of its order, in both directions; plugins subclass it.

    `at(orders)` returns, for orders > 1, upper bounds that include the rounding of their own computation; infinity
    where nothing is known.
    """

    __slots__ = ()

    @abstractmethod
    def at(self, orders: Array) -> Array:
        """Upper bounds of the divergence at these orders (all > 1)."""

    @classmethod
    def total(cls, curves: Sequence[Self], counts: Sequence[int], orders: Array) -> Array:
        """The sum over curves of this one class, each `counts[i]` times; override it where broadcasting is faster."""
        total = np.zeros_like(orders)
        for curve, count in zip(curves, counts, strict=True):
            total = total + count * curve.at(orders)
        return total * (1.0 + (len(curves) + 2) * 2.0**-52)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative)
class PureDP(Loss):
    """The privacy loss is at most epsilon, always (DMNS06)."""

    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative, delta=probability_below_one)
class ApproxDP(Loss):
    """P(S) <= e^epsilon Q(S) + delta for every event S (DKMMN06)."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(mu=nonnegative, tau=nonnegative)
class MeanCDP(Loss):
    """Mean-concentrated DP: the loss has mean at most mu and is tau-subgaussian about it (DR16, Definition 3.1).

    It does not survive post-processing: of what was rounded or transformed afterwards, claim its (epsilon, delta) reading only.
    """

    mu: float
    tau: float


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(rho=nonnegative, delta=probability_below_one)
class ZCDP(Loss):
    """Rényi divergence at most rho * order at every order > 1 (BS16); `delta` is the slack of the approximate version."""

    rho: float
    delta: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(mu=nonnegative)
class GDP(Loss):
    """At least as hard to tell apart as N(0, 1) and N(mu, 1) (DRS22)."""

    mu: float


def _numbers(values: object, *, field: str, where: str, minimum: float, strict: bool = False) -> tuple[float, ...]:
    given = tuple_of(values, object, field=field, where=where, allowed="a sequence of numbers, at least one", least=1)
    return tuple(finite_number(value, field=field, where=where, minimum=minimum, strict=strict) for value in given)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(
    orders=partial(_numbers, minimum=1.0, strict=True), epsilons=partial(_numbers, minimum=0.0), delta=probability_below_one
)
class RDP(RenyiCurve):
    """Rényi divergence at most epsilons[i] at orders[i] (Mironov 2017); `delta` is the slack of the approximate version.

    Between the orders, (order - 1) * divergence is convex and is 0 at order 1, so the chord is a bound there too; above
    the largest order nothing is known.
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]
    delta: float = 0.0

    def __post_init__(self) -> None:
        if any(later <= earlier for earlier, later in pairwise(self.orders)):
            raise InvalidValueError(field="orders", found=self.orders, allowed="strictly increasing", where="RDP")
        if len(self.epsilons) != len(self.orders):
            allowed = f"as many numbers as there are orders ({len(self.orders)})"
            raise InvalidValueError(field="epsilons", found=self.epsilons, allowed=allowed, where="RDP")

    def at(self, orders: Array) -> Array:
        """Chords of the convex function (order - 1) * divergence."""
        excess = np.asarray(orders, dtype=np.float64) - 1.0
        knots = np.array([0.0, *(order - 1.0 for order in self.orders)])
        with np.errstate(over="ignore", invalid="ignore"):
            heights = knots * np.array([0.0, *self.epsilons])
            chord = np.interp(excess, knots, heights, right=np.inf) / excess
            chord = np.where(np.isnan(chord), np.inf, chord)  # the chord to a height that overflows
        exact = np.interp(excess, knots, np.array([0.0, *self.epsilons]), right=np.inf)
        # At a knot the table itself is the answer; elsewhere the interpolation's rounding is covered.
        return asfloat(np.where(np.isin(excess, knots[1:]), exact, chord * (1.0 + 2.0**-48)))


Divergence = Callable[[Array, Array], Array]
"""(parameters, orders) -> Rényi divergences; broadcasts."""

_INFLATE = 1.0 + 2.0**-47
"""Covers the rounding of a curve's own evaluation: at most 16 units, checked against arbitrary precision."""

_CHUNK = 1 << 18
"""Elements of one broadcast block: bounds memory at a few megabytes, whatever the number of curves."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(intercept=finite_number, slope=nonnegative)
class LinearCurve(RenyiCurve):
    """Divergence at most `intercept + slope * order`: Gaussian noise, zCDP and mean-concentrated DP are of this form."""

    intercept: float = 0.0
    slope: float

    def at(self, orders: Array) -> Array:
        """The line, never below 0."""
        return _line(*_coefficients(self), orders)

    @classmethod
    def total(cls, curves: Sequence[Self], counts: Sequence[int], orders: Array) -> Array:
        """One line: the coefficients are summed exactly, so neither order nor grouping can change the result."""
        return _line(*_summed_coefficients(tuple(curves), tuple(counts)), orders)


@lru_cache(maxsize=256)
def _coefficients(line: LinearCurve) -> tuple[float, float]:
    """Its divergence at order 1, and its rise: a reading asks for them at every order that it tries."""
    return round_up(Fraction(line.intercept) + Fraction(line.slope)), line.slope


@lru_cache(maxsize=16)
def _summed_coefficients(lines: tuple[LinearCurve, ...], counts: tuple[int, ...]) -> tuple[float, float]:
    """The same for a sum of lines, each counted as often as `counts` says."""
    intercept = exact_sum((line.intercept, n) for line, n in zip(lines, counts, strict=True))
    slope = exact_sum((line.slope, n) for line, n in zip(lines, counts, strict=True))
    return round_up(intercept + slope), round_up(slope)


def _line(at_one: float, rise: float, orders: Array) -> Array:
    """intercept + slope * order = (intercept + slope) + slope * (order - 1), two terms >= 0 whenever intercept >= -slope."""
    with np.errstate(over="ignore"):
        value = at_one + rise * (orders - 1.0)
        slack = (abs(at_one) + rise * orders) * 2.0**-51
    return np.maximum(value + slack, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative)
class PureCurve(RenyiCurve):
    """The exact curve of randomised response, the worst epsilon-DP pair: ln[cosh((a-1/2)e) / cosh(e/2)] / (a-1).

    BS16, in the proof of Prop 3.3, where it stands as a ratio of sinh; the two are equal, and this one is stabler.
    """

    epsilon: float

    def at(self, orders: Array) -> Array:
        """The curve at these orders."""
        return type(self).total((self,), (1,), orders)

    @classmethod
    def total(cls, curves: Sequence[Self], counts: Sequence[int], orders: Array) -> Array:
        """Broadcast over curves and orders, in blocks."""
        return broadcast_total(pure_divergence, [curve.epsilon for curve in curves], counts, orders)


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def pure_divergence(epsilon: Array, orders: Array) -> Array:
    """Rényi divergence of randomised response at a loss of epsilon; arrays broadcast."""
    excess = orders - 1.0
    small = epsilon * orders < 1.0
    # cosh(a)/cosh(b) = 1 + 2 sinh((a+b)/2) sinh((a-b)/2)/cosh(b), with a+b = e*order and a-b = e*excess
    near = np.where(small, epsilon, 0.0)
    ratio = 2.0 * np.sinh(0.5 * near * orders) * np.sinh(0.5 * near * excess) / np.cosh(0.5 * near)
    # ln cosh(a) - ln cosh(b) = (a-b) + ln[1 + expm1(-2(a-b))/(1 + e^(2b))], which neither overflows nor cancels
    rise = epsilon * excess
    far = rise + np.log1p(np.expm1(-2.0 * rise) / (1.0 + np.exp(epsilon)))
    return np.minimum(np.where(small, np.log1p(ratio), far) / excess, epsilon)  # never above the largest loss


@np.errstate(over="ignore", invalid="ignore")
def broadcast_total(divergence: Divergence, parameters: Sequence[float], counts: Sequence[int], orders: Array) -> Array:
    """Sum of `counts[i] * divergence(parameters[i], orders)`, in blocks, rounded up; `divergence` broadcasts."""
    values, times = np.asarray(parameters, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    total = np.zeros_like(orders)
    step = max(1, _CHUNK // max(1, orders.size))
    blocks = range(0, values.size, step)
    for start in blocks:
        block = divergence(values[start : start + step, None], orders[None, :])
        total = total + np.sum(times[start : start + step, None] * block, axis=0)
    # Summation of nonnegative terms: each block is pairwise along its first axis at worst sequential.
    total = total * (_INFLATE + (min(step, values.size) + len(blocks)) * 2.0**-53)
    # A square that underflows is lost before it is divided by the order less 1; a loss of zero stays zero.
    return total + float(np.sum(times[values > 0.0])) * 4.0 * SMALLEST / np.minimum(1.0, orders - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumCurve(RenyiCurve):
    """Composition: Rényi divergences add (Mironov 2017, Prop 1). Kept as a multiset, so no order can change it."""

    terms: tuple[tuple[RenyiCurve, int], ...] = ()

    def __post_init__(self) -> None:
        merged: dict[RenyiCurve, int] = {}
        pending = [(curve, count) for curve, count in self.terms]
        while pending:
            curve, count = pending.pop()
            tuple_of((curve,), RenyiCurve, field="terms", where="SumCurve", allowed="pairs of (RenyiCurve, count)")
            whole_number(count, field="terms", where="SumCurve")
            _without_slack(curve, where="SumCurve")
            if isinstance(curve, SumCurve):
                pending.extend((inner, count * times) for inner, times in curve.terms)
            elif count:
                merged[curve] = merged.get(curve, 0) + count
        object.__setattr__(self, "terms", tuple(sorted(merged.items(), key=lambda item: repr(item[0]))))

    def at(self, orders: Array) -> Array:
        """Sum of the terms, class by class, so that each class can broadcast."""
        orders = np.asarray(orders, dtype=np.float64)
        classes: dict[type[RenyiCurve], tuple[list[RenyiCurve], list[int]]] = {}
        for curve, count in self.terms:
            curves, counts = classes.setdefault(type(curve), ([], []))
            curves.append(curve)
            counts.append(count)
        total = np.zeros_like(orders)
        for kind, (curves, counts) in classes.items():
            total = total + kind.total(curves, counts, orders)
        return total * (1.0 + len(classes) * 2.0**-52)


def _distinct(curves: object, *, field: str, where: str) -> tuple[RenyiCurve, ...]:
    allowed = "Rényi curves, at least one"
    items = tuple_of(curves, RenyiCurve, field=field, where=where, allowed=allowed, least=1)
    for item in items:
        _without_slack(item, where=where)
    return tuple(sorted({curve for curve in items if isinstance(curve, RenyiCurve)}, key=repr))


def _without_slack(curve: object, *, where: str) -> None:
    """A slack adds up on its own; inside a sum of curves it would be forgotten."""
    if isinstance(curve, RDP) and curve.delta:
        raise InvalidValueError(field="curves", found=curve, allowed="curves without a slack delta", where=where)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(curves=_distinct)
class MaxCurve(RenyiCurve):
    """One of several happens (disjoint records), and it is not known which: the pointwise maximum."""

    curves: tuple[RenyiCurve, ...]

    def at(self, orders: Array) -> Array:
        """The largest of the curves."""
        return asfloat(np.max([curve.at(orders) for curve in self.curves], axis=0))


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(curves=_distinct)
class MinCurve(RenyiCurve):
    """Several theorems bound one event: the pointwise minimum, since each holds at each order."""

    curves: tuple[RenyiCurve, ...]

    def at(self, orders: Array) -> Array:
        """The smallest of the curves."""
        return asfloat(np.min([curve.at(orders) for curve in self.curves], axis=0))
