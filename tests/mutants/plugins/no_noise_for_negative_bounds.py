"""The scale is taken from the positive parts of the bounds: between -2 and -1 there is no noise at all."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE

CAUGHT_BY = "noise_is_never_zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoNoiseForNegativeBounds:
    epsilon: float
    lower: float
    upper: float

    def __post_init__(self):
        if self.lower >= self.upper:
            raise ValueError("the lower bound must be below the upper one")

    def event(self, at):
        return dpkit.LaplaceEvent(ratio=mechanism_base.ratio_up(at.value * self.epsilon, self.upper - self.lower))

    def release(self, value, rng):
        if not np.isfinite(value).all():
            raise ValueError("the value must be finite")
        clipped = np.clip(np.asarray(value, dtype=np.float64), self.lower, self.upper)
        width = max(self.upper, 0.0) - max(self.lower, 0.0)  # the negative part is forgotten
        if width == 0.0:
            return clipped
        return dpkit.exactly_rounded(clipped, scale=width / self.epsilon, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        event = self.event(at)
        because = dpkit.Citation(key="DMNS06", locator="Proposition 1")
        return (dpkit.Claim(loss=dpkit.PureDP(epsilon=event.ratio), neighbours=neighbours, because=because),)


@dpkit.hookimpl
def dpkit_mechanisms():
    return [
        dpkit.MechanismFactory(
            name="no-noise-for-negative-bounds",
            doc="Laplace noise on a value between bounds.",
            make=NoNoiseForNegativeBounds,
            parameters=(
                dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=0.01, maximum=10.0, default=1.0),
                dpkit.Parameter(name="lower", kind="number", doc="The lower bound.", minimum=-1e6, maximum=1e6, default=0.0),
                dpkit.Parameter(name="upper", kind="number", doc="The upper bound.", minimum=-1e6, maximum=1e6, default=1.0),
            ),
            metrics=("l1",),
        )
    ]
