"""Its events declare that a smaller scale is cheaper: a plan would cover releases with less noise than it counted."""

from dataclasses import dataclass
from typing import ClassVar

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER
from tests.mutants.scaled import Scaled, hooks_of, laplace_log_density

CAUGHT_BY = "the_order_of_its_events_holds"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsideDownEvent(dpkit.Event):
    cheaper_below: ClassVar[tuple[str, ...]] = ("scale",)

    moved: float
    scale: float


RULE = dpkit.LossRule(
    name="upside-down-pure",
    event=UpsideDownEvent,
    loss=dpkit.PureDP,
    neighbours=EITHER,
    because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
    bound=lambda event: dpkit.PureDP(epsilon=mechanism_base.ratio_up(event.moved, event.scale)),
)


class UpsideDown(Scaled):
    rules = (RULE,)
    log_density = laplace_log_density

    def event(self, at):
        return UpsideDownEvent(moved=at.value, scale=self.scale)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(UpsideDown)
