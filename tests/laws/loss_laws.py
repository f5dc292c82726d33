"""The laws of dominating pairs. Each is a function that raises AssertionError where the law is broken.

Usage in any pytest, for a pair that a plugin brings:

    def test_my_pair_obeys():
        pair = MyPair(...)
        profile_is_convex(pair.forward(), epsilons)
        directions_mirror_each_other(pair, epsilons)
        lattice_brackets_the_profile(pair.forward(), epsilons)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpkit.accountants.pld import composition as loss_composition
from dpkit.accountants.pld import moments as loss_moments
from dpkit.accountants.pld.where_bounds_hold import Reader
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.privacy.loss_table import PLD

ROUNDING = 1e-13
"""What an oracle in floats may be off by, relatively."""

Terms = Sequence[tuple[LossDirection, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutMoments(LossDirection):
    """The same direction, known through its profile only: no contour can be taken, so the lattice has to."""

    direction: LossDirection

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        """That of the direction."""
        return self.direction.profile(epsilons)

    def slope(self, epsilons: Array) -> Array:
        """That of the direction."""
        return self.direction.slope(epsilons)

    def reach(self, tail: float) -> tuple[float, float]:
        """That of the direction."""
        return self.direction.reach(tail)

    def top(self) -> float:
        """That of the direction."""
        return self.direction.top()

    def atoms(self) -> tuple[float, ...]:
        """Those of the direction."""
        return self.direction.atoms()


def profile_is_convex(direction: LossDirection, epsilons: Sequence[float]) -> None:
    """A profile lies between (1 - e^epsilon)_+ and 1, and above every one of its tangents in e^epsilon."""
    points = asfloat(sorted(epsilons))
    values, errors = direction.profile(points)
    slopes = direction.slope(points)
    assert np.all(np.isfinite(values))
    assert np.all(errors >= 0.0)
    assert np.all(values <= 1.0 + errors)
    assert np.all(values >= -np.expm1(np.minimum(points, 0.0)) * (1.0 - ROUNDING) - errors)
    for at, value, error, slope in zip(points, values, errors, slopes, strict=True):
        tangent = value - math.exp(at) * np.expm1(points - at) * slope
        spread = errors + error + 1e-11 * math.exp(at) * np.abs(np.expm1(points - at)) * slope
        assert np.all(values >= tangent - spread - ROUNDING * value), f"the slope at {at} is none"


def directions_mirror_each_other(pair: LossPair, epsilons: Sequence[float]) -> None:
    """delta of Q against P at epsilon is 1 - e^epsilon + e^epsilon delta of P against Q at -epsilon."""
    points = asfloat(epsilons)
    ahead, error = pair.forward().profile(-points)
    back, blur = (pair.backward() or pair.forward()).profile(points)
    odds = np.exp(points)
    allowed = blur + odds * error + ROUNDING * (1.0 + odds)
    assert np.all(np.abs(back - (odds * ahead - np.expm1(points))) <= allowed)


def profile_is_that_of(pair: LossPair, one: Array, other: Array, epsilons: Sequence[float]) -> None:
    """delta is the sum of (P - e^epsilon Q)_+ over all outputs, in both directions, from their log probabilities."""
    for log_p, log_q, direction in ((one, other, pair.forward()), (other, one, pair.backward() or pair.forward())):
        values, errors = direction.profile(asfloat(epsilons))
        for at, value, error in zip(epsilons, values.tolist(), errors.tolist(), strict=True):
            exact = math.fsum(np.maximum(0.0, np.exp(log_p) - np.exp(at + log_q)).tolist())
            assert abs(value - exact) <= error + 1e-11 * (1.0 + math.exp(at)), f"at {at}"


def lattice_brackets_the_profile(direction: LossDirection, epsilons: Sequence[float], *, delta: float, width: float) -> None:
    """One release on a lattice, read at any epsilon: the profile lies between the bounds."""
    found = loss_composition.reader([(WithoutMoments(direction=direction), 1)], delta=delta, width=width)
    assert found.route != "contour"
    values, errors = direction.profile(asfloat(epsilons))
    for at, value, error in zip(epsilons, values.tolist(), errors.tolist(), strict=True):
        bounds_hold(found, at, value, error)


def routes_bracket_each_other(terms: Terms, epsilons: Sequence[float], *, delta: float, width: float) -> None:
    """No route's upper bound lies below another's lower bound."""
    first = loss_composition.reader(terms, delta=delta, width=width)
    blind = [(WithoutMoments(direction=direction), count) for direction, count in terms]
    second = loss_composition.reader(blind, delta=delta, width=width)
    moments = loss_moments.real_moments(terms, tail=delta * 1e-13 / sum(count for _, count in terms))
    for at in epsilons:
        lowest = min(first.upper(at)[0], second.upper(at)[0])
        assert first.lower(at) <= lowest * (1.0 + ROUNDING), f"{first.route} against {second.route} at {at}"
        assert second.lower(at) <= lowest * (1.0 + ROUNDING), f"{second.route} against {first.route} at {at}"
        assert max(first.lower(at), second.lower(at)) <= loss_moments.chernoff_delta(moments, at) * (1.0 + 1e-9)


def composition_brackets_enumeration(tables: Sequence[tuple[PLD, int]], epsilons: Sequence[float], *, width: float) -> None:
    """Small tables composed by hand, in each direction: the exact value lies between the bounds."""
    for turned in (False, True):
        parts = [((pair.backward() if turned else None) or pair.forward(), count) for pair, count in tables]
        exact = enumerated([(table_of(pair, turned=turned), count) for pair, count in tables])
        found = loss_composition.reader(parts, delta=1e-3, width=width)
        for at in epsilons:
            bounds_hold(found, at, exact(at), 0.0)


def bounds_hold(found: Reader, at: float, exact: float, error: float) -> None:
    """lower <= exact <= upper, but for the rounding of the oracle."""
    allowed = error + ROUNDING * exact + 1e-300
    upper, lower = found.upper(at)[0], found.lower(at)
    assert upper >= exact - allowed, f"{found.route}: the upper bound {upper} is below {exact} at {at}"
    assert lower <= exact + allowed, f"{found.route}: the lower bound {lower} is above {exact} at {at}"


def table_of(pair: PLD, *, turned: bool = False) -> tuple[tuple[float, float], ...]:
    """(loss, mass) of the finite part as a law, in one direction."""
    rows = [(-x, m * math.exp(-x)) if turned else (x, m) for x, m in zip(pair.losses, pair.masses, strict=True)]
    total = math.fsum(mass for _, mass in rows)
    return tuple((loss, mass / total) for loss, mass in rows)


def enumerated(tables: Sequence[tuple[tuple[tuple[float, float], ...], int]]) -> Callable[[float], float]:
    """The exact profile of a small composition: every outcome, one by one."""
    factors = [table for table, count in tables for _ in range(count)]
    outcomes = [
        (math.fsum(loss for loss, _ in rows), math.prod(mass for _, mass in rows)) for rows in itertools.product(*factors)
    ]
    return lambda at: math.fsum(mass * -math.expm1(min(at - loss, 0.0)) for loss, mass in outcomes)
