"""Noise in proportion to the value, as for a relative error: its spread shows the value."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class ScaleGrowsWithTheValue(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        noise = dpkit.exactly_rounded(np.zeros(array.shape), scale=self.scale, law=LAPLACE, rng=rng)
        if not np.isfinite(array).all():
            raise ValueError("the values must be finite")
        return array + np.maximum(1.0, np.abs(array)) * noise


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ScaleGrowsWithTheValue)
