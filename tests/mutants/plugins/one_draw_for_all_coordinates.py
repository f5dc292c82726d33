"""One number of noise is added to every coordinate: their differences are bare."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDrawForAllCoordinatesEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="one-draw-for-all-coordinates-pure",
        event=OneDrawForAllCoordinatesEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDrawForAllCoordinates:
    scale: float

    def event(self, at):
        return OneDrawForAllCoordinatesEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        return array + dpkit.exactly_rounded(0.0, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        array = np.asarray(value, dtype=np.float64)
        noise = dpkit.exactly_rounded(np.zeros(n), scale=self.scale, law=LAPLACE, rng=rng)
        return array + noise.reshape(n, *[1] * array.ndim)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="one-draw-for-all-coordinates",
            doc="Laplace noise.",
            make=OneDrawForAllCoordinates,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
