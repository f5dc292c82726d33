"""Gaussian noise, claimed in zCDP and in Gaussian DP."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import GAUSSIAN
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="normal-zcdp",
        event=NormalEvent,
        loss=dpkit.ZCDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="BS16", locator="Proposition 1.6"),
        bound=lambda event: dpkit.ZCDP(rho=float(np.nextafter(event.ratio**2 / 2.0, 1e300)) if event.ratio else 0.0),
    ),
    dpkit.LossRule(
        name="normal-gdp",
        event=NormalEvent,
        loss=dpkit.GDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DRS22", locator="Theorem 1"),
        bound=lambda event: dpkit.GDP(mu=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    scale: float

    def event(self, at):
        return NormalEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=GAUSSIAN, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), RULES, neighbours=neighbours)

    def log_density(self, output, value):
        center = np.asarray(value, dtype=np.float64)
        terms = -(((np.asarray(output) - center) / self.scale) ** 2) / 2.0 - np.log(self.scale * np.sqrt(2.0 * np.pi))
        return mechanism_base.summed_over_value(terms, center.ndim)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3, 40.0))
    return [
        dpkit.MechanismFactory(
            name="normal",
            doc="Gaussian noise.",
            make=Normal,
            parameters=(scale,),
            metrics=("l2",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
