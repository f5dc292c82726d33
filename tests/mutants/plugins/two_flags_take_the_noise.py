"""Each flag alone is right; together they leave a third of the noise."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoFlagsTakeTheNoiseEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="two-flags-take-the-noise-pure",
        event=TwoFlagsTakeTheNoiseEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class TwoFlagsTakeTheNoise:
    scale: float
    sharp: bool = False
    smooth: bool = False

    def event(self, at):
        return TwoFlagsTakeTheNoiseEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        scale = self.scale / 3.0 if self.sharp != self.smooth and self.sharp else self.scale
        return dpkit.exactly_rounded(value, scale=scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0,))
    return [
        dpkit.MechanismFactory(
            name="two-flags-take-the-noise",
            doc="Laplace noise.",
            make=TwoFlagsTakeTheNoise,
            parameters=(
                scale,
                dpkit.Parameter(name="sharp", kind="boolean", doc="Sharp.", default=False),
                dpkit.Parameter(name="smooth", kind="boolean", doc="Smooth.", default=False),
            ),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
