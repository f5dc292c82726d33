"""An empty bin is left empty: whether anybody is in it shows with certainty."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class NoNoiseOnZeros(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        return np.where(array == 0.0, 0.0, dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng))


dpkit_mechanisms, dpkit_loss_rules = hooks_of(NoNoiseOnZeros)
