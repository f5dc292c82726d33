"""Auditors sample `release_many`, which is right; `release`, which analyses call, has half of the noise."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "release_many_is_many_releases"


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleReleaseIsWeakerEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="single-release-is-weaker-pure",
        event=SingleReleaseIsWeakerEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleReleaseIsWeaker:
    scale: float

    def event(self, at):
        return SingleReleaseIsWeakerEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=0.5 * self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return dpkit.exactly_rounded(releasing.repeated(value, n), scale=self.scale, law=LAPLACE, rng=rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="single-release-is-weaker",
            doc="Laplace noise.",
            make=SingleReleaseIsWeaker,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
