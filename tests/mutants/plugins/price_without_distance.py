"""The price is that of a distance of one, whatever the distance."""

from tests.mutants.scaled import Scaled, ScaledEvent, hooks_of

CAUGHT_BY = "price_grows_with_distance"


class PriceWithoutDistance(Scaled):
    def event(self, at):
        return ScaledEvent(ratio=1.0 / self.scale if at.value else 0.0)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(PriceWithoutDistance)
