"""A record in one of t steps, chosen at random, under Gaussian noise: its pair, and what it costs.

P is the mean over i of N(m e_i, I), Q = N(0, I) in t dimensions; P/Q is the mean of t independent ratios
(docs/proofs/sampling.md, theorem 7). So H_a(P||Q) = E[(S/t - a)_+] under Q, and H_a(Q||P) = a E[(1/a - S/t)_+].
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from dpkit.mechanisms.allocation_bands import SumBounds
from dpkit.mechanisms.allocation_cells import Side
from dpkit.mechanisms.allocation_law import AllocationLaw
from dpkit.mechanisms.gaussian import GaussianEvent, merged_gaussian
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import checked, positive, whole_number
from dpkit.privacy.claims import LossRule, rule
from dpkit.privacy.events import RandomAllocation
from dpkit.privacy.gaussian_dp import gaussian_profile
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.privacy.loss_table import EnvelopePair, envelope_pair
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

SMALLEST_RATIO, LARGEST_RATIO = 1e-4, 4.0
"""Outside, a step that is told stands for the allocation: there it gains little, or protects nobody."""

_MARGIN = 3.0
"""How far below a tail, in logarithms, an estimate of it shall be."""

_POINTS = 48
"""How many points of the profile are read, of one record that leaves or joins."""

_SMALLEST_TAIL = 1e-14
"""Beyond it, what a record that leaves or joins costs is not asked for."""

_TOLD, _TOLD_REACH, _LARGEST_LOSS = 200, 36.0, 690.0
"""Points of a step that is told; how many deviations of its loss they reach, and the largest loss."""

MOST_STEPS = 10**9
"""With more, rounding errors a step would be all that is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=positive, steps=partial(whole_number, minimum=2))
class AllocationPair(LossPair):
    """P, the mean over i of N(ratio e_i, I), against Q = N(0, I); `backward` is Q against P."""

    ratio: float
    steps: int

    def forward(self) -> LossDirection:
        """A record more."""
        return _Allocated(ratio=self.ratio, steps=self.steps)

    def backward(self) -> LossDirection | None:
        """A record less."""
        return _Allocated(ratio=self.ratio, steps=self.steps, leaving=True)


@lru_cache(maxsize=4)
def _law(ratio: float, steps: int) -> AllocationLaw:
    return AllocationLaw(ratio=ratio, steps=steps)


@lru_cache(maxsize=32)
def _reaches(ratio: float, steps: int, tail: float) -> tuple[float, float]:
    """How far the loss reaches up and down, by estimates; no farther than a step that is told, whose loss is normal.

    What lies beyond is counted where a lattice ends, so an estimate serves.
    """
    from scipy.special import ndtri

    law = _law(ratio, steps)
    told = ratio * (0.5 * ratio - float(ndtri(tail)))
    ends = []
    sides: tuple[tuple[Side, float], ...] = (("call", 1.0), ("put", -1.0))
    for side, sign in sides:
        near, far = 0.0, told
        for _ in range(16):
            middle = 0.5 * (near + far)
            reached = law.log_estimate(steps * math.exp(sign * middle), side) - math.log(steps)
            near, far = (near, middle) if reached < math.log(tail) - _MARGIN else (middle, far)
        ends.append(far)
    return ends[0], ends[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Allocated(LossDirection):
    """One direction. `edge` is 0 for its middle with the width as an error, 1 for a law above, -1 for one below."""

    ratio: float
    steps: int
    leaving: bool = False
    edge: int = 0

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        found, call = self._read(epsilons)
        low, high = self._bounds(epsilons, found, call)
        if self.edge > 0:
            return high, 16.0 * UNIT_ROUNDOFF * high
        if self.edge < 0:
            # tangents are drawn with the slope, whose error is counted here: no tangent is followed for more than a factor of e
            steep = found.slope_error * found.slope * np.exp(np.minimum(np.abs(epsilons), 700.0))
            return low, asfloat(np.minimum(steep, 1.0) + 16.0 * UNIT_ROUNDOFF * low)
        return asfloat(0.5 * (low + high)), asfloat(0.5 * (high - low) + 8.0 * UNIT_ROUNDOFF * high)

    def above(self) -> LossDirection:
        return _Allocated(ratio=self.ratio, steps=self.steps, leaving=self.leaving, edge=1)

    def below(self) -> LossDirection:
        return _Allocated(ratio=self.ratio, steps=self.steps, leaving=self.leaving, edge=-1)

    def slope(self, epsilons: Array) -> Array:
        found, call = self._read(epsilons)
        # a call falls with the probability above, a put rises with that below
        rise = np.where(call, found.slope, 1.0 - found.slope)
        if not self.leaving:
            return asfloat(rise)
        # a E(1/a - S/t)_+ has the derivative E[1/a - S/t; S/t < 1/a] - P(S/t < 1/a)/a, which is - E[S/t; S/t < 1/a]
        turned = np.exp(-epsilons)
        value = np.where(call, found.low / self.steps + turned - 1.0, found.low / self.steps)
        under = np.where(call, 1.0 - found.slope, found.slope)
        return asfloat(np.maximum(turned * under - value, 0.0))

    def reach(self, tail: float) -> tuple[float, float]:
        high, low = _reaches(self.ratio, self.steps, max(tail, 1e-300))
        return (-high, low) if self.leaving else (-low, high)

    def _bounds(self, epsilons: Array, found: SumBounds, call: np.typing.NDArray[np.bool_]) -> tuple[Array, Array]:
        steps = float(self.steps)
        if self.leaving:
            odds = np.exp(np.minimum(epsilons, 700.0))
            nothing = np.where(call, -np.expm1(np.minimum(epsilons, 0.0)), 0.0)
            low, high = nothing + odds * found.low / steps, nothing + odds * found.high / steps
        else:
            nothing = np.where(call, 0.0, -np.expm1(np.minimum(epsilons, 0.0)))
            low, high = nothing + found.low / steps, nothing + found.high / steps
        told, blur = gaussian_profile(self.ratio, epsilons)
        return asfloat(np.maximum(low, 0.0)), asfloat(np.maximum(np.minimum(high, told + blur), low))

    def _read(self, epsilons: Array) -> tuple[SumBounds, np.typing.NDArray[np.bool_]]:
        """What the law says at these epsilons, and where it was asked for E[(S - s)_+]."""
        law = _law(self.ratio, self.steps)
        with np.errstate(over="ignore"):
            sums = self.steps * np.exp(np.clip(-epsilons if self.leaving else epsilons, -700.0, 700.0))
        call = sums >= self.steps
        parts = [np.zeros(sums.shape) for _ in range(4)]
        sides: tuple[tuple[Side, np.typing.NDArray[np.bool_]], ...] = (("call", call), ("put", ~call))
        for side, some in sides:
            if np.any(some):
                found = law.read(asfloat(sums[some]), side)
                for part, values in zip(parts, (found.low, found.high, found.slope, found.slope_error), strict=True):
                    part[some] = values
        return SumBounds(low=parts[0], high=parts[1], slope=parts[2], slope_error=parts[3]), call


def _pair(event: RandomAllocation) -> LossPair | None:
    inner = merged_gaussian(event.event)
    if inner is None or event.participations != 1 or not 2 <= event.steps <= MOST_STEPS:
        return None
    if not SMALLEST_RATIO <= inner.ratio <= LARGEST_RATIO:
        return None
    return AllocationPair(ratio=inner.ratio, steps=event.steps)


def _replaced_pair(event: RandomAllocation) -> LossPair | None:
    """Under replace-one, by way of the absent record; in the far tail as if the step were told."""
    inner = merged_gaussian(event.event)
    if inner is None or inner.absent is None or not inner.ratio:
        return None
    alone = _pair(replace(event, event=GaussianEvent(ratio=inner.absent)))
    if not isinstance(alone, AllocationPair):
        return None
    return _by_way_of_absence(alone, min(inner.ratio, 2.0 * inner.absent))


@lru_cache(maxsize=64)
def _by_way_of_absence(alone: AllocationPair, ratio: float) -> EnvelopePair:
    """Points of H(P||Q) <= H_a(P||R) + a H_b(R||Q) at the odds a b, R being the law without either record."""
    (leaving, first), (joining, second) = (_upper_points(alone, leaving=leaving) for leaving in (False, True))
    sums = (leaving[:, None] + joining[None, :]).ravel() * (1.0 + 8.0 * UNIT_ROUNDOFF)
    bounds = (first[:, None] + np.exp(leaving)[:, None] * second[None, :]).ravel() * (1.0 + 16.0 * UNIT_ROUNDOFF)
    told = np.linspace(0.0, min(_TOLD_REACH * ratio + 0.5 * ratio * ratio, _LARGEST_LOSS), _TOLD)
    value, blur = gaussian_profile(ratio, told)
    return envelope_pair(np.concatenate((told, sums)), np.concatenate((value + blur, bounds)))


def _upper_points(alone: AllocationPair, *, leaving: bool) -> tuple[Array, Array]:
    """Epsilons from 0 on, and bounds of one direction there."""
    direction = _Allocated(ratio=alone.ratio, steps=alone.steps, leaving=leaving, edge=1)
    epsilons = np.linspace(0.0, direction.reach(_SMALLEST_TAIL)[1], _POINTS)
    value, error = direction.profile(epsilons)
    return asfloat(epsilons), asfloat(np.minimum(value + error, 1.0))


def _attained(event: RandomAllocation) -> bool:
    """By a record that contributes alike in every step."""
    return True


RULES: tuple[LossRule, ...] = (
    rule(
        "allocated-gaussian-pair",
        RandomAllocation,
        LossPair,
        ("dpkit", "docs/proofs/sampling.md, theorems 7 and 8"),
        _pair,
        neighbours=(Neighbours.ADD_REMOVE,),
        attained=_attained,
    ),
    rule(
        "allocated-gaussian-replaced-pair",
        RandomAllocation,
        LossPair,
        ("dpkit", "docs/proofs/sampling.md, theorem 10: by way of the absent record"),
        _replaced_pair,
        neighbours=(Neighbours.REPLACE_ONE,),
    ),
)
