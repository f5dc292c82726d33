"""The Laplace law at scale one, ready for exact rounding: density exp(-|z|) / 2."""

from __future__ import annotations

import numpy as np

from dpkit.numerics.noise.exact_rounding import NoiseLaw, Tail
from dpkit.numerics.noise.lazy_uniform import Precision, Real
from dpkit.numerics.noise.noise_inputs import FloatArray


def _quantile(tail: FloatArray) -> FloatArray:
    doubled = tail * 2.0
    np.log(doubled, out=doubled)
    return np.negative(doubled, out=doubled)


def _survival(context: Precision, z: Real) -> Real:
    return context.exp(-z) / 2 if z > 0 else context.ldexp(1, -1)


# -log(2p) lies in [0, 13.9] for p in [2**-21, 1/2], where one unit in the last place is at most 1.8e-15: the margin is
# 56 such units, against the few that any logarithm in use loses. |p Q'(p)| is exactly 1.
LAPLACE = NoiseLaw(name="laplace", upper=Tail(quantile=_quantile, error=1e-13, slope=1.0, survival=_survival))
"""Z with P(|Z| > z) = exp(-z)."""
