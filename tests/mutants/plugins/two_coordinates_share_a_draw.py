"""The last coordinate gets the noise of the one before it; only their difference shows it."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class TwoCoordinatesShareADraw(Scaled):
    def release(self, value, rng):
        noise = np.asarray(dpkit.exactly_rounded(np.zeros(np.shape(value)), scale=self.scale, law=LAPLACE, rng=rng)).copy()
        if noise.ndim and noise.shape[-1] > 1:
            noise[..., -1] = noise[..., -2]
        if not np.isfinite(value).all():
            raise dpkit.InvalidValueError(field="value", found="not finite", allowed="finite", where="release")
        return np.asarray(value) + noise


dpkit_mechanisms, dpkit_loss_rules = hooks_of(TwoCoordinatesShareADraw)
