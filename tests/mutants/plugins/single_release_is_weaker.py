"""Auditors sample `release_many`, which is right; `release`, which analyses call, has half of the noise."""

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "release_many_is_many_releases"


class SingleReleaseIsWeaker(Scaled):
    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=0.5 * self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return dpkit.exactly_rounded(mechanism_base.repeated(value, n), scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(SingleReleaseIsWeaker)
