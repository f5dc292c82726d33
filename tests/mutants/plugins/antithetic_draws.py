"""Every other half of the draws is the mirror image of the first: variance falls, and so does privacy."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "draws_are_independent"


class AntitheticDraws(Scaled):
    def release_many(self, value, n, rng):
        zeros = np.zeros(((n + 1) // 2, *np.shape(value)))
        half = dpkit.exactly_rounded(zeros, scale=self.scale, law=LAPLACE, rng=rng)
        return np.asarray(value) + np.concatenate([half, -half])[:n]


dpkit_mechanisms, dpkit_loss_rules = hooks_of(AntitheticDraws)
