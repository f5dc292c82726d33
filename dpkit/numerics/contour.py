"""A privacy profile by one contour integral, with every error bounded (docs/proofs/pld.md, theorems 1 and 2).

With M(z) = E[e^(zL)], delta(epsilon) is the integral of M(z) e^(-z epsilon) / (z (z+1)) along Re z = tilt > 0. The
trapezoid rule with period T gives delta(epsilon) plus terms e^(tilt n T) delta(epsilon + n T), n != 0, all of them >= 0: the
error of discretisation is on the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat

Complex = np.typing.NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContourSum:
    """Values of ln M on the upper half of the contour, ready to be read at any epsilon.

    `relative` bounds the relative error of each term M(z) e^(-z epsilon); `log_decay` bounds ln |M(tilt+iy)|/M(tilt) beyond
    the last node.
    """

    tilt: float
    period: float
    log_moments: Complex
    relative: float
    log_decay: float

    @property
    def heights(self) -> Array:
        """Im z at the nodes."""
        return asfloat(2.0 * math.pi / self.period * np.arange(self.log_moments.size))

    def scaled_delta(self, epsilon: float) -> tuple[float, float, float]:
        """(value, error, log_scale): delta plus aliases is value * e^log_scale, up to error * e^log_scale."""
        z = self.tilt + 1j * self.heights
        log_scale = float(self.log_moments[0].real) - self.tilt * epsilon
        exponent = self.log_moments - z * epsilon - log_scale
        terms = np.exp(exponent) / (z * (z + 1.0))
        terms[1:] *= 2.0
        value = float(np.sum(terms.real)) / self.period
        # phases: the exponent's imaginary part is rounded relatively to its own size
        blur = self.relative + 8.0 * UNIT_ROUNDOFF * (1.0 + abs(epsilon) * (self.tilt + self.heights))
        error = float(np.sum(np.abs(terms) * (blur + 1e-15))) / self.period
        return value, error + self._beyond(), log_scale

    def _beyond(self) -> float:
        """The nodes that were left out: |M| is at most e^log_decay of its value on the real axis, and 1/|z|^2 sums."""
        last = 2.0 * math.pi / self.period * self.log_moments.size
        # (2/T) sum over y >= last of 1/y^2 <= (2/T) (1/last^2 + T/(2 pi last))
        kernel = 2.0 / self.period * (1.0 / last**2 + self.period / (2.0 * math.pi * last))
        return math.exp(max(self.log_decay, -745.0)) * kernel
