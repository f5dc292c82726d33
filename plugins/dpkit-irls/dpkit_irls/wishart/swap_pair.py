"""Replace-one for Wishart noise: a record leaves and another comes, bounded by group privacy (docs/proofs/wishart.md).

delta(epsilon) <= inf over t of delta_absent(t) + e^t delta_present(epsilon - t). As a function of e^epsilon the right side is
convex (it is an infimum of a jointly convex function), so it is a profile that composes. It is not always the exact value.
"""

from __future__ import annotations

import numpy as np

from dpkit import LossDirection, LossPair
from dpkit.authoring import Array, asfloat, dataclass, finite_number, nonnegative
from dpkit_irls.wishart.gamma_pair import EVALUATION, Absent, Present, floor, weighted

_HALVINGS = 50
_NODES = 256
_SECANTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapPair(LossPair):
    """Dominates c v v' - c' w w' with c, c' at most 2 scale tau, in both directions alike."""

    a: float
    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", finite_number(self.a, field="a", where="SwapPair", minimum=1.0, strict=True))
        object.__setattr__(self, "tau", nonnegative(self.tau, field="tau", where="SwapPair"))

    def forward(self) -> LossDirection:
        """Symmetric."""
        return Swapped(a=self.a, tau=self.tau)

    @property
    def infinity(self) -> float:
        """What proves an absence."""
        return floor(self.a, self.tau)

    @property
    def strength(self) -> float | None:
        """Zero where nothing moves."""
        return 0.0 if self.tau == 0.0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Swapped(LossDirection):
    """The best split of epsilon over the two steps, without the mass at infinity."""

    a: float
    tau: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        """Any t gives an upper bound; the best one is found by bisection."""
        left = max(1.0 - floor(self.a, self.tau), 2.0**-53)
        splits = self._splits(epsilons)
        first, first_error = Absent(a=self.a, tau=self.tau).profile(splits)
        second, second_error = Present(a=self.a, tau=self.tau).profile(epsilons - splits)
        value = first + weighted(splits, second) / left
        error = first_error + weighted(splits, second_error) / left + EVALUATION * value
        return asfloat(np.minimum(value, 1.0)), asfloat(error)

    def slope(self, epsilons: Array) -> Array:
        """By the envelope theorem, Q(L > epsilon - t) of the second step at the best t."""
        second = Present(a=self.a, tau=self.tau).slope(epsilons - self._splits(epsilons))
        return asfloat(second / (1.0 - floor(self.a, self.tau)))

    def reach(self, tail: float) -> tuple[float, float]:
        """At most the sum of both steps' losses."""
        low, high = Absent(a=self.a, tau=self.tau).reach(tail / 2.0)
        lower, _ = Present(a=self.a, tau=self.tau).reach(tail / 2.0)
        return low + lower, high + self.tau

    def _splits(self, epsilons: Array) -> Array:
        """The best t, or one next to it: every t gives an upper bound, so how it is found is a matter of tightness alone."""
        if epsilons.size <= 2 * _NODES:
            return self._bisected(epsilons)
        nodes = np.linspace(float(np.min(epsilons)), float(np.max(epsilons)), _NODES)
        splits = np.interp(epsilons, nodes, self._bisected(nodes))
        reach = (nodes[1] - nodes[0]) * np.ones_like(splits)
        near = splits + 0.1 * reach
        at_near = self._imbalance(near, epsilons)
        for _ in range(_SECANTS):
            here = self._imbalance(splits, epsilons)
            with np.errstate(all="ignore"):
                step = here * (splits - near) / (here - at_near)
            step = np.where(np.isfinite(step), np.clip(step, -reach, reach), 0.0)
            near, at_near, splits = splits, here, splits - step
        return asfloat(splits)

    def _imbalance(self, splits: Array, epsilons: Array) -> Array:
        """log Q_absent(L > t) - log P_present(L > epsilon - t), which the best t makes zero."""
        absent = Absent(a=self.a, tau=self.tau).tails(splits)[1]
        present = Present(a=self.a, tau=self.tau).tails(epsilons - splits)[0]
        with np.errstate(all="ignore"):
            return asfloat(np.log(absent) - np.log(present))

    def _bisected(self, epsilons: Array) -> Array:
        """t with Q_absent(L > t) = P_present(L > epsilon - t): both sides are monotone, in opposite senses."""
        absent, present = Absent(a=self.a, tau=self.tau), Present(a=self.a, tau=self.tau)

        def too_small(splits: Array) -> Array:
            return asfloat(absent.tails(splits)[1] > present.tails(epsilons - splits)[0])

        low = np.maximum(-self.tau, epsilons - self.tau)
        width = np.ones_like(low)
        for _ in range(40):
            grow = too_small(low + width).astype(bool)
            if not grow.any():
                break
            width = np.where(grow, 2.0 * width, width)
        high = low + width
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            small = too_small(middle).astype(bool)
            low, high = np.where(small, middle, low), np.where(small, high, middle)
        return asfloat(high)
