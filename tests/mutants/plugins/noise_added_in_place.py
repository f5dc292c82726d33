"""`value += noise`: the caller's data are overwritten."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "release_does_not_change_its_input"


class NoiseAddedInPlace(Scaled):
    def release(self, value, rng):
        noise = dpkit.exactly_rounded(np.zeros(np.shape(value)), scale=self.scale, law=LAPLACE, rng=rng)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            value += noise
            return value
        return np.asarray(value) + noise


dpkit_mechanisms, dpkit_loss_rules = hooks_of(NoiseAddedInPlace)
