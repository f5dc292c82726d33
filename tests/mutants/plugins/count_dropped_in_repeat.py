"""A hundred releases at the price of one."""

from dataclasses import dataclass

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant

CAUGHT_BY = "repeat_equals_unrolled"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountDroppedInRepeat(ZCDPAccountant):
    @property
    def name(self):
        return "count-dropped-in-repeat"

    def repeat(self, state, times):
        return state if times else self.zero()


@dpkit.hookimpl
def dpkit_accountants():
    return [CountDroppedInRepeat()]
