"""A matrix gets one draw a row."""

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class NoiseByRow(Scaled):
    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        array = mechanism_base.repeated(value, n)
        if array.ndim < 3:
            return dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng)
        if not np.isfinite(array).all():
            raise dpkit.InvalidValueError(field="value", found="not finite", allowed="finite", where="release")
        noise = dpkit.exactly_rounded(np.zeros(array.shape[:-1]), scale=self.scale, law=LAPLACE, rng=rng)
        return array + np.asarray(noise)[..., None]


dpkit_mechanisms, dpkit_loss_rules = hooks_of(NoiseByRow)
