"""Noise cut off at five scales for the sake of utility: outputs beyond need a delta, which is forgotten."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class TruncatedButPure(Scaled):
    def release(self, value, rng):
        noisy = dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)
        return np.clip(noisy, np.asarray(value) - 5 * self.scale, np.asarray(value) + 5 * self.scale)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(TruncatedButPure)
