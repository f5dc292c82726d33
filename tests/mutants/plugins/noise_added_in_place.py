"""`value += noise`: the caller's data are overwritten."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "release_does_not_change_its_input"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseAddedInPlaceEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="noise-added-in-place-pure",
        event=NoiseAddedInPlaceEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseAddedInPlace:
    scale: float

    def event(self, at):
        return NoiseAddedInPlaceEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        noise = dpkit.exactly_rounded(np.zeros(np.shape(value)), scale=self.scale, law=LAPLACE, rng=rng)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            value += noise
            return value
        return np.asarray(value) + noise

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="noise-added-in-place",
            doc="Laplace noise.",
            make=NoiseAddedInPlace,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
