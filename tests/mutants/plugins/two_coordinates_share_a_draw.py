"""The last coordinate gets the noise of the one before it; only their difference shows it."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCoordinatesShareADrawEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="two-coordinates-share-a-draw-pure",
        event=TwoCoordinatesShareADrawEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class TwoCoordinatesShareADraw:
    scale: float

    def event(self, at):
        return TwoCoordinatesShareADrawEvent(ratio=releasing.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        noise = np.asarray(dpkit.exactly_rounded(np.zeros(np.shape(value)), scale=self.scale, law=LAPLACE, rng=rng)).copy()
        if noise.ndim and noise.shape[-1] > 1:
            noise[..., -1] = noise[..., -2]
        if not np.isfinite(value).all():
            raise dpkit.InvalidValueError(field="value", found="not finite", allowed="finite", where="release")
        return np.asarray(value) + noise

    def release_many(self, value, n, rng):
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return releasing.claims_of(self.event(at), RULES, neighbours=neighbours)


@dpkit.hookimpl
def dpkit_mechanisms():
    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
    return [
        dpkit.MechanismFactory(
            name="two-coordinates-share-a-draw",
            doc="Laplace noise.",
            make=TwoCoordinatesShareADraw,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
