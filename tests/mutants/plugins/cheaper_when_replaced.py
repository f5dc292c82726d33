"""Under replace-one every loss is halved, by a misread theorem; `lift`, which knows no relation, stays as it was."""

from dataclasses import dataclass

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant

CAUGHT_BY = "never_below_gaussian_truth"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheaperWhenReplaced(ZCDPAccountant):
    @property
    def name(self):
        return "cheaper-when-replaced"

    def lift_under(self, loss, neighbours):
        if neighbours is dpkit.Neighbours.REPLACE_ONE:
            return self.lift(dpkit.ZCDP(rho=self.converted(loss).rho / 4.0))
        return self.lift(loss)


@dpkit.hookimpl
def dpkit_accountants():
    return [CheaperWhenReplaced()]
