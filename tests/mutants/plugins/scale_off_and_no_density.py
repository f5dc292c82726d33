"""The scale is 10% too small, and no density is declared that would show it."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOffAndNoDensityEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="scale-off-and-no-density-pure",
        event=ScaleOffAndNoDensityEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOffAndNoDensity:
    scale: float

    def event(self, at):
        return ScaleOffAndNoDensityEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=0.9 * self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="scale-off-and-no-density",
            doc="Laplace noise.",
            make=ScaleOffAndNoDensity,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
