"""Private tuning: a release a random number of times, of which the best one alone is given. What it costs, by four theorems.

With the law of the number K, f(x) = E x^K, the best of K outputs has the density p(y) f'(u(y)), where u(y) is how likely one
output is not better than y. All theorems bound f'(u)/f'(v) for two neighbours (docs/proofs/private-tuning.md).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF, outward
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import checked, instance_of
from dpkit.privacy.events import RepeatAndSelect
from dpkit.privacy.loss_table import EnvelopePair, envelope_pair
from dpkit.privacy.losses import PureDP, RenyiCurve
from dpkit.values import dataclass

_LOWERED = 1.0 - 2.0**-40
"""How much less often the priced process stops than the one that runs: more than any rounding of the two."""

_LARGEST_EPSILON = 600.0

_ORDERS = 1.0 + np.geomspace(1e-2, 1e5, 400)
"""Orders at which a constant is looked for; each of them gives a bound."""


@lru_cache(maxsize=64)
def stopping_rate(mean: float, shape: float) -> float:
    """The rate gamma of the truncated negative binomial law (PS22, Definition 1) with this mean and shape; finite shapes.

    It is the geometric law's probability to stop. The mean falls as it rises, so bisection finds it.
    """
    if mean == 1.0 or shape == 1.0:
        return 1.0 / mean
    low, high = 1e-300, 1.0
    for _ in range(2000):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _mean(middle, shape) > mean else (low, middle)
    return low


def _mean(gamma: float, shape: float) -> float:
    """shape (1 - gamma) / (gamma (1 - gamma^shape)), by continuity at shape 0."""
    logarithm = math.log(gamma)
    if shape * logarithm < -700.0 or shape * logarithm > 700.0:
        return shape * (1.0 - gamma) / gamma if shape > 0.0 else -shape * math.exp(min(700.0, -(1.0 + shape) * logarithm))
    span = -math.expm1(shape * logarithm) / shape if shape else -logarithm
    return -math.expm1(logarithm) / (gamma * span)


@dataclass(frozen=True, slots=True)
class _Law:
    """The law of the number of repetitions, as it is priced: a little more often than it is run."""

    mean: float
    shape: float

    @property
    def gamma(self) -> float:
        return stopping_rate(self.mean, self.shape) * _LOWERED

    @property
    def log_mean(self) -> float:
        exact = math.log(self.mean if math.isinf(self.shape) else _mean(self.gamma, self.shape))
        return outward(exact, magnitude=1.0 + abs(exact))

    def reached(self, chances: Array) -> Array:
        """1 - f(1 - h): how likely one of K outputs is in a set that one output is in with probability h; rounded up."""
        if math.isinf(self.shape):
            found = -np.expm1(-self.mean * chances)
        else:
            logarithm = math.log(self.gamma)
            grown = np.log1p((1.0 - self.gamma) / self.gamma * chances)
            if self.shape == 0.0:
                found = grown / -logarithm
            else:
                with np.errstate(over="ignore"):
                    found = np.expm1(-self.shape * grown) / np.expm1(self.shape * logarithm)
        return asfloat(np.minimum(np.where(np.isnan(found), 1.0, found) * (1.0 + 1e-12), 1.0))

    def log_ratio(self, odds: Array, deltas: Array) -> float:
        """ln of a bound on f'(u)/f'(v), from points of the profile (theorem 1): c^(1 + shape), or e^(mean delta(0))."""
        if math.isinf(self.shape):
            return outward(self.mean * float(deltas[0]), magnitude=1.0 + self.mean)
        slope = self.gamma / (1.0 - self.gamma)
        enough = deltas <= (odds - 1.0) * slope
        if not np.any(enough):
            return math.inf
        place = int(np.argmax(enough))
        c = float(odds[place])
        if place > 0:  # between two points the profile is below its chord, which meets the line of this slope
            with np.errstate(all="ignore"):  # where odds are equal or infinite there is no chord, and NaN is no minimum
                before, fall = float(odds[place - 1]), (deltas[place - 1] - deltas[place]) / (odds[place] - odds[place - 1])
                c = min(c, float((deltas[place - 1] + fall * before + slope) / (fall + slope)))
        return outward((1.0 + self.shape) * math.log(c), magnitude=(1.0 + self.shape) * (1.0 + math.log(c)))

    def log_ratio_by_orders(self, curve: RenyiCurve) -> float:
        """PS22, Theorem 2: (1 + shape) min ((1 - 1/order) divergence + ln(1/gamma)/order)."""
        if math.isinf(self.shape):
            return math.inf
        found = float(np.min((1.0 - 1.0 / _ORDERS) * curve.at(_ORDERS) - math.log(self.gamma) / _ORDERS))
        return outward((1.0 + self.shape) * found, magnitude=(1.0 + self.shape) * (1.0 + abs(found)))


def select_pure(event: RepeatAndSelect, epsilon: float) -> PureDP | None:
    """A pure loss: epsilon + (1 + shape) ln((e^epsilon + gamma)/(1 + gamma e^epsilon)), or epsilon + mean tanh(epsilon/2)."""
    if epsilon == 0.0:
        return PureDP(epsilon=0.0)  # runs whose law is the same on all data: so is that of the best
    law = _Law(event.mean, event.shape)
    if math.isinf(event.shape):
        more = event.mean * math.tanh(0.5 * epsilon)
    else:
        grown = math.expm1(min(epsilon, 700.0))
        more = (1.0 + event.shape) * min(epsilon, math.log1p(grown * (1.0 - law.gamma) / (1.0 + law.gamma * (1.0 + grown))))
    total = outward(epsilon + more, magnitude=1.0 + epsilon + more)
    return PureDP(epsilon=total) if math.isfinite(total) else None


def _odds(epsilons: tuple[float, ...]) -> Array:
    """e^epsilon; infinity where no float holds it."""
    with np.errstate(over="ignore"):
        return asfloat(np.exp(np.array(epsilons)))


def select_pair(event: RepeatAndSelect, epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> EnvelopePair | None:
    """A pair for an event that keeps within deltas[i] at epsilons[i] in both directions; epsilons rise from 0.

    With the ratio C, the profile at alpha is at most 1 - f(1 - h), h the profile of one output at alpha / C.
    """
    law = _Law(event.mean, event.shape)
    odds, heights = _odds(epsilons), np.minimum.accumulate(np.array(deltas))
    shift = law.log_ratio(odds, heights)
    # below 1 by symmetry: h(1/a) = 1 - 1/a + h(a)/a
    mirrored = (1.0 - 1.0 / odds + heights / odds)[:0:-1] * (1.0 + 8.0 * UNIT_ROUNDOFF)
    logs = np.concatenate((-np.array(epsilons)[:0:-1], epsilons)) + shift
    reached = law.reached(np.concatenate((mirrored, heights)))
    useful = (logs >= 0.0) & (logs <= _LARGEST_EPSILON) & (reached < 1.0)
    if not np.any(useful):
        return None
    return envelope_pair(np.nextafter(logs[useful], math.inf), reached[useful])


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(curve=partial(instance_of, kind=RenyiCurve, allowed="a Rényi curve"))
class SelectedCurve(RenyiCurve):
    """The Rényi curve of the selection: PS22's Theorems 2 and 6, with the ratio of theorem 1 where it is smaller.

    `epsilons` and `deltas`: points of the profile of one output.
    """

    curve: RenyiCurve
    mean: float
    shape: float
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def at(self, orders: Array) -> Array:
        """divergence(order) + ln(mean)/(order - 1) + ln ratio, and never more than at a higher order."""
        law = _Law(self.mean, self.shape)
        orders = np.asarray(orders, dtype=np.float64)
        higher = np.concatenate((orders[:, None], np.maximum(orders[:, None], _ORDERS[None, ::8])), axis=1)
        found = self._at_order(law, higher.ravel()).reshape(higher.shape)
        return asfloat(np.min(found, axis=1) * (1.0 + 16.0 * UNIT_ROUNDOFF))

    def _at_order(self, law: _Law, orders: Array) -> Array:
        odds, heights = _odds(self.epsilons), np.minimum.accumulate(np.array(self.deltas))
        ratio: Array | float
        if math.isinf(self.shape):
            # PS22, Theorem 6: mean delta at ln(1 + 1/(order - 1)); chords are above the profile
            chords = np.interp(orders / (orders - 1.0) * (1.0 - 1e-15), odds, heights)
            ratio = self.mean * chords * (1.0 + 1e-12)
        else:
            ratio = min(law.log_ratio(odds, heights), law.log_ratio_by_orders(self.curve))
        return asfloat(self.curve.at(orders) + law.log_mean / (orders - 1.0) + ratio)
