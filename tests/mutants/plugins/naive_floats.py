"""Textbook floating-point noise: which numbers can come out depends on the value (Mironov 2012)."""

import numpy as np

from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "outputs_lie_on_a_fixed_grid"


class NaiveFloats(Scaled):
    def release(self, value, rng):
        return np.asarray(value, dtype=np.float64) + rng.laplace(0.0, self.scale, np.shape(value))


dpkit_mechanisms, dpkit_loss_rules = hooks_of(NaiveFloats)
