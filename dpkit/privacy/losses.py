"""Privacy losses: one frozen value a notion, which validates itself. No bare (epsilon, delta) tuples anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import finite_number, nonnegative, probability_below_one


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
class PureDP(Loss):
    """The privacy loss is at most epsilon, always (DMNS06)."""

    epsilon: float

    def __post_init__(self) -> None:
        _normalise(self, epsilon=nonnegative)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP(Loss):
    """P(S) <= e^epsilon Q(S) + delta for every event S (DKMMN06)."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _normalise(self, epsilon=nonnegative, delta=probability_below_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCDP(Loss):
    """Mean-concentrated DP: the loss has mean at most mu and is tau-subgaussian about it (DR16, Definition 3.1).

    It does not survive post-processing: of what was rounded or transformed afterwards, claim its (epsilon, delta) reading only.
    """

    mu: float
    tau: float

    def __post_init__(self) -> None:
        _normalise(self, mu=nonnegative, tau=nonnegative)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZCDP(Loss):
    """Rényi divergence at most rho * order at every order > 1 (BS16); `delta` is the slack of the approximate version."""

    rho: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _normalise(self, rho=nonnegative, delta=probability_below_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class GDP(Loss):
    """At least as hard to tell apart as N(0, 1) and N(mu, 1) (DRS22)."""

    mu: float

    def __post_init__(self) -> None:
        _normalise(self, mu=nonnegative)


@dataclass(frozen=True, slots=True, kw_only=True)
class RDP(RenyiCurve):
    """Rényi divergence at most epsilons[i] at orders[i] (Mironov 2017); `delta` is the slack of the approximate version.

    Between the orders, (order - 1) * divergence is convex and is 0 at order 1, so the chord is a bound there too; above
    the largest order nothing is known.
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]
    delta: float = 0.0

    def __post_init__(self) -> None:
        orders = _numbers(self.orders, field="orders", minimum=1.0, strict=True)
        epsilons = _numbers(self.epsilons, field="epsilons", minimum=0.0, strict=False)
        if any(later <= earlier for earlier, later in pairwise(orders)):
            raise InvalidValueError(field="orders", found=self.orders, allowed="strictly increasing", where="RDP")
        if len(epsilons) != len(orders):
            allowed = f"as many numbers as there are orders ({len(orders)})"
            raise InvalidValueError(field="epsilons", found=self.epsilons, allowed=allowed, where="RDP")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "epsilons", epsilons)
        _normalise(self, delta=probability_below_one)

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


def _numbers(values: object, *, field: str, minimum: float, strict: bool) -> tuple[float, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidValueError(field=field, found=values, allowed="a sequence of numbers", where="RDP")
    numbers = tuple(finite_number(v, field=field, where="RDP", minimum=minimum, strict=strict) for v in values)
    if not numbers:
        raise InvalidValueError(field=field, found=values, allowed="at least one number", where="RDP")
    return numbers


def _normalise(loss: Loss, **checks: Callable[..., float]) -> None:
    where = type(loss).__name__
    for field, check in checks.items():
        object.__setattr__(loss, field, check(getattr(loss, field), field=field, where=where))
