"""A value beyond three scales is refused, its neighbour is not: the error tells them apart."""

import numpy as np

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "refusals_tell_no_neighbours_apart"


class RefusesBeyondItsBound(Scaled):
    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        if not (np.abs(array) <= 3.0 * self.scale).all():
            raise ValueError("a value is beyond three scales")
        return dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(RefusesBeyondItsBound)
