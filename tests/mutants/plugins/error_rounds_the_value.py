"""The message shows the value with two digits, which is no better."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "errors_show_no_value"


class ErrorRoundsTheValue(Scaled):
    def release(self, value, rng):
        if not np.isfinite(value).all():
            shown = f"more than {np.ravel(value)[0]:.2f}"
            raise dpkit.InvalidValueError(field="value", found="a bad one", allowed=shown, where="x")
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ErrorRoundsTheValue)
