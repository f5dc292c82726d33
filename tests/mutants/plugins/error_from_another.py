"""The message is clean, but it is chained to one that shows the value."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "errors_show_no_value"


class ErrorFromAnother(Scaled):
    def release(self, value, rng):
        try:
            if not np.isfinite(value).all():
                raise ValueError(f"bad: {np.ravel(value)[0]}")
        except ValueError as error:
            raise dpkit.InvalidValueError(field="value", found="a bad one", allowed="finite", where="x") from error
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ErrorFromAnother)
