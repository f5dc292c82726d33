"""Warner's answer to a question of yes or no: the truth, or its opposite by a coin."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class CoinResponseEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="coin-response-pure",
        event=CoinResponseEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="War65", locator="the two odds"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoinResponse:
    epsilon: float

    def event(self, at):
        return CoinResponseEvent(ratio=float(np.nextafter(at.value * self.epsilon, np.inf)) if at.value else 0.0)

    def release(self, value, rng):
        truths = np.asarray(value)
        if truths.dtype.kind not in "iu" or not np.isin(truths, (0, 1)).all():
            raise ValueError("answers are 0 or 1")
        lies = rng.random(truths.shape) < 1.0 / (1.0 + np.exp(self.epsilon))
        return np.where(lies, 1 - truths, truths)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours, assuming=("real arithmetic",))

    def log_density(self, output, value):
        truths = np.asarray(value)
        truth = -np.log1p(np.exp(-self.epsilon))
        return mechanism_base.summed_over_value(
            np.where(np.asarray(output) == truths, truth, truth - self.epsilon), truths.ndim
        )


@dpkit.hookimpl
def dpkit_mechanisms():
    epsilon = dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=0.01, maximum=20.0, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="coin-response",
            doc="An answer by a coin.",
            make=CoinResponse,
            parameters=(epsilon,),
            metrics=("records",),
            values="categories",
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
