"""Each release seeds a generator of its own, with one of a thousand seeds."""

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "draws_are_independent"


class FewSeeds(Scaled):
    def release(self, value, rng):
        rng = np.random.default_rng(int(rng.integers(1000)))
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return dpkit.exactly_rounded(mechanism_base.repeated(value, n), scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(FewSeeds)
