"""A plugin of one theorem, wrong by a factor, about an event of dpkit's own: it would make every analysis cheaper."""

import dpkit
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "the_rule_holds_for_its_mechanisms"


@dpkit.hookimpl
def dpkit_loss_rules():
    return [
        dpkit.LossRule(
            name="tighter-gaussian",
            event=dpkit.GaussianEvent,
            loss=dpkit.GDP,
            neighbours=EITHER,
            because=dpkit.Citation(key="DRS19", locator="Theorem 1, with the scale squared away"),
            bound=lambda event: dpkit.GDP(mu=event.ratio * 0.9),
        )
    ]
