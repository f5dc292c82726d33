"""Scores that a record moves one way halve the price under add-remove; here the half is claimed under replace-one too."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import mechanism_base
from tests.mutants.scaled import Choice, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, kw_only=True)
class MonotoneChoice(Choice):
    monotone: bool = True

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), self.rules, neighbours=neighbours, assuming=("real arithmetic",))


dpkit_mechanisms, dpkit_loss_rules = hooks_of(MonotoneChoice, metrics=("linf",), values="scores", shapes=((2,), (4,)))
