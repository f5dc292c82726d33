"""The state of `irls`: released values, and what follows from them."""

from __future__ import annotations

from dataclasses import field

from dpkit.authoring import dataclass
from dpkit_irls.bounded.expected_shapes import Expected
from dpkit_irls.bounded.filter import Filter
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.schedule import Schedule, schedule_for
from dpkit_irls.bounded.shapes import Pooled
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array
from dpkit_irls.loss import LinkScore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedState:
    """`needed` is about how many rows it takes, by public facts, and `total` how many there are: public, or released.

    `counted` is what was released of how many rows count, where some have missing cells: their number times its precision,
    and that precision. `spread` is the target's scale, `unseen` whether the noise hides how large targets are, and
    `guessed` whether later counts do not show it either;
    of `unscaled` columns, which have no bounds, no unit was found; `widths` are
    how far the numbers reach, in the columns' units. `levels` are shares of levels by category, known up to `count_noise`
    rows, and `few` the levels whose count the noise hides, as `answers` are answers of the target. `scatter` is that of
    directions; `filter` is there once lengths are known. `link` is the score of a family that has one; rows tell `slope`
    times as much as those where it is steepest, and steps start from the predictor `constant`, which the noise of counts moves
    by `constant_error`.
    """

    noise: float
    needed: float
    frame: Frame
    scatter: Pooled
    stage: int = 0
    total: float = 1.0
    counted: tuple[float, float] = (0.0, 0.0)
    spread: float = 1.0
    tied: bool = False
    widths: tuple[float, ...] = ()
    blurs: tuple[float, ...] = ()
    levels: tuple[Array, ...] = field(default=(), repr=False)
    count_noise: float = 0.0
    few: tuple[tuple[int, ...], ...] = ()
    class_shares: tuple[float, ...] = ()
    answers: tuple[int, ...] = ()
    slope: float = 1.0
    constant: float = 0.0
    constant_error: float = 0.0
    link: LinkScore | None = field(default=None, repr=False)
    expected: Expected | None = field(default=None, repr=False)
    filter: Filter | None = field(default=None, repr=False)
    unseen: bool = False
    guessed: bool = False
    unscaled: tuple[int, ...] = ()
    abundant: bool = False

    @property
    def plenty(self) -> float:
        """How many times the needed rows there are."""
        return min(self.slope * self.total / self.needed, 1e9)

    def schedule(self, iterations: int, tuning: Tuning) -> Schedule:
        """What the steps are for."""
        linked = self.link is not None
        return schedule_for(
            self.plenty,
            iterations,
            tuning,
            linked=linked,
            fresh=self.abundant,
            dispersed=self.link is not None and self.link.nears is not None,
        )
