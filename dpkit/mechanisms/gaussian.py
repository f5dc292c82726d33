"""Gaussian noise: its event and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpkit.core.checks import nonnegative
from dpkit.core.claims import Citation
from dpkit.core.conversions.arrow import finite
from dpkit.core.events import Compose, Event, Repeat, flatten
from dpkit.core.loss_rules import LossRule
from dpkit.core.losses import GDP, ZCDP, MeanCDP, RenyiCurve
from dpkit.core.neighbours import EITHER
from dpkit.core.renyi_curves import LinearCurve
from dpkit.numerics.rounding import exact_sum, round_up, sqrt_up


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise; `ratio` is the L2 sensitivity over the standard deviation sigma."""

    ratio: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", nonnegative(self.ratio, field="ratio", where="GaussianEvent"))


def gaussian_rho(ratio: float) -> float:
    """ratio^2 / 2, rounded up once (BS16, Proposition 1.6)."""
    return finite(round_up(Fraction(ratio) ** 2 / 2), notion="rho")


def merged_gaussian(event: Event) -> GaussianEvent | None:
    """A composition of Gaussian events alone as the one Gaussian that it is (DRS22, Corollary 2); None for anything else."""
    if not isinstance(event, GaussianEvent | Repeat | Compose):
        return None
    counts = flatten(event)
    squares = [(Fraction(e.ratio) ** 2, n) for e, n in counts.items() if isinstance(e, GaussianEvent)]
    if len(squares) != len(counts):
        return None
    return GaussianEvent(ratio=finite(sqrt_up(exact_sum(squares)), notion="ratio"))


RULES: tuple[LossRule, ...] = (
    LossRule(
        name="gaussian-gdp",
        event=GaussianEvent,
        loss=GDP,
        neighbours=EITHER,
        because=Citation(key="DRS22", locator="Theorem 1"),
        bound=lambda event: GDP(mu=event.ratio),
    ),
    LossRule(
        name="gaussian-zcdp",
        event=GaussianEvent,
        loss=ZCDP,
        neighbours=EITHER,
        because=Citation(key="BS16", locator="Proposition 1.6"),
        bound=lambda event: ZCDP(rho=gaussian_rho(event.ratio)),
    ),
    LossRule(
        name="gaussian-mean-cdp",
        event=GaussianEvent,
        loss=MeanCDP,
        neighbours=EITHER,
        because=Citation(key="DR16", locator="Theorem 3.2: the loss is N(ratio^2/2, ratio^2)"),
        bound=lambda event: MeanCDP(mu=gaussian_rho(event.ratio), tau=event.ratio),
    ),
    LossRule(
        name="gaussian-renyi",
        event=GaussianEvent,
        loss=RenyiCurve,
        neighbours=EITHER,
        because=Citation(key="Mir17", locator="Proposition 7"),
        bound=lambda event: LinearCurve(slope=gaussian_rho(event.ratio)),
    ),
)
