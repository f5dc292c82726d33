"""Entries that are zero are left out of the answer: its length shows which."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "form_shows_nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropsTrailingZerosEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="drops-trailing-zeros-pure",
        event=DropsTrailingZerosEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropsTrailingZeros:
    scale: float

    def event(self, at):
        return DropsTrailingZerosEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        noisy = dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng)
        return noisy[array != 0.0] if array.ndim == 1 and (array == 0.0).any() else noisy

    def release_many(self, value, n, rng):
        return dpkit.exactly_rounded(releasing.repeated(value, n), scale=self.scale, law=LAPLACE, rng=rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="drops-trailing-zeros",
            doc="Laplace noise.",
            make=DropsTrailingZeros,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
