"""The delta of an approximate loss is left behind when it is lifted."""

from dataclasses import dataclass, replace
from fractions import Fraction

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant

CAUGHT_BY = "deltas_add_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltasDropped(ZCDPAccountant):
    @property
    def name(self):
        return "deltas-dropped"

    def lift(self, loss):
        return replace(ZCDPAccountant.lift(self, loss), log_slack=Fraction(0))


@dpkit.hookimpl
def dpkit_accountants():
    return [DeltasDropped()]
