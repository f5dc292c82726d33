"""Gaussian noise, claimed to be pure: no epsilon holds without a delta."""

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import GAUSSIAN
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "density_keeps_the_claims"


class GaussianClaimedPure(Scaled):
    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=GAUSSIAN, rng=rng)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -(((np.asarray(output) - center) / self.scale) ** 2) / 2.0 - np.log(self.scale * np.sqrt(2.0 * np.pi))
        return mechanism_base.summed_over_value(terms, center.ndim)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(GaussianClaimedPure)
