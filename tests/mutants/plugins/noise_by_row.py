"""A matrix gets one draw a row."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseByRowEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="noise-by-row-pure",
        event=NoiseByRowEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class NoiseByRow:
    scale: float

    def event(self, at):
        return NoiseByRowEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        array = releasing.repeated(value, n)
        if array.ndim < 3:
            return dpkit.exactly_rounded(array, scale=self.scale, law=LAPLACE, rng=rng)
        if not np.isfinite(array).all():
            raise dpkit.InvalidValueError(field="value", found="not finite", allowed="finite", where="release")
        noise = dpkit.exactly_rounded(np.zeros(array.shape[:-1]), scale=self.scale, law=LAPLACE, rng=rng)
        return array + np.asarray(noise)[..., None]

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(name="noise-by-row", doc="Laplace noise.", make=NoiseByRow, parameters=(scale,), metrics=("l1",))
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
