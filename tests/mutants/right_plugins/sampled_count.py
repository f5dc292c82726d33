"""How many of a Poisson sample say yes, with geometric noise: the sampling is secret, and pays (BBG18)."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCountEvent(dpkit.Event):
    ratio: float
    rate: float


def _loss(event):
    grown = float(np.log1p(event.rate * np.expm1(event.ratio)))
    return dpkit.PureDP(epsilon=grown * (1.0 + 1e-14))


RULES = (
    dpkit.LossRule(
        name="sampled-count",
        event=SampledCountEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="BBG18", locator="Theorem 8: a record that says no is one that is absent"),
        bound=_loss,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCount:
    scale: float
    rate: float

    def event(self, at):
        # n records move the count by at most n, and one of them is sampled with probability at most 1 - (1 - rate)^n
        rate = -np.expm1(at.value * np.log1p(-self.rate))
        return SampledCountEvent(ratio=mechanism_base.ratio_up(at.value, self.scale), rate=float(rate))

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        answers = np.asarray(value)
        if answers.dtype.kind not in "iu" or not np.isin(answers, (0, 1)).all():
            raise ValueError("answers are 0 or 1")
        kept = rng.random((n, answers.size)) < self.rate
        stop = -np.expm1(-1.0 / self.scale)
        return kept @ answers.reshape(-1) + rng.geometric(stop, n) - rng.geometric(stop, n)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours, assuming=("real arithmetic",))


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=0.1, maximum=1e4, examples=(1.0, 0.5))
    rate = dpkit.Parameter(name="rate", kind="number", doc="The rate.", minimum=0.001, maximum=0.9, examples=(0.3, 0.1))
    return [
        dpkit.MechanismFactory(
            name="sampled-count",
            doc="A noisy count of a sample.",
            make=SampledCount,
            parameters=(scale, rate),
            metrics=("records",),
            values="categories",
            shapes=((1,), (3,)),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
