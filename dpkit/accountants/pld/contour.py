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

    `errors` bounds the absolute error of each ln M, at most 1/2 at the first node, which stands on the real axis; `left_out`
    bounds the sum of |M(z)/M(tilt)| |1/(z(z+1))| 2/period over the nodes beyond the last.
    """

    tilt: float
    period: float
    log_moments: Complex
    errors: Array
    left_out: float

    @property
    def heights(self) -> Array:
        """Im z at the nodes."""
        return asfloat(2.0 * math.pi / self.period * np.arange(self.log_moments.size))

    def scaled_delta(self, epsilon: float) -> tuple[float, float, float]:
        """(value, error, log_scale): delta plus aliases is value * e^log_scale, up to error * e^log_scale."""
        z = self.tilt + 1j * self.heights
        log_scale = float(self.log_moments[0].real) - self.tilt * epsilon
        exponent = self.log_moments - z * epsilon - log_scale
        kernel = 1.0 / (z * (z + 1.0))
        kernel[1:] *= 2.0
        terms = np.exp(exponent) * kernel
        value = float(np.sum(terms.real)) / self.period
        # phases: the exponent's imaginary part is rounded relatively to its own size
        size = abs(epsilon) * (self.tilt + self.heights) + np.abs(self.log_moments) + abs(log_scale)
        blur = np.expm1(np.minimum(self.errors + 8.0 * UNIT_ROUNDOFF * (1.0 + size), 700.0)) + 1e-15
        # |M(z)| is at most M(tilt), however little is known of M(z) itself
        on_axis = math.exp(float(self.errors[0]))
        off = np.minimum(np.abs(terms) * blur, np.abs(terms) + on_axis * np.abs(kernel))
        rounding = 16.0 * UNIT_ROUNDOFF * math.log2(max(2, z.size)) * float(np.sum(np.abs(terms)))
        return value, (float(np.sum(off)) + rounding) / self.period + on_axis * self.left_out, log_scale


def kernel_beyond(height: float, period: float) -> float:
    """The sum of (2/period)/y^2 over the nodes y >= height: at most (2/T)(1/height^2 + T/(2 pi height))."""
    return 2.0 / period / height * (1.0 / height + period / (2.0 * math.pi)) + 1e-300  # it must not underflow
