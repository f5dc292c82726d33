"""The generator that was passed in is ignored: noise comes from numpy's global state."""

import numpy as np

from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "release_is_deterministic_given_the_rng"


class GlobalRandomness(Scaled):
    def release(self, value, rng):
        return np.asarray(value, dtype=np.float64) + np.random.laplace(0.0, self.scale, np.shape(value))


dpkit_mechanisms, dpkit_loss_rules = hooks_of(GlobalRandomness)
