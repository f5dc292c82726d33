"""Counts of private keys: a key comes out only where enough people have it (docs/proofs/keys.md).

The value is a count, or a weight, for each key; 0 is a key that nobody has, which never comes out. What comes out is the noisy
number where it is above a threshold, and 0 elsewhere. A key of one person alone comes out with probability `delta` at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.gaussian import Gaussian, GaussianEvent
from dpkit.numerics.noise.discrete_noise import (
    LARGEST_VALUE,
    add_saturating,
    checked_discrete_scale,
    discrete_laplace,
)
from dpkit.numerics.noise.noise_inputs import checked_integers, checked_value
from dpkit.numerics.noise.randomness import stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.checks import checked, finite_number, whole_number
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.events import ApproxEvent, Compose, Event, Repeat
from dpkit.privacy.losses import ApproxDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

BECAUSE = Citation(key="dpkit", locator="docs/proofs/keys.md")
_SAFE = 1.0 + 1e-9


def _delta(value: object, *, field: str, where: str) -> float:
    found = finite_number(value, field=field, where=where, minimum=0.0, strict=True)
    if not found <= 0.5:
        raise InvalidValueError(field=field, found=value, allowed="above 0 and at most 0.5", where=where)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(delta=_delta)
class ThresholdedGeometric:
    """Counts with two-sided geometric noise, cut off where it is as rare as `delta`, for keys with a count above the cut.

    Each key of a neighbour costs (1/scale, delta). No release of keys that one person each can hold keeps more of them
    (DVGM20, Theorem 2): the noise is cut at two lengths, chosen by lot, so that delta is used up.
    """

    scale: float
    delta: float

    metric: ClassVar[str] = "l1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_discrete_scale(self.scale, where="ThresholdedGeometric"))

    @property
    def cut(self) -> tuple[int, float]:
        """The longer length of the noise, K, and how often it is K - 1 instead. At K, noise of K has probability P(K) <= delta.

        P(K) = q^K (1 - q) / (1 + q - 2 q^(K+1)) for q = exp(-1/scale). The lot makes the average at most delta.
        """
        longest = 1
        step = 1
        while _rarest(self.scale, longest) > self.delta:
            longest, step = longest + step, 2 * step
        low = max(1, longest - step)
        while low < longest:
            middle = (low + longest) // 2
            low, longest = (low, middle) if _rarest(self.scale, middle) <= self.delta else (middle + 1, longest)
        shorter, kept = _rarest(self.scale, longest - 1), _rarest(self.scale, longest)
        often = (self.delta - kept) / (shorter - kept)
        return longest, max(0.0, min(1.0, often * (1.0 - 1e-6) - 2.0**-50))

    @property
    def threshold(self) -> int:
        """A key comes out where its noisy count is above this, or above one less, by lot."""
        return self.cut[0]

    def event(self, at: Distance | Sequence[Distance]) -> Event:
        """Where no count moves by more than one (`linf`), one release for each that moves. Else group privacy, step by step."""
        listed = (at,) if isinstance(at, Distance) else tuple(at)
        moves = math.ceil(mechanism_base.distance_in(listed, metrics=("l1",), where="ThresholdedGeometric"))
        epsilon = round_up(1 / Fraction(self.scale))
        if moves == 0:
            return Repeat(event=ApproxEvent(epsilon=epsilon, delta=self.delta), times=0)
        if moves == 1 or any(one.metric == "linf" and one.value <= 1.0 for one in listed):
            return Repeat(event=ApproxEvent(epsilon=epsilon, delta=self.delta), times=moves)
        grown = min(1.0 - 2.0**-50, math.fsum(math.exp(step * epsilon) for step in range(moves)) * self.delta * _SAFE)
        return ApproxEvent(epsilon=round_up(moves * Fraction(epsilon)), delta=grown)

    def release(self, value: npt.ArrayLike, rng: np.random.Generator | None = None) -> npt.NDArray[np.int64]:
        """The noisy counts of the keys that come out, and 0 for the others."""
        source = mechanism_base.generator(rng)
        counts = checked_integers(value, largest=LARGEST_VALUE, saturate=LARGEST_VALUE, where="ThresholdedGeometric.release")
        longest, often = self.cut
        lengths = longest - (source.random(counts.shape) < often).astype(np.int64)  # 53 bits, as `often` has at most
        noise = np.asarray(discrete_laplace(scale=self.scale, size=counts.shape, rng=source))
        while (again := np.abs(noise) > lengths).any():
            drawn = np.asarray(discrete_laplace(scale=self.scale, size=(int(again.sum()),), rng=source))
            noise[again] = drawn
        noisy = np.asarray(add_saturating(counts, noise))
        return stamped(np.where((counts > 0) & (noisy > lengths), noisy, 0), source, value=value)

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[np.int64]:
        """n independent releases."""
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """The cost of one key that moves by one, times the number of keys that move."""
        return _claims(self.event(at), neighbours)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(delta=_delta, keys=whole_number)
class ThresholdedGaussian:
    """Weights with Gaussian noise, for keys whose noisy weight is above the threshold.

    A person with j keys, of at most `keys`, gives each of them `weight(j)`: in L2 norm at most 1, whatever j is. So those with
    few keys count for more of each. All new keys of a person together come out with probability `delta` at most.
    """

    scale: float
    delta: float
    keys: int = 1

    metric: ClassVar[str] = "l2"

    def __post_init__(self) -> None:
        if self.keys < 1:
            raise InvalidValueError(field="keys", found=self.keys, allowed="a whole number >= 1", where="ThresholdedGaussian")
        object.__setattr__(self, "scale", Gaussian(scale=self.scale).scale)

    @staticmethod
    def weight(keys: int) -> float:
        """What a person with this number of keys gives each: 1 over the root, cut to 2**-20, downwards."""
        return math.floor(2.0**20 / math.sqrt(keys)) * 2.0**-20

    @property
    def threshold(self) -> float:
        """The largest over t <= keys of the weight of t keys plus the noise that one of t exceeds with probability delta."""
        from scipy.special import ndtri_exp

        alone = [
            self.weight(t) - self.scale * float(ndtri_exp(math.log(-math.expm1(math.log1p(-self.delta) / t))))
            for t in range(1, self.keys + 1)
        ]
        return max(alone) * _SAFE + Gaussian(scale=self.scale).grid

    def event(self, at: Distance | Sequence[Distance]) -> Event:
        """Gaussian noise on the keys that both neighbours have; the others come out with probability delta at most."""
        distance = mechanism_base.distance_in(at, metrics=("l2",), where="ThresholdedGaussian")
        noise = GaussianEvent(ratio=mechanism_base.ratio_up(distance, self.scale))
        return Compose(events=(noise, ApproxEvent(epsilon=0.0, delta=self.delta)))

    def release(self, value: npt.ArrayLike, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """The noisy weights of the keys that come out, and 0 for the others."""
        source = mechanism_base.generator(rng)
        weights = checked_value(value, saturate=2.0**53, where="ThresholdedGaussian.release")
        noisy = np.asarray(Gaussian(scale=self.scale).release(weights, source), dtype=np.float64)
        return stamped(np.where((weights > 0.0) & (noisy > self.threshold), noisy, 0.0), source, value=value)

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """n independent releases."""
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """What is proved is the event, which accountants price; as one pair of numbers, there are many, and none is claimed."""
        return ()


def _rarest(scale: float, length: int) -> float:
    """The probability of the largest noise where it is cut at this length, rounded up."""
    q = math.exp(-1.0 / scale)
    tail = math.exp(-length / scale)
    return tail * -math.expm1(-1.0 / scale) / (1.0 + q - 2.0 * tail * q) * _SAFE


def _claims(event: Event, neighbours: Neighbours) -> tuple[Claim, ...]:
    """One release that moves one key; of several, basic composition."""
    inner, times = (event.event, event.times) if isinstance(event, Repeat) else (event, 1)
    if not isinstance(inner, ApproxEvent) or not times:
        return ()
    loss = ApproxDP(epsilon=round_up(times * Fraction(inner.epsilon)), delta=min(times * inner.delta * _SAFE, 1.0 - 2.0**-50))
    return (Claim(loss=loss, neighbours=neighbours, because=BECAUSE, assuming=mechanism_base.ASSUMING),)
