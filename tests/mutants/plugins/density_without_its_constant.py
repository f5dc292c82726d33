"""The density lacks its normalising constant."""

import numpy as np

from dpkit.mechanisms import mechanism_base
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "density_integrates_to_one"


class DensityWithoutItsConstant(Scaled):
    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -np.abs(np.asarray(output) - center) / self.scale
        return mechanism_base.summed_over_value(terms, center.ndim)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(DensityWithoutItsConstant)
