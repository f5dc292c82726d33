"""The price is that of a distance of one, whatever the distance."""

from dataclasses import dataclass

import dpkit
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

CAUGHT_BY = "price_grows_with_distance"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceWithoutDistanceEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="price-without-distance-pure",
        event=PriceWithoutDistanceEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceWithoutDistance:
    scale: float

    def event(self, at):
        return PriceWithoutDistanceEvent(ratio=1.0 / self.scale if at.value else 0.0)

    def release(self, value, rng):
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
            name="price-without-distance",
            doc="Laplace noise.",
            make=PriceWithoutDistance,
            parameters=(scale,),
            metrics=("l1",),
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES
