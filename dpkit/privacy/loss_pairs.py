"""Dominating pairs: what the `pld` accountant knows of an event, in each direction, through its privacy profile.

A pair (P, Q) dominates an event when its profile bounds the event's at every epsilon, negative ones included. Profiles
compose through the law of the privacy loss, so a pair is all that is needed, and a plugin that knows one joins.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import UNIT_ROUNDOFF, round_up
from dpkit.numerics.special import Array, Complex, asfloat, log1p_near
from dpkit.privacy.checks import checked, finite_number, nonnegative, probability_below_one
from dpkit.privacy.losses import Loss

Profile = Callable[[Array], tuple[Array, Array]]
"""Epsilons -> values of a profile, and bounds on their errors."""

Moments = tuple[Complex, Array]
"""Values of a log moment, and bounds on their absolute errors."""

MANY = 64
"""From this number of copies on, a log moment must be as near as it is small: an error of one unit a copy would add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """|E e^((tilt+iy)L)| / E e^(tilt L) <= exp(-rate y^2) for |y| <= reach (docs/proofs/pld.md, lemma 10).

    `periodic`: it is at most that with y counted from the nearest multiple of 2 reach, wherever y is.
    """

    reach: float = 0.0
    rate: float = 0.0
    periodic: bool = False


class LossDirection(ABC):
    """One direction of a pair: the law of L = ln P/Q under P, without its mass at plus infinity.

    `profile` is the one method that must be exact; the others may be left as they are.
    """

    __slots__ = ()

    @abstractmethod
    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        """delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] for real epsilons, and bounds on the error of its evaluation."""

    @abstractmethod
    def slope(self, epsilons: Array) -> Array:
        """Q(L > epsilon) = -d delta / d e^epsilon, with a relative error of at most 2**-40."""

    @abstractmethod
    def reach(self, tail: float) -> tuple[float, float]:
        """Losses below and above which P has at most this much mass; exact ends where the loss is bounded."""

    def top(self) -> float:
        """The largest loss, rounded up; infinity when there is none."""
        return math.inf

    def atoms(self) -> tuple[float, ...]:
        """Positive losses that have a probability of their own; a lattice is laid so that they lie on it."""
        return ()

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments | None:
        """The sum of log moments over directions of this one class; override it where broadcasting is faster or nearer."""
        total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
        for direction, count in zip(directions, counts, strict=True):
            one = direction.log_moment(z)
            if one is None:
                return None
            total += count * one
            errors += count * 16.0 * UNIT_ROUNDOFF * (1.0 + np.abs(one))
        return total, errors

    def log_moment(self, z: Complex) -> Complex | None:
        """ln E_P[e^(zL)] for Re z > 0, with an error of a few units of rounding times (1 + its size); None if not known."""
        return None

    def real_log_moment(self, tilts: Array) -> Array | None:
        """ln E_P[e^(tilt L)] for tilts > 0, or a bound from above; None if not known."""
        known = self.log_moment(tilts.astype(np.complex128))
        return None if known is None else asfloat(known.real)

    def repeated_profile(self, count: int) -> Profile | None:
        """The profile of `count` independent copies, as `profile` gives it, where it has a closed form; None elsewhere.

        Its errors may be large: where they are, the copies are composed.
        """
        return self.profile if count == 1 else None

    def log_decay(self, tilt: float, height: float) -> float:
        """ln of the supremum, over |y| >= height, of |E e^((tilt+iy)L)| / E e^(tilt L): 0 where nothing is known."""
        return 0.0

    def fall(self, tilt: float) -> Fall:
        """How that quotient falls near the real axis; nothing, where nothing is known."""
        return Fall()


class LossPair(Loss, ABC):
    """A dominating pair. `forward` and `backward` are its two directions; `backward` is None when they are the same."""

    __slots__ = ()

    @abstractmethod
    def forward(self) -> LossDirection:
        """The loss of P against Q."""

    def backward(self) -> LossDirection | None:
        """The loss of Q against P, where it is another law."""
        return None

    @property
    def infinity(self) -> float:
        """The mass at plus infinity, in either direction: kept apart as a slack."""
        return 0.0

    @property
    def balanced(self) -> bool:
        """Whether both directions have the same mass at infinity; where not, no lower bound is certified."""
        return True

    @property
    def strength(self) -> float | None:
        """A number by which pairs of this class are ordered, the larger dominating; None where they are not."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SymmetricPair(LossPair):
    """A pair that dominates another in both directions: under replace-one nobody knows which direction an event has.

    Its profile is the larger of the two, which is convex in e^epsilon as they are. Composing each direction on its own and
    taking the larger afterwards would be unsound there.
    """

    pair: LossPair

    def forward(self) -> LossDirection:
        """Symmetric."""
        forward, backward = self.pair.forward(), self.pair.backward()
        return forward if backward is None else _LargerDirection(one=forward, other=backward)

    @property
    def infinity(self) -> float:
        """That of the pair."""
        return self.pair.infinity


@dataclass(frozen=True, slots=True, kw_only=True)
class _LargerDirection(LossDirection):
    one: LossDirection
    other: LossDirection

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        (first, error), (second, blur) = self.one.profile(epsilons), self.other.profile(epsilons)
        return np.maximum(first, second), np.maximum(error, blur)

    def slope(self, epsilons: Array) -> Array:
        first = self.one.profile(epsilons)[0] >= self.other.profile(epsilons)[0]
        return asfloat(np.where(first, self.one.slope(epsilons), self.other.slope(epsilons)))

    def reach(self, tail: float) -> tuple[float, float]:
        (low, high), (lower, higher) = self.one.reach(tail), self.other.reach(tail)
        return min(low, lower), max(high, higher)

    def top(self) -> float:
        return max(self.one.top(), self.other.top())


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative)
class PurePair(LossPair):
    """Randomised response, the worst epsilon-DP pair (KOV15, Theorem 3.1): losses of +-epsilon and nothing else."""

    epsilon: float

    def forward(self) -> LossDirection:
        """Symmetric."""
        return _PureDirection(epsilon=self.epsilon)

    @property
    def strength(self) -> float | None:
        """Epsilon."""
        return self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class _PureDirection(LossDirection):
    epsilon: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        up = 1.0 / (1.0 + math.exp(-self.epsilon))
        inner = up * -np.expm1(np.minimum(epsilons - self.epsilon, 0.0))
        outer = -np.expm1(np.minimum(epsilons, 0.0))
        value = np.where(epsilons < -self.epsilon, outer, inner)
        return asfloat(value), asfloat(8.0 * UNIT_ROUNDOFF * value)

    def slope(self, epsilons: Array) -> Array:
        down = 1.0 / (1.0 + math.exp(min(self.epsilon, 700.0)))
        return asfloat(np.where(epsilons < -self.epsilon, 1.0, np.where(epsilons < self.epsilon, down, 0.0)))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    def top(self) -> float:
        return self.epsilon

    def atoms(self) -> tuple[float, ...]:
        return (self.epsilon,)

    def log_moment(self, z: Complex) -> Complex:
        return type(self).total_log_moment((self,), (1,), z)[0]

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments:
        epsilons, times = np.array([d.epsilon for d in directions]), np.array(counts, dtype=np.float64)
        return summed_moments(_pure_near, _pure_far, epsilons, times, z)

    def fall(self, tilt: float) -> Fall:
        # |cosh(a + ib)|^2 = cosh^2 a - sin^2 b, and |sin b| >= 2|b|/pi up to pi/2
        middle = (tilt + 0.5) * self.epsilon
        if not 0.0 < middle < 300.0:
            return Fall()
        width = self.epsilon / math.cosh(middle)
        rate = 2.0 / math.pi**2 * width * width * (1.0 - 1e-12)
        return Fall(reach=math.pi / (2.0 * self.epsilon) * (1.0 - 1e-12), rate=rate, periodic=True)


def _pure_near(epsilons: Array, z: Complex) -> Complex:
    """The moment less 1: cosh((z+1/2)e)/cosh(e/2) - 1 = 2 sinh((z+1)e/2) sinh(ze/2)/cosh(e/2), a product."""
    halves = 0.5 * epsilons[:, None]
    return np.asarray(2.0 * np.sinh(halves * (z + 1.0)) * np.sinh(halves * z) / np.cosh(halves), dtype=np.complex128)


def _pure_far(epsilons: Array, z: Complex) -> Complex:
    """The moment over e^(ze): p + q e^(-2ze)."""
    down = 1.0 / (1.0 + np.exp(np.minimum(epsilons, 700.0)))
    return np.asarray(1.0 + down[:, None] * np.expm1(np.multiply.outer(-2.0 * epsilons, z)), dtype=np.complex128)


def summed_moments(
    near: Callable[[Array, Complex], Complex],
    far: Callable[[Array, Complex], Complex],
    losses: Array,
    counts: Array,
    z: Complex,
) -> Moments:
    """Sum of counts * ln M(loss, z) with bounds on its error, where M - 1 = near and M = e^(z loss) far.

    `near` has a relative error of few units and serves many copies of small losses, |z + 1| loss < 0.9, where it is below 0.6;
    `far` has an absolute one and serves the rest. Either is off by at most 16 units of what it is made of.
    """
    total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
    step = max(1, (1 << 17) // max(1, z.size))
    far_size, near_size = np.abs(z), np.abs(z + 1.0)
    for start in range(0, losses.size, step):
        block, times = losses[start : start + step], counts[start : start + step]
        close = (times[:, None] > MANY) & (block[:, None] * near_size < 0.9)
        if not np.all(close):
            whole = far(block, z)
            modulus = np.abs(whole)
            logs = np.log(np.where(modulus > 0.0, whole, _GONE)) + np.multiply.outer(block, z)
            off = 16.0 * UNIT_ROUNDOFF * (2.0 + 2.0 / np.maximum(modulus, _GONE) + np.multiply.outer(block, far_size))
            if np.any(close):
                logs, off = np.where(close, 0.0, logs), np.where(close, 0.0, off)
            total, errors = total + times @ logs, errors + times @ off
        if np.any(close):
            part = np.where(close, near(np.minimum(block, 1.0), z), 0.0)
            total = total + times @ log1p_near(part)
            errors = errors + times @ np.where(close, 64.0 * UNIT_ROUNDOFF * np.abs(part) + _LOST, 0.0)
    # a sum of n products loses n units of the moduli, of which each part's error is 8 units or more
    return np.asarray(total, dtype=np.complex128), asfloat(errors * (2.0 + losses.size / 8.0))


_GONE = 1e-300
"""Stands for a moment that rounding left nothing of."""

_LOST = 1e-300
"""More than a product that underflows can lose."""


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
        lost = moduli / np.maximum(np.abs(whole), _GONE)
        value = z * top + np.log(np.where(whole == 0.0, _GONE, whole))
        return np.asarray(value, dtype=np.complex128), asfloat(16.0 * UNIT_ROUNDOFF * size * (1.0 + lost))


def _by_blocks(epsilons: Array, apply: Callable[[Array], Array], columns: int) -> Array:
    """A function of many epsilons, some at a time, so that no table of all pairs is ever held."""
    step = max(1, (1 << 20) // max(1, columns))
    parts = [apply(epsilons[start : start + step]) for start in range(0, epsilons.size, step)]
    return asfloat(np.concatenate(parts)) if parts else np.zeros(0)
