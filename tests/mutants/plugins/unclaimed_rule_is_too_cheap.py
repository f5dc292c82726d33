"""Two theorems, of which the wrong one is not claimed: no auditor asks for it, and every accountant takes it."""

import dpkit
from dpkit.privacy.neighbours import EITHER
from tests.mutants.scaled import RULES, Scaled, ScaledEvent, hooks_of, laplace_log_density

CAUGHT_BY = "the_rule_holds_for_its_mechanisms"
SUBJECT = "loss rule unclaimed-zcdp"

CHEAP = dpkit.LossRule(
    name="unclaimed-zcdp",
    event=ScaledEvent,
    loss=dpkit.ZCDP,
    neighbours=EITHER,
    because=dpkit.Citation(key="BS16", locator="Proposition 1.4, with one half too many"),
    bound=lambda event: dpkit.ZCDP(rho=event.ratio**2 / 4.0),
)


class Unclaimed(Scaled):
    log_density = laplace_log_density


dpkit_mechanisms, dpkit_loss_rules = hooks_of(Unclaimed, rules=(*RULES, CHEAP))
