"""An L2 distance is priced as if it were L1: too cheap by the root of the dimension."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceAtAnL2DistanceEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="laplace-at-an-l2-distance-pure",
        event=LaplaceAtAnL2DistanceEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceAtAnL2Distance:
    scale: float

    def event(self, at):
        return LaplaceAtAnL2DistanceEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="laplace-at-an-l2-distance",
            doc="Laplace noise.",
            make=LaplaceAtAnL2Distance,
            parameters=(scale,),
            metrics=("l2",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
