"""The last value is remembered on the class, where instances do not show it."""

from typing import ClassVar

import numpy as np

from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "mechanism_keeps_nothing"


class ClassKeepsTheValue(Scaled):
    last: ClassVar[object] = None

    def release(self, value, rng):
        output = Scaled.release(self, value, rng)
        type(self).last = np.array(value)
        return output


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ClassKeepsTheValue)
