"""The value is rounded to an eighth of the scale before the noise, and the price forgets how far rounding can move it."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsTheValueFirstEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="rounds-the-value-first-pure",
        event=RoundsTheValueFirstEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsTheValueFirst:
    scale: float

    def event(self, at):
        return RoundsTheValueFirstEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        step = self.scale / 8.0
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all() or np.max(np.abs(array), initial=0.0) > 1e15 * self.scale:
            raise ValueError("the values must be finite")
        return dpkit.exactly_rounded(np.rint(array / step) * step, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="rounds-the-value-first",
            doc="Laplace noise.",
            make=RoundsTheValueFirst,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
