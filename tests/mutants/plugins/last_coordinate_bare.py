"""A loop over the coordinates that ends one too early: the last has no noise."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "noise_is_never_zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCoordinateBareEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="last-coordinate-bare-pure",
        event=LastCoordinateBareEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCoordinateBare:
    scale: float

    def event(self, at):
        return LastCoordinateBareEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        noisy = np.array(dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng))
        if np.ndim(value) > 0 and np.shape(value)[-1] > 1:
            noisy[..., -1] = np.asarray(value)[..., -1]
        return noisy

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="last-coordinate-bare",
            doc="Laplace noise.",
            make=LastCoordinateBare,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
