"""Each flag alone is right; together they leave a third of the noise."""

from dataclasses import dataclass

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import SCALE, Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"
FLAGS = tuple(dpkit.Parameter(name=name, kind="boolean", doc="A flag.", default=False) for name in ("sharp", "smooth"))


@dataclass(frozen=True, kw_only=True)
class TwoFlagsTakeTheNoise(Scaled):
    sharp: bool = False
    smooth: bool = False

    def release(self, value, rng):
        scale = self.scale / 3.0 if self.sharp and self.smooth else self.scale
        return dpkit.exactly_rounded(value, scale=scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(TwoFlagsTakeTheNoise, parameters=(SCALE, *FLAGS))
