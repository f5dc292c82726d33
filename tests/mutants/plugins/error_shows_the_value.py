"""A helpful error message, with the data in it."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "errors_show_no_value"


class ErrorShowsTheValue(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all():
            raise ValueError(f"cannot release {array.tolist()}")
        return dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ErrorShowsTheValue)
