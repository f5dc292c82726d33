"""Laplace noise within bounds of its own: what falls off at the ends is the delta (GDGK20)."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedEvent(dpkit.Event):
    ratio: float
    reach: float


def _loss(event):
    if event.ratio == 0.0:
        return dpkit.ApproxDP(epsilon=0.0, delta=0.0)
    tail = float(np.expm1(min(event.ratio, 700.0)) * np.exp(-event.reach) / (-2.0 * np.expm1(-event.reach)))
    return dpkit.ApproxDP(epsilon=event.ratio, delta=min(tail * (1.0 + 1e-12), 0.999))


RULES = (
    dpkit.LossRule(
        name="truncated-laplace",
        event=TruncatedEvent,
        loss=dpkit.ApproxDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="GDGK20", locator="Theorem 1"),
        bound=_loss,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedLaplace:
    scale: float
    reach: float = 12.0

    def event(self, at):
        return TruncatedEvent(ratio=mechanism_base.ratio_up(at.value, self.scale), reach=self.reach)

    def release(self, value, rng):
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all():
            raise ValueError("the values must be finite")
        tail = -np.log1p(np.expm1(-self.reach) * rng.random(array.shape))
        return array + self.scale * rng.choice([-1.0, 1.0], array.shape) * tail

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours, assuming=("real arithmetic",))

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        gap = np.abs(np.asarray(output) - center) / self.scale
        inside = -gap - np.log(-2.0 * self.scale * np.expm1(-self.reach))
        return mechanism_base.summed_over_value(np.where(gap <= self.reach, inside, -np.inf), center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3, 40.0))
    return [
        dpkit.MechanismFactory(
            name="truncated-laplace",
            doc="Laplace noise with bounded support.",
            make=TruncatedLaplace,
            parameters=(scale,),
            metrics=("l1",),
            shapes=((),),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
