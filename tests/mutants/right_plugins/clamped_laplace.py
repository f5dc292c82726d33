"""A value clamped to bounds, which may be asymmetric, and Laplace noise that fits their width."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class ClampedEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="clamped-laplace-pure",
        event=ClampedEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1, after clamping"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClampedLaplace:
    epsilon: float
    lower: float
    upper: float

    def __post_init__(self):
        if not self.upper - self.lower >= 1e-3:
            raise ValueError("the upper bound must be above the lower one")

    @property
    def scale(self):
        return (self.upper - self.lower) / self.epsilon

    def event(self, at):
        return ClampedEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all():
            raise ValueError("the values must be finite")
        return dpkit.exactly_rounded(np.clip(array, self.lower, self.upper), scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def log_density(self, output, value):
        center = np.clip(np.asarray(value, dtype=np.float64), self.lower, self.upper)
        terms = -np.abs(np.asarray(output) - center) / self.scale - np.log(2.0 * self.scale)
        return mechanism_base.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    return [
        dpkit.MechanismFactory(
            name="clamped-laplace",
            doc="Laplace noise on a clamped value.",
            make=ClampedLaplace,
            parameters=(
                dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=0.01, maximum=10.0, examples=(1.0,)),
                dpkit.Parameter(name="lower", kind="number", doc="From.", minimum=-1e6, maximum=1e6, examples=(-2.0, 0.0)),
                dpkit.Parameter(name="upper", kind="number", doc="To.", minimum=-1e6, maximum=1e6, examples=(7.0, 1.0)),
            ),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
