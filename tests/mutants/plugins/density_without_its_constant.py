"""The density lacks its normalising constant."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "density_integrates_to_one"


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityWithoutItsConstantEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="density-without-its-constant-pure",
        event=DensityWithoutItsConstantEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityWithoutItsConstant:
    scale: float

    def event(self, at):
        return DensityWithoutItsConstantEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -np.abs(np.asarray(output) - center) / self.scale
        return releasing.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="density-without-its-constant",
            doc="Laplace noise.",
            make=DensityWithoutItsConstant,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
