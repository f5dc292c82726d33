"""Dominating pairs: what the `pld` accountant knows of an event, in each direction, through its privacy profile.

A pair (P, Q) dominates an event when its profile bounds the event's at every epsilon, negative ones included. Profiles
compose through the law of the privacy loss, so a pair is all that is needed, and a plugin that knows one joins.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat, log1p_near
from dpkit.privacy.checks import checked, nonnegative
from dpkit.privacy.losses import Loss
from dpkit.values import dataclass

Profile = Callable[[Array], tuple[Array, Array]]
"""Epsilons -> values of a profile, and bounds on their errors."""

Moments = tuple[Complex, Array]
"""Values of a log moment, and bounds on their absolute errors."""

GONE = 1e-300
"""Stands for a moment that rounding left nothing of."""

_LOST = 1e-300
"""More than a product that underflows can lose."""

MANY = 64
"""From this number of copies on, a log moment must be as near as it is small: an error of one unit a copy would add up."""

_NEAR = 12.0
"""No loss beyond it is looked at by how far its moment is from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """|E e^((tilt+iy)L)| / E e^(tilt L) <= exp(-rate y^2) for |y| <= reach (docs/proofs/pld.md, lemma 10).

    `periodic`: it is at most that with y counted from the nearest multiple of 2 reach, wherever y is. With a `period` that is
    longer, it is that near its multiples, and at most e^-middle elsewhere.
    """

    reach: float = 0.0
    rate: float = 0.0
    periodic: bool = False
    period: float = 0.0
    middle: float = 0.0


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

    def above(self) -> LossDirection:
        """A law whose profile is nowhere below this one, for a profile that is known between bounds only."""
        return self

    def below(self) -> LossDirection:
        """One whose profile is nowhere above, and whose slope is its own."""
        return self

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

    @classmethod
    def close_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments | None:
        """The same, as near as floats allow, where `total_log_moment` may stop earlier because that is faster."""
        return cls.total_log_moment(directions, counts, z)

    def log_moment(self, z: Complex) -> Complex | None:
        """ln E_P[e^(zL)] for Re z > 0, with an error of a few units of rounding times (1 + its size); None if not known."""
        return None

    def real_log_moment(self, tilts: Array) -> Array | None:
        """ln E_P[e^(tilt L)] for tilts > 0, or a bound from above; None if not known."""
        known = self.log_moment(tilts.astype(np.complex128))
        return None if known is None else asfloat(known.real)

    def rough_log_moment(self, tilts: Array) -> Array | None:
        """The same up to a percent or so, and cheaper: to search by, never to bound by; None where there is none."""
        return None

    def mean_and_variance(self) -> tuple[float, float] | None:
        """The mean of the loss, rounded down, and its variance, rounded up; None if not known."""
        return None

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

    def gaussian_bound(self) -> float:
        """A mu that the pair is mu-GDP for; infinity where none is known. By default found on profiles of bounded losses."""
        from dpkit.privacy.tradeoff import gaussian_mu  # which compares with the Gaussian pair

        directions = [direction for direction in (self.forward(), self.backward()) if direction is not None]

        def delta_of(epsilon: float) -> float:
            found = [direction.profile(asfloat([epsilon])) for direction in directions]
            return max(float(value[0] + error[0]) for value, error in found)

        top = max(direction.top() for direction in directions)
        return gaussian_mu(delta_of, top=top) if self.infinity == 0.0 else math.inf


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

    def gaussian_bound(self) -> float:
        """That of the pair: the Gaussian curve is symmetric."""
        return self.pair.gaussian_bound()


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

    def real_log_moment(self, tilts: Array) -> Array | None:
        # M - 1 is a positive integral of how far a profile is above that of nothing, and a maximum is below the sum
        first, second = self.one.real_log_moment(tilts), self.other.real_log_moment(tilts)
        if first is None or second is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.logaddexp(first, np.log(np.maximum(np.expm1(np.minimum(second, 700.0)), 1e-300)))
        return asfloat(np.where(second < 700.0, total * (1.0 + 8.0 * UNIT_ROUNDOFF), math.inf))


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative)
class PurePair(LossPair):
    """Randomised response, the worst epsilon-DP pair (KOV15, Theorem 3.1): losses of +-epsilon and nothing else."""

    epsilon: float

    def forward(self) -> LossDirection:
        """Symmetric."""
        return PureDirection(epsilon=self.epsilon)

    def gaussian_bound(self) -> float:
        """In closed form."""
        from dpkit.privacy.tradeoff import gaussian_mu_of_pure

        return gaussian_mu_of_pure(self.epsilon)

    @property
    def strength(self) -> float | None:
        """Epsilon."""
        return self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class PureDirection(LossDirection):
    """The loss +-epsilon, at odds of e^epsilon."""

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

    def mean_and_variance(self) -> tuple[float, float] | None:
        mean, spread = self.epsilon * math.tanh(0.5 * self.epsilon), self.epsilon / math.cosh(min(0.5 * self.epsilon, 700.0))
        return mean * (1.0 - 8.0 * UNIT_ROUNDOFF), spread * spread * (1.0 + 16.0 * UNIT_ROUNDOFF)

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


@np.errstate(all="ignore")
def summed_moments(
    near: Callable[[Array, Complex], Complex],
    far: Callable[[Array, Complex], Complex],
    losses: Array,
    counts: Array,
    z: Complex,
) -> Moments:
    """Sum of counts * ln M(loss, z) with bounds on its error, where M - 1 = near and M = e^(z loss) far.

    `near` has a relative error of few units and serves many copies where it is below 0.6, loss |z| < 0.9 and loss < `_NEAR`;
    `far` has an absolute one and serves the rest. Either is off by at most 16 units of what it is made of.
    """
    total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
    step = max(1, (1 << 17) // max(1, z.size))
    far_size = np.abs(z)
    for start in range(0, losses.size, step):
        block, times = losses[start : start + step], counts[start : start + step]
        close = ((times > MANY) & (block < _NEAR))[:, None] & (block[:, None] * far_size < 0.9)
        if np.any(close):
            part = near(np.minimum(block, _NEAR), np.where(far_size < 0.9 / np.min(block), z, 0.0))
            close &= np.abs(part) < 0.6
        if not np.all(close):
            whole = far(block, z)
            modulus = np.abs(whole)
            logs = np.log(np.where(modulus > 0.0, whole, GONE)) + np.multiply.outer(block, z)
            off = 16.0 * UNIT_ROUNDOFF * (2.0 + 2.0 / np.maximum(modulus, GONE) + np.multiply.outer(block, far_size))
            if np.any(close):
                logs, off = np.where(close, 0.0, logs), np.where(close, 0.0, off)
            total, errors = total + times @ logs, errors + times @ off
        if np.any(close):
            part = np.where(close, part, 0.0)
            total = total + times @ log1p_near(part)
            errors = errors + times @ np.where(close, 64.0 * UNIT_ROUNDOFF * np.abs(part) + _LOST, 0.0)
    # a sum of n products loses n units of the moduli, of which each part's error is 8 units or more
    return np.asarray(total, dtype=np.complex128), asfloat(errors * (2.0 + losses.size / 8.0))
