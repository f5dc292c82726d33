"""A dominating pair as a table of losses and their masses, as other libraries write loss distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import UNIT_ROUNDOFF, round_up
from dpkit.numerics.special import Array, Complex, asfloat
from dpkit.privacy.checks import finite_number, nonnegative, probability_below_one
from dpkit.privacy.loss_pairs import GONE, LossDirection, LossPair, Moments
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PLD(LossPair):
    """A privacy-loss distribution as a table: P has mass masses[i] at losses[i], and `infinity` where Q has none.

    Q has masses[i] e^(-losses[i]) there, and the rest where P has none; the reverse direction follows from that.
    """

    losses: tuple[float, ...]
    masses: tuple[float, ...]
    infinity_mass: float = 0.0
    _tolerance: ClassVar[float] = 1e-12
    _excess: ClassVar[float] = 2.0**-50

    def __post_init__(self) -> None:
        losses = tuple(finite_number(loss, field="losses", where="PLD") for loss in self.losses)
        masses = tuple(nonnegative(mass, field="masses", where="PLD") for mass in self.masses)
        if len(losses) != len(masses) or not losses or list(losses) != sorted(set(losses)):
            allowed = "increasing losses with one mass each"
            raise InvalidValueError(field="losses", found=self.losses, allowed=allowed, where="PLD")
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "masses", masses)
        object.__setattr__(self, "infinity_mass", probability_below_one(self.infinity_mass, field="infinity_mass", where="PLD"))
        total = sum(map(Fraction, masses), Fraction(self.infinity_mass))
        over = float(-self._missing_there())
        if not -self._tolerance <= total - 1 <= self._excess or over > self._tolerance:
            allowed = "masses that sum to 1 with infinity, and to at most 1 when weighted by e^-loss"
            raise InvalidValueError(field="masses", found=float(total), allowed=allowed, where="PLD")

    def _missing_here(self) -> Fraction:
        """What P lacks of all probability: it could be anywhere, so it counts as infinity."""
        return max(Fraction(0), 1 - sum(map(Fraction, self.masses), Fraction(self.infinity_mass)))

    def _missing_there(self) -> Fraction:
        """The mass of Q where P has none; negative where the table gives Q too much."""
        return _missing_weight(self.losses, self.masses)

    def forward(self) -> LossDirection:
        """The table, its finite part as a law."""
        return _table(zip(self.losses, self.masses, strict=True))

    def backward(self) -> LossDirection | None:
        """The losses with their signs turned, weighted by Q."""
        turned = [(-loss, mass * math.exp(-loss)) for loss, mass in zip(self.losses, self.masses, strict=True)]
        return _table(reversed(turned))

    @property
    def balanced(self) -> bool:
        """Whether P and Q have the same mass where the other has none."""
        return abs(float(self._missing_there()) - self.infinity_mass) <= self._tolerance

    @property
    def infinity(self) -> float:
        """The larger of the masses that one side has and the other has not, rounded up: nothing is too small to count."""
        mass = max(Fraction(self.infinity_mass) + self._missing_here(), self._missing_there(), Fraction(0))
        return min(1.0 - UNIT_ROUNDOFF, round_up(mass))


_INFLATED = 1.0 + 1e-9
"""More than what rounding takes from a mass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopePair(LossPair):
    """A symmetric pair whose profile is the largest convex one below these points: delta <= deltas[i] at epsilons[i].

    It dominates whatever keeps within (epsilons[i], deltas[i]) in both directions, since true profiles are convex in e^epsilon.
    Epsilons rise from 0. What the last delta leaves open is counted as a mass at infinity.
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def __post_init__(self) -> None:
        epsilons = tuple(nonnegative(one, field="epsilons", where="EnvelopePair") for one in self.epsilons)
        deltas = tuple(nonnegative(one, field="deltas", where="EnvelopePair") for one in self.deltas)
        rising = len(epsilons) == len(deltas) > 0 and epsilons[0] == 0.0 and list(epsilons) == sorted(set(epsilons))
        if not rising or epsilons[-1] > 700.0 or not deltas[-1] < 1.0:
            allowed = "epsilons that rise from 0 to 700 at most, with one delta each, the last one below 1"
            raise InvalidValueError(field="epsilons", found=self.epsilons[:3], allowed=allowed, where="EnvelopePair")
        object.__setattr__(self, "epsilons", epsilons)
        object.__setattr__(self, "deltas", deltas)

    def forward(self) -> LossDirection:
        """Symmetric."""
        return _envelope(self.epsilons, self.deltas)

    @property
    def infinity(self) -> float:
        """What is left beyond the last point."""
        return min(1.0 - UNIT_ROUNDOFF, self.deltas[-1] * _INFLATED)


def envelope_pair(epsilons: Array, deltas: Array) -> EnvelopePair:
    """The pair of points in any order; those that another one makes idle are left out. At 0 delta is at most 1."""
    order = np.lexsort((deltas, epsilons))
    points = [(0.0, 1.0)]
    for place in order.tolist():
        epsilon, delta = float(epsilons[place]), float(deltas[place])
        if delta < points[-1][1]:
            points[-1 if epsilon == points[-1][0] else len(points) :] = [(epsilon, delta)]
    return EnvelopePair(epsilons=tuple(one for one, _ in points), deltas=tuple(other for _, other in points))


@lru_cache(maxsize=64)
def _envelope(epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> _TableDirection:
    """The law of that profile, without its mass at infinity.

    For alpha >= 1 the profile is a polygon; its corners are losses ln alpha, of mass q under Q and alpha q under P, where q is
    by how much the slope changes; by symmetry -ln alpha has mass q under P.
    """
    odds = np.exp(np.array(epsilons))
    heights = np.minimum(np.minimum.accumulate(np.array(deltas) * _INFLATED), 1.0)
    # a symmetric line from the mirror image of a point to the point itself: 1 - s (1 + alpha)
    heights[0] = min(heights[0], 1.0 - 2.0 * float(np.max((1.0 - heights) / (1.0 + odds))))
    corners = [0]
    for place in range(1, odds.size):
        while len(corners) > 1 and _slope(odds, heights, corners[-1], place) >= _slope(odds, heights, corners[-2], corners[-1]):
            corners.pop()
        corners.append(place)
    slopes = [_slope(odds, heights, one, other) for one, other in pairwise(corners)] + [0.0]
    masses = {place: before - after for place, before, after in zip(corners[1:], slopes[:-1], slopes[1:], strict=True)}
    middle = max(0.0, 1.0 - heights[0] - 2.0 * slopes[0])
    upper = [(epsilons[place], float(odds[place]) * mass) for place, mass in masses.items()]
    lower = [(-epsilons[place], mass) for place, mass in reversed(masses.items())]
    return _table([*lower, (0.0, middle), *upper])


def _slope(odds: Array, heights: Array, one: int, other: int) -> float:
    """How fast the profile falls from one point to another."""
    return max(0.0, float((heights[one] - heights[other]) / (odds[other] - odds[one])))


@lru_cache(maxsize=64)
def _missing_weight(losses: tuple[float, ...], masses: tuple[float, ...]) -> Fraction:
    """1 less the sum of masses e^-loss, to 40 digits: in float64, what is left of 1 would be rounding error."""
    import mpmath  # type: ignore[import-untyped]

    context = mpmath.mp.clone()  # a context of its own: the caller's precision stays as it is
    context.dps = 40
    weight = context.fsum(
        context.mpf(mass) * context.exp(-context.mpf(loss)) for loss, mass in zip(losses, masses, strict=True)
    )
    sign, mantissa, exponent, _ = (1 - weight)._mpf_
    return (-1 if sign else 1) * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _table(entries: Iterable[tuple[float, float]]) -> _TableDirection:
    """A law from losses and masses, without what has no mass."""
    held = [(loss, mass) for loss, mass in entries if mass > 0.0]
    total = math.fsum(mass for _, mass in held)
    return _TableDirection(losses=tuple(loss for loss, _ in held), masses=tuple(mass / total for _, mass in held))


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableDirection(LossDirection):
    losses: tuple[float, ...]
    masses: tuple[float, ...]

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        losses, masses = np.array(self.losses), np.array(self.masses)
        value = _by_blocks(epsilons, lambda block: -np.expm1(np.minimum(block[:, None] - losses, 0.0)) @ masses, losses.size)
        return value, (64.0 + len(losses)) * UNIT_ROUNDOFF * value

    def slope(self, epsilons: Array) -> Array:
        losses, weights = np.array(self.losses), np.array(self.masses) * np.exp(-np.array(self.losses))
        return _by_blocks(epsilons, lambda block: (losses > block[:, None]) @ weights, losses.size)

    def reach(self, tail: float) -> tuple[float, float]:
        return self.losses[0], self.losses[-1]

    def top(self) -> float:
        return self.losses[-1]

    def atoms(self) -> tuple[float, ...]:
        return tuple(loss for loss in self.losses if loss > 0.0)[:16]

    def log_moment(self, z: Complex) -> Complex:
        return self._moments(z)[0]

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments:
        total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
        for direction, count in zip(directions, counts, strict=True):
            value, error = direction._moments(z)
            total, errors = total + count * value, errors + count * error
        return np.asarray(total, dtype=np.complex128), asfloat(errors)

    def _moments(self, z: Complex) -> Moments:
        losses, masses = np.array(self.losses), np.array(self.masses)
        top = float(losses[-1])
        whole = np.exp(np.multiply.outer(z, losses - top)) @ masses
        moduli = np.exp(np.multiply.outer(z.real, losses - top)) @ masses
        size = 32.0 + losses.size + np.abs(z) * (2.0 * (top - float(losses[0])) + abs(top))
        lost = moduli / np.maximum(np.abs(whole), GONE)
        value = z * top + np.log(np.where(whole == 0.0, GONE, whole))
        return np.asarray(value, dtype=np.complex128), asfloat(16.0 * UNIT_ROUNDOFF * size * (1.0 + lost))


def _by_blocks(epsilons: Array, apply: Callable[[Array], Array], columns: int) -> Array:
    """A function of many epsilons, some at a time, so that no table of all pairs is ever held."""
    step = max(1, (1 << 20) // max(1, columns))
    parts = [apply(epsilons[start : start + step]) for start in range(0, epsilons.size, step)]
    return asfloat(np.concatenate(parts)) if parts else np.zeros(0)
