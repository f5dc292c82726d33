"""NaN passes through: one bad record is visible with certainty."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "release_refuses_nan_and_infinity"


class AcceptsNan(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        noisy = dpkit.exactly_rounded(np.nan_to_num(array), scale=self.scale, law=LAPLACE, rng=rng)
        return np.where(np.isfinite(array), noisy, array)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(AcceptsNan)
