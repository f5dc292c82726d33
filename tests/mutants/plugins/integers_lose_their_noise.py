"""The output is made like the input: noise on integers is cut off."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "integers_are_numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegersLoseTheirNoiseEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="integers-lose-their-noise-pure",
        event=IntegersLoseTheirNoiseEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class IntegersLoseTheirNoise:
    scale: float

    def event(self, at):
        return IntegersLoseTheirNoiseEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        output = np.zeros_like(value)
        output[...] = np.asarray(dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng))
        return output

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="integers-lose-their-noise",
            doc="Laplace noise.",
            make=IntegersLoseTheirNoise,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
