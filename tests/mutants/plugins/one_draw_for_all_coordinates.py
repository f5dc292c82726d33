"""One number of noise is added to every coordinate: their differences are bare."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class OneDrawForAllCoordinates(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        return array + dpkit.exactly_rounded(0.0, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        array = np.asarray(value, dtype=np.float64)
        noise = dpkit.exactly_rounded(np.zeros(n), scale=self.scale, law=LAPLACE, rng=rng)
        return array + noise.reshape(n, *[1] * array.ndim)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(OneDrawForAllCoordinates)
