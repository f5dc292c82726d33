"""Each release seeds a generator of its own, with one of a thousand seeds."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "draws_are_independent"


@dataclass(frozen=True, slots=True, kw_only=True)
class FewSeedsEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="few-seeds-pure",
        event=FewSeedsEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class FewSeeds:
    scale: float

    def event(self, at):
        return FewSeedsEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        rng = np.random.default_rng(int(rng.integers(1000)))
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return dpkit.exactly_rounded(releasing.repeated(value, n), scale=self.scale, law=LAPLACE, rng=rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [dpkit.MechanismFactory(name="few-seeds", doc="Laplace noise.", make=FewSeeds, parameters=(scale,), metrics=("l1",))]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
