"""Noise is drawn at the first release and kept: the difference of two releases shows everything."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "draws_are_independent"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseDrawnOnceEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="noise-drawn-once-pure",
        event=NoiseDrawnOnceEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(kw_only=True)
class NoiseDrawnOnce:
    scale: float

    def event(self, at):
        return NoiseDrawnOnceEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        fresh = dpkit.exactly_rounded(np.zeros(np.shape(value)), scale=self.scale, law=LAPLACE, rng=rng)
        return np.asarray(value, dtype=np.float64) + self.cache.setdefault(np.shape(value), fresh)

    def release_many(self, value, n, rng):
        return dpkit.exactly_rounded(mechanism_base.repeated(value, n), scale=self.scale, law=LAPLACE, rng=rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def __post_init__(self):
        self.cache = {}


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="noise-drawn-once",
            doc="Laplace noise.",
            make=NoiseDrawnOnce,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
