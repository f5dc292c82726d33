"""An accountant that remembers what it has charged for and charges for it once."""

from dataclasses import dataclass, field

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant

CAUGHT_BY = "an_accountant_remembers_nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetsWhatItRead(ZCDPAccountant):
    seen: set = field(default_factory=set, compare=False)

    @property
    def name(self):
        return "forgets-what-it-read"

    def lift(self, loss):
        if loss in self.seen:
            return self.zero()
        self.seen.add(loss)
        return ZCDPAccountant.lift(self, loss)


@dpkit.hookimpl
def dpkit_accountants():
    return [ForgetsWhatItRead()]
