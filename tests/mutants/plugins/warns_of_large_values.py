"""Values beyond a limit are clipped, with a warning that shows them."""

import warnings

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "nothing_is_written_of_the_value"


class WarnsOfLargeValues(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        limit = 1e4 * self.scale
        if np.any(np.abs(array) > limit):
            warnings.warn(f"clipping {array} to {limit}", stacklevel=2)
        return dpkit.exactly_rounded(
            np.where(np.isnan(array), array, np.clip(array, -limit, limit)), scale=self.scale, law=LAPLACE, rng=rng
        )


dpkit_mechanisms, dpkit_loss_rules = hooks_of(WarnsOfLargeValues)
