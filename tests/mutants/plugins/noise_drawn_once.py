"""Noise is drawn at the first release and kept: the difference of two releases shows everything."""

from dataclasses import dataclass, field

import numpy as np

from dpkit.mechanisms import mechanism_base
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "draws_are_independent"


@dataclass(frozen=True, kw_only=True)
class NoiseDrawnOnce(Scaled):
    cache: dict = field(default_factory=dict, init=False)

    def release(self, value, rng):
        fresh = Scaled.release(self, np.zeros(np.shape(value)), rng)
        return np.asarray(value, dtype=np.float64) + self.cache.setdefault(np.shape(value), fresh)

    def release_many(self, value, n, rng):
        return Scaled.release(self, mechanism_base.repeated(value, n), rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(NoiseDrawnOnce)
