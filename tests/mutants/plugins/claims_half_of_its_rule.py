"""The claim was written by hand, and is half of what the rule says."""

import dpkit
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_are_what_the_rules_give"


class ClaimsHalfOfItsRule(Scaled):
    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return (
            dpkit.Claim(
                loss=dpkit.PureDP(epsilon=self.event(at).ratio / 2.0),
                neighbours=neighbours,
                because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
            ),
        )


dpkit_mechanisms, dpkit_loss_rules = hooks_of(ClaimsHalfOfItsRule)
