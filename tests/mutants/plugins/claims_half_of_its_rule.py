"""The claim was written by hand, and is half of what the rule says."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_are_what_the_rules_give"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsHalfOfItsRuleEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="claims-half-of-its-rule-pure",
        event=ClaimsHalfOfItsRuleEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsHalfOfItsRule:
    scale: float

    def event(self, at):
        return ClaimsHalfOfItsRuleEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return (
            dpkit.Claim(
                loss=dpkit.PureDP(epsilon=self.event(at).ratio / 2.0),
                neighbours=neighbours,
                because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
            ),
        )


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="claims-half-of-its-rule",
            doc="Laplace noise.",
            make=ClaimsHalfOfItsRule,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
