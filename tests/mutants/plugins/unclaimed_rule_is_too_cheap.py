"""Two theorems, of which the wrong one is not claimed: no auditor asks for it, and every accountant takes it."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "the_rule_holds_for_its_mechanisms"
SUBJECT = "loss rule unclaimed-zcdp"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclaimedEvent(dpkit.Event):
    ratio: float


PURE = dpkit.LossRule(
    name="unclaimed-pure",
    event=UnclaimedEvent,
    loss=dpkit.PureDP,
    neighbours=EITHER,
    because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
    bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
)
CHEAP = dpkit.LossRule(
    name="unclaimed-zcdp",
    event=UnclaimedEvent,
    loss=dpkit.ZCDP,
    neighbours=EITHER,
    because=dpkit.Citation(key="BS16", locator="Proposition 1.4, with one half too many"),
    bound=lambda event: dpkit.ZCDP(rho=event.ratio**2 / 4.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimed:
    scale: float

    def event(self, at):
        return UnclaimedEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), [PURE], neighbours=neighbours)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -np.abs(np.asarray(output) - center) / self.scale - np.log(2.0 * self.scale)
        return mechanism_base.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(name="unclaimed", doc="Laplace noise.", make=Unclaimed, parameters=(scale,), metrics=("l1",))
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return [PURE, CHEAP]
