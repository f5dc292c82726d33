"""A certified interval whose lower end is the upper bound: it lies above the exact epsilon."""

from dataclasses import dataclass

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant

CAUGHT_BY = "the_interval_holds_the_truth"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalAboveTheTruth(ZCDPAccountant):
    @property
    def name(self):
        return "interval-above-the-truth"

    def interval(self, state, *, delta):
        epsilon = self.epsilon(state, delta=delta)
        return epsilon, epsilon


@dpkit.hookimpl
def dpkit_accountants():
    return [IntervalAboveTheTruth()]
