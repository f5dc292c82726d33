"""The scale is 10% too small, and no density is declared that would show it."""

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class ScaleOffAndNoDensity(Scaled):
    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=0.9 * self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ScaleOffAndNoDensity)
