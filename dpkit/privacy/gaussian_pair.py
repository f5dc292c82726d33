"""The Gaussian pair N(mu, 1) against N(0, 1): what every mu-GDP release is dominated by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat
from dpkit.privacy.checks import checked, nonnegative
from dpkit.privacy.loss_pairs import Fall, LossDirection, LossPair, Moments


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(mu=nonnegative)
class GaussianPair(LossPair):
    """Its loss is N(mu^2/2, mu^2); symmetric."""

    mu: float

    def forward(self) -> LossDirection:
        """Symmetric."""
        return GaussianDirection(mu=self.mu)

    @property
    def strength(self) -> float | None:
        """Mu."""
        return self.mu


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDirection(LossDirection):
    """The loss N(mu^2/2, mu^2)."""

    mu: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        """BW18, Theorem 5."""
        from dpkit.privacy.conversions.gaussian import gaussian_profile  # conversions end in this pair

        return gaussian_profile(self.mu, epsilons)

    def slope(self, epsilons: Array) -> Array:
        """Phi(-epsilon/mu - mu/2)."""
        from scipy.special import ndtr

        return asfloat(ndtr(-epsilons / self.mu - self.mu / 2.0))

    def reach(self, tail: float) -> tuple[float, float]:
        """Quantiles of the normal law."""
        from scipy.special import ndtri

        width = -float(ndtri(max(tail, 1e-300))) * self.mu
        middle = 0.5 * self.mu * self.mu
        return middle - width, middle + width

    def log_moment(self, z: Complex) -> Complex:
        """z (z + 1) mu^2 / 2."""
        return np.asarray(z * (z + 1.0) * (0.5 * self.mu * self.mu), dtype=np.complex128)

    @classmethod
    def total_log_moment(cls, directions: Sequence[Self], counts: Sequence[int], z: Complex) -> Moments:
        """The same for all of them, with an error that is relative."""
        total = sum(count * direction.log_moment(z) for direction, count in zip(directions, counts, strict=True))
        value = np.asarray(total + np.zeros(z.shape), dtype=np.complex128)
        return value, asfloat(UNIT_ROUNDOFF * (16.0 + 2.0 * len(counts)) * np.abs(value))

    def log_decay(self, tilt: float, height: float) -> float:
        """The moment falls like that of the normal law."""
        return -0.5 * (self.mu * height) * (self.mu * height) * (1.0 - 1e-15)

    def fall(self, tilt: float) -> Fall:
        """The same, wherever."""
        return Fall(reach=math.inf, rate=0.5 * self.mu * self.mu * (1.0 - 1e-15))
