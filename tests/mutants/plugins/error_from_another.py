"""The message is clean, but it is chained to one that shows the value."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "errors_show_no_value"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFromAnotherEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="error-from-another-pure",
        event=ErrorFromAnotherEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class ErrorFromAnother:
    scale: float

    def event(self, at):
        return ErrorFromAnotherEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        try:
            if not np.isfinite(value).all():
                raise ValueError(f"bad: {np.ravel(value)[0]}")
        except ValueError as error:
            raise dpkit.InvalidValueError(field="value", found="a bad one", allowed="finite", where="x") from error
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="error-from-another",
            doc="Laplace noise.",
            make=ErrorFromAnother,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
