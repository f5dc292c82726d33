"""A line in the debug log, left over from the first day."""

import logging
from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "nothing_is_written_of_the_value"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsTheValueEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="logs-the-value-pure",
        event=LogsTheValueEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsTheValue:
    scale: float

    def event(self, at):
        return LogsTheValueEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        logging.getLogger(__name__).debug("releasing %s", value)
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="logs-the-value",
            doc="Laplace noise.",
            make=LogsTheValue,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
