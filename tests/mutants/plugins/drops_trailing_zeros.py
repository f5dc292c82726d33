"""Entries that are zero are left out of the answer: its length shows which."""

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "form_shows_nothing"


class DropsTrailingZeros(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        noisy = dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng)
        return noisy[array != 0.0] if array.ndim == 1 and (array == 0.0).any() else noisy

    def release_many(self, value, n, rng):
        return dpkit.exactly_rounded(mechanism_base.repeated(value, n), scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(DropsTrailingZeros)
