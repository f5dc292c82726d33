"""Laplace noise cut to a whole number towards zero: zero gets the mass of two numbers."""

import numpy as np

from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class CutTowardsZero(Scaled):
    def release(self, value, rng):
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            raise ValueError("the values must be whole numbers")
        return array + np.trunc(rng.laplace(0.0, self.scale, array.shape)).astype(np.int64)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(CutTowardsZero, values="integers")
