"""Values beyond a limit are clipped, with a warning that shows them."""

import warnings
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "nothing_is_written_of_the_value"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarnsOfLargeValuesEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="warns-of-large-values-pure",
        event=WarnsOfLargeValuesEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarnsOfLargeValues:
    scale: float

    def event(self, at):
        return WarnsOfLargeValuesEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        limit = 1e4 * self.scale
        if np.any(np.abs(array) > limit):
            warnings.warn(f"clipping {array} to {limit}", stacklevel=2)
        return dpkit.exactly_rounded(
            np.where(np.isnan(array), array, np.clip(array, -limit, limit)), scale=self.scale, law=LAPLACE, rng=rng
        )

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="warns-of-large-values",
            doc="Laplace noise.",
            make=WarnsOfLargeValues,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
