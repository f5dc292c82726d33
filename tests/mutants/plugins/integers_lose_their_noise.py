"""The output is made like the input: noise on integers is cut off."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "integers_are_numbers"


class IntegersLoseTheirNoise(Scaled):
    def release(self, value, rng):
        output = np.zeros_like(value)
        output[...] = np.asarray(dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng))
        return output


dpkit_mechanisms, dpkit_loss_rules = hooks_of(IntegersLoseTheirNoise)
