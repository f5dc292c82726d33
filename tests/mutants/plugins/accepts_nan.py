"""NaN passes through: one bad record is visible with certainty."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "release_refuses_nan_and_infinity"


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptsNanEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="accepts-nan-pure",
        event=AcceptsNanEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptsNan:
    scale: float

    def event(self, at):
        return AcceptsNanEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        noisy = dpkit.exactly_rounded(np.nan_to_num(array), scale=self.scale, law=LAPLACE, rng=rng)
        return np.where(np.isfinite(array), noisy, array)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="accepts-nan",
            doc="Laplace noise.",
            make=AcceptsNan,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
