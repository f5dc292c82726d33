"""The value is rounded to an eighth of the scale before the noise, and the price forgets how far rounding can move it."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


class RoundsTheValueFirst(Scaled):
    def release(self, value, rng):
        step = self.scale / 8.0
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all() or np.max(np.abs(array), initial=0.0) > 1e15 * self.scale:
            raise ValueError("the values must be finite")
        return dpkit.exactly_rounded(np.rint(array / step) * step, scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(RoundsTheValueFirst)
