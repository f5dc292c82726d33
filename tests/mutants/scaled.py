"""The base of wrong mechanisms: Laplace noise of one scale with a rule of its own. A mutant overrides one method."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

SCALE = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="scaled-pure",
        event=ScaledEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Scaled:
    scale: float

    def event(self, at):
        return ScaledEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)


def hooks_of(kind):
    """The two hooks of a plugin that adds this mechanism."""

    @dpkit.hookimpl
    def dpkit_mechanisms():
        return [
            dpkit.MechanismFactory(name="scaled-noise", doc="Laplace noise.", make=kind, parameters=(SCALE,), metrics=("l1",))
        ]

    @dpkit.hookimpl
    def dpkit_loss_rules():
        return RULES

    return dpkit_mechanisms, dpkit_loss_rules
