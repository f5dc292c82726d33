"""Few quantiles by exponential mechanisms: each is chosen among places of the range, by how many rows lie below them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

import dpkit
from dpkit.authoring import dataclass, finite_number
from dpkit_stats.counting import norms
from dpkit_stats.noise_errors import NoiseErrors, each_of, laplace_combination
from dpkit_stats.one_release import CONFIDENCE, IN_RANK
from dpkit_stats.results import Quantiles
from dpkit_stats.scaling import Array, Interval

BECAUSE = dpkit.Citation(key="dpkit", locator="docs/proofs/quantiles.md")
_PLACES, _STEPS, _MOST_STEPS = 2**16, 16, 2**7
"""In how many places a quantile can be, about, and how many of these may lie within a cell."""
_ENTRIES = 2**18
"""How many counts a table of groups may hold, about."""
_FINEST, _COARSEST = 12, 8
_UNEVEN = 0.6
"""How many roots of the scale gaps at random between rows add to the error of a rank: about one deviation of what they do."""
_CLOSE = 0.25
"""The part of the misses of intervals that is allowed where rows lie close together: the rest is for gaps and shared values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeCells:
    """RangeCells of equal width that cover the range of a column; of a column of few whole numbers, one cell a number."""

    bounds: Interval
    count: int
    whole: bool = False

    @property
    def width(self) -> float:
        """Of one cell."""
        return 1.0 if self.whole else 2.0 * self.bounds.half / self.count

    @property
    def steps(self) -> int:
        """In how many places within a cell a quantile can be: of few whole numbers, many rows may share one."""
        return min(max(_PLACES // self.count, _STEPS), _MOST_STEPS) if self.whole else _STEPS

    def of(self, values: Array) -> npt.NDArray[np.int64]:
        """The cell of each value. Elementwise, so a row's cell is its own."""
        if self.whole:
            known = np.where(np.isnan(values), self.bounds.lower, values)
            place = np.rint(np.clip(known, self.bounds.lower, self.bounds.upper) - self.bounds.lower)
        else:
            place = np.floor((self.bounds.unit(values) + 1.0) / 2.0 * self.count)
        return np.clip(place, 0, self.count - 1).astype(np.int64)

    def value(self, cells: float) -> float:
        """The value that lies this number of cells from the left, within the bounds."""
        if self.whole:
            return float(np.clip(self.bounds.lower + math.ceil(cells - 1.0), self.bounds.lower, self.bounds.upper))
        return self.bounds.value(2.0 * cells / self.count - 1.0)


def cells_of(setting: dpkit.Setting, column: str, bounds: Interval, depth: int | None, groups: int) -> RangeCells:
    """As fine as `depth` says, or as a table of that number of groups allows; few whole numbers have a cell each."""
    finest = max(_COARSEST, min(_FINEST, int(math.log2(_ENTRIES / groups)))) if depth is None else depth
    schema = getattr(setting, "schema", None)
    whole = schema is not None and getattr(schema.select((column,))[0], "whole", False)
    numbers = bounds.upper - bounds.lower + 1.0
    if whole and numbers <= 2**finest:
        return RangeCells(bounds=bounds, count=int(numbers), whole=True)
    return RangeCells(bounds=bounds, count=2**finest)


def cells_query(column: str, cells: RangeCells) -> dpkit.Query:
    """How many rows lie in each cell. A row is in one."""

    def rows(block: Array) -> Array:
        found = np.zeros((block.shape[0], cells.count))
        found[np.arange(block.shape[0]), cells.of(block[:, 0])] = 1.0
        return found

    def block_sum(block: Array) -> Array:
        return np.bincount(cells.of(block[:, 0]), minlength=cells.count).astype(np.float64)

    return dpkit.Query(
        name="ranks",
        columns=(column,),
        rows=rows,
        block_sum=block_sum,
        shape=(cells.count,),
        grid=1.0,
        bound=1.0,
        sensitivity=norms(one=(1.0, 1.0), replaced=(2.0, 2.0) if cells.count > 1 else (0.0, 0.0)),
        because=BECAUSE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceNoise:
    """The exponential mechanisms of one query, up to their scale. `moved` is how far a neighbour moves the counts, in L1.

    At a noise multiplier m it costs as much zCDP as Gaussian noise of m times its sensitivity: 1 / (2 m^2).
    """

    probabilities: tuple[float, ...]
    steps: int
    moved: float
    groups: int

    def at(self, multiplier: float) -> dpkit.ExponentialQuantiles:
        """The mechanism at this multiplier; intervals of all groups and probabilities hold at once."""
        wanted = finite_number(multiplier, field="noise", where="quantiles", minimum=0.0, strict=True)
        reach, squares = _reach(self.probabilities, self.groups)
        scale = max(0.5 * wanted * self.moved * math.sqrt(squares), 2.0**-20)
        return dpkit.ExponentialQuantiles(scale=scale, probabilities=self.probabilities, reach=reach, steps=self.steps)


@lru_cache(maxsize=256)
def _reach(probabilities: tuple[float, ...], groups: int) -> tuple[tuple[float, ...], float]:
    """How many scales of rows intervals go to either side; and the sum of the squares of the weights of all levels."""
    unit = dpkit.ExponentialQuantiles(scale=1.0, probabilities=probabilities, reach=(0.0,) * len(probabilities))
    miss = (1.0 - each_of(groups * len(probabilities), CONFIDENCE)) * _CLOSE
    reach = tuple(interval_reach(math.hypot(*own), unit.end_scale, miss) for own in unit.rank_errors())
    return reach, float(sum(weight**2 for weight in unit.schedule.weights))


def interval_reach(own: float, end: float, miss: float) -> float:
    """How many rows an interval must go to either side, so that a quantile is outside with this probability, and no more.

    The rank of the estimate is off by Laplace noise of scale `own` (several noises count as one of their variance). An end
    stays short of so many rows with a probability that falls by the scale `end`: so both together are at most a sum of two
    exponential laws, on the side to which the rank is off (docs/proofs/quantiles.md).
    """
    own = own if own != end else own * (1.0 + 1e-9)  # where the formula has a limit only

    def missed(reach: float) -> float:
        return (own * math.exp(-reach / own) - end * math.exp(-reach / end)) / (own - end)

    low, high = 0.0, 1.0
    while missed(high) > miss:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if missed(middle) > miss else (low, middle)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenQuantiles:
    """Quantiles as they were chosen, in the units of the column, in the order in which they were asked for.

    `rows` is how many were declared, if that was: where fewer lie beyond a quantile than its interval reaches, the interval
    goes to the end of the range.
    """

    query: dpkit.Query
    cells: RangeCells
    probabilities: tuple[float, ...]
    rows: int | None = None
    error_in: ClassVar[str] = IN_RANK

    @property
    def increasing(self) -> tuple[float, ...]:
        """The probabilities in the order in which they are released."""
        return tuple(sorted(self.probabilities))

    @property
    def released_shape(self) -> tuple[int, ...]:
        """What comes out of one group."""
        return (len(self.probabilities), 3)

    def noise(self, setting: dpkit.Setting, query: dpkit.Query) -> ChoiceNoise:
        """That of the query, which is this statistic's own or that of all groups."""
        (moved,) = [distance.value for distance in setting.distances(query) if distance.metric == "l1"]
        groups = query.shape[0] if len(query.shape) == 2 else 1
        return ChoiceNoise(probabilities=self.increasing, steps=self.cells.steps, moved=moved, groups=groups)

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Quantiles:
        """Places as values; intervals go to the edges of cells, within which nobody knows where rows are."""
        steps, most = self.cells.steps, self.cells.steps * self.cells.count
        chosen, lower, upper = (np.clip(np.asarray(released, dtype=np.float64)[:, side], 0, most) for side in range(3))
        chosen = np.maximum.accumulate(chosen)
        for place in range(1, len(chosen)):  # an end halfway to the next quantile may lie further away
            if 2.0 * lower[place] <= chosen[place] + chosen[place - 1] + 1.0:
                lower[place] = lower[place - 1]
        for place in range(len(chosen) - 2, -1, -1):
            if 2.0 * upper[place] >= chosen[place] + chosen[place + 1] - 1.0:
                upper[place] = upper[place + 1]
        noise = errors.noise
        assert isinstance(noise, dpkit.ExponentialQuantiles)
        for place, one in enumerate(self.increasing):
            rows = math.inf if self.rows is None else self.rows
            aimed_at = noise.aimed_at(place, self.cells.count)
            lower[place] = 0 if rows * one < aimed_at else lower[place]
            upper[place] = most if rows * (1.0 - one) < aimed_at else upper[place]
        order = [self.increasing.index(one) for one in self.probabilities]
        low, high = np.floor(np.minimum(lower, chosen) / steps), np.ceil(np.maximum(upper, chosen) / steps)
        if self.cells.whole:
            low = low + 1.0  # the number whose cell begins there
        return Quantiles(
            probabilities=self.probabilities,
            estimates=tuple(self.cells.value(float(chosen[place] / steps)) for place in order),
            lower=tuple(self.cells.value(float(low[place])) for place in order),
            upper=tuple(self.cells.value(float(high[place])) for place in order),
            rank_error=self.error(errors, confidence, None),
            confidence=confidence,
            resolution=self.cells.width,
        )

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """In rank, in rows: of all probabilities at once, where rows lie at random, so that gaps between them are uneven."""
        noise = errors.noise
        assert isinstance(noise, dpkit.ExponentialQuantiles)
        each = each_of(len(self.probabilities), confidence)
        return max(
            laplace_combination(sizes, 1, each) + _UNEVEN * math.sqrt(math.hypot(*sizes)) for sizes in noise.rank_errors()
        )
