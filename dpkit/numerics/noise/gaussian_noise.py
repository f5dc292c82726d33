"""The Gaussian laws at scale one, ready for exact rounding: variance one, and variance one half."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from dpkit.numerics.noise.exact_rounding import NoiseLaw, Tail
from dpkit.numerics.noise.lazy_uniform import Precision, Real
from dpkit.numerics.noise.noise_inputs import FloatArray


def _quantile(tail: FloatArray) -> FloatArray:
    quantile: FloatArray = ndtri(tail)
    return np.negative(quantile, out=quantile)


def _half_variance_quantile(tail: FloatArray) -> FloatArray:
    quantile: FloatArray = ndtri(tail)
    quantile *= -math.sqrt(0.5)
    return quantile


def _survival(context: Precision, z: Real) -> Real:
    return _half_erfc(context, z, 2)


def _half_variance_survival(context: Precision, z: Real) -> Real:
    return _half_erfc(context, z, 1)


def _half_erfc(context: Precision, z: Real, divisor: int) -> Real:
    """Return erfc(z / sqrt(divisor)) / 2; a relative error of the argument is magnified by about 2 z**2."""
    if not z > 0:
        return context.ldexp(1, -1)
    precision = context.prec
    try:
        context.prec = precision + 2 * max(0, context.mag(z)) + 16
        return context.erfc(z / context.sqrt(divisor)) / 2
    finally:
        context.prec = precision


# ndtri(p) lies in [-4.9, 0] for p in [2**-21, 1/2], where one unit in the last place is at most 8.9e-16: the margin is
# over 100 such units. |p Q'(p)| is Mills' ratio, which falls from sqrt(pi / 2) at the median.
GAUSSIAN = NoiseLaw(name="gaussian", upper=Tail(quantile=_quantile, error=1e-13, slope=1.2534, survival=_survival))
"""Z ~ N(0, 1)."""

HALF_VARIANCE_GAUSSIAN = NoiseLaw(
    name="half-variance gaussian",
    upper=Tail(quantile=_half_variance_quantile, error=1e-13, slope=0.8863, survival=_half_variance_survival),
)
"""Z ~ N(0, 1/2): the off-diagonal law of symmetric Gaussian noise. The irrational factor is part of the law, so that
the exact path meets it with as many digits as it needs, and the scale stays a float64."""
