"""Privacy losses: one frozen value a notion, which validates itself. No bare (epsilon, delta) tuples anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Self

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import checked, finite_number, nonnegative, probability_below_one, tuple_of


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
