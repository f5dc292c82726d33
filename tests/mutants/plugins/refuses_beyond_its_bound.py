"""A value beyond three scales is refused, its neighbour is not: the error tells them apart."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "refusals_tell_no_neighbours_apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusesBeyondItsBoundEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="refuses-beyond-its-bound-pure",
        event=RefusesBeyondItsBoundEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusesBeyondItsBound:
    scale: float

    def event(self, at):
        return RefusesBeyondItsBoundEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        if not (np.abs(array) <= 3.0 * self.scale).all():
            raise ValueError("a value is beyond three scales")
        return dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="refuses-beyond-its-bound",
            doc="Laplace noise.",
            make=RefusesBeyondItsBound,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
