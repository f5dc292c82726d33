"""The mechanism keeps what it released, for debugging."""

from dataclasses import dataclass, field

import numpy as np

from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "mechanism_keeps_nothing"


@dataclass(frozen=True, kw_only=True)
class KeepsTheValue(Scaled):
    history: list = field(default_factory=list, init=False)

    def release(self, value, rng):
        self.history.append(float(np.sum(value)))
        return Scaled.release(self, value, rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(KeepsTheValue)
