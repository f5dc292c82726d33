"""The sampler's scale is 10% smaller than the one that the density and the price speak of."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "sampler_follows_its_declared_law"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOffByATenthEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="scale-off-by-a-tenth-pure",
        event=ScaleOffByATenthEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOffByATenth:
    scale: float

    def event(self, at):
        return ScaleOffByATenthEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=0.9 * self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -np.abs(np.asarray(output) - center) / self.scale - np.log(2.0 * self.scale)
        return releasing.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="scale-off-by-a-tenth",
            doc="Laplace noise.",
            make=ScaleOffByATenth,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
