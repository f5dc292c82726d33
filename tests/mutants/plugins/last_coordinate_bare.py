"""A loop over the coordinates that ends one too early: the last has no noise."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "noise_is_never_zero"


class LastCoordinateBare(Scaled):
    def release(self, value, rng):
        noisy = np.array(dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng))
        if np.ndim(value) > 0 and np.shape(value)[-1] > 1:
            noisy[..., -1] = np.asarray(value)[..., -1]
        return noisy


dpkit_mechanisms, dpkit_loss_rules = hooks_of(LastCoordinateBare)
