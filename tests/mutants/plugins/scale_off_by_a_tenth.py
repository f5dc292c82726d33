"""The sampler's scale is 10% smaller than the one that the density and the price speak of."""

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "sampler_follows_its_declared_law"


class ScaleOffByATenth(Scaled):
    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=0.9 * self.scale, law=LAPLACE, rng=rng)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -np.abs(np.asarray(output) - center) / self.scale - np.log(2.0 * self.scale)
        return mechanism_base.summed_over_value(terms, center.ndim)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ScaleOffByATenth)
