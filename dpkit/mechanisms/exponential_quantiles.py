"""Quantiles of counted rows by exponential mechanisms, level after level, each with an interval around it; sampled exactly.

One or two are chosen first; those to their left then among the rows on the left, and so on (KSS22): rows of one level are
apart, so a level costs one choice. At last both ends of every interval are chosen, some rows away (docs/proofs/quantiles.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.exponential import BoundedRangeEvent
from dpkit.mechanisms.quantile_ends import END, OFFSETS, EndChoice
from dpkit.mechanisms.quantile_schedule import PARTS, QuantileBatch, QuantileSchedule, quantile_schedule
from dpkit.numerics.noise.exact_choice import exponential_choices
from dpkit.numerics.noise.noise_inputs import checked_scale, checked_value
from dpkit.numerics.noise.randomness import stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.checks import finite_number, whole_number
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.events import Compose, Event
from dpkit.privacy.losses import PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

IntArray = npt.NDArray[np.int64]

BECAUSE = Citation(key="dpkit", locator="docs/proofs/quantiles.md")
_MOST = 2**42
"""The most rows times places within a cell with which all scores fit into 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialQuantiles:
    """The value counts rows in cells of equal width, from left to right; or in several such groups, one a row of the value.

    What comes out, for each probability: where the quantile is, and where an interval around it begins and ends, counted in
    steps of 1/`steps` of a cell from the left. Rows of a cell count as spread evenly over it. At an L1 distance D all
    choices together lose at most D / scale. `reach` is how many scales of rows an interval goes to either side, for each
    probability, and some more for every doubling of the cells that it might have to pass; where fewer are left there, it goes
    to the end.
    """

    scale: float
    probabilities: tuple[float, ...]
    reach: tuple[float, ...]
    steps: int = 1

    def __post_init__(self) -> None:
        where = "ExponentialQuantiles"
        object.__setattr__(self, "scale", checked_scale(self.scale, where=where))
        for name, least in (("probabilities", 0.0), ("reach", 0.0)):
            listed = tuple(finite_number(one, field=name, where=where, minimum=least) for one in getattr(self, name))
            object.__setattr__(self, name, listed)
        asked = self.probabilities
        if not asked or max(asked) > 1.0 or any(not low < high for low, high in pairwise(asked)):
            allowed = "increasing numbers from 0 to 1, at least one"
            raise InvalidValueError(field="probabilities", found=asked, allowed=allowed, where=where)
        if len(self.reach) != len(asked):
            raise InvalidValueError(field="reach", found=self.reach, allowed="one number for each probability", where=where)
        whole_number(self.steps, field="steps", where=where, minimum=1)

    @property
    def schedule(self) -> QuantileSchedule:
        """Which are chosen when, and the part of the whole that each level has."""
        return quantile_schedule(self.probabilities)

    def event(self, at: Distance | Sequence[Distance]) -> Event:
        """A choice of bounded range for each level, and one for the ends of intervals."""
        distance = mechanism_base.distance_in(at, metrics=("l1",), where="ExponentialQuantiles")
        ranges = [mechanism_base.ratio_up(distance, self.scale, factor=weight) for weight in self.schedule.weights]
        return Compose(events=tuple(BoundedRangeEvent(range=width) for width in ranges))

    def release(self, value: npt.ArrayLike, rng: np.random.Generator | None = None) -> IntArray:
        """An array (groups, if there are any; probabilities; 3) of whole numbers: estimate, lower and upper end."""
        return self._drawn(value, None, rng)

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> IntArray:
        """n independent releases."""
        mechanism_base.repeated(0, n)
        return self._drawn(value, n, rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """The sum of the ranges, as a pure loss; accountants know better ones of the event."""
        distance = mechanism_base.distance_in(at, metrics=("l1",), where="ExponentialQuantiles")
        loss = PureDP(epsilon=mechanism_base.ratio_up(distance, self.scale))
        return (Claim(loss=loss, neighbours=neighbours, because=BECAUSE, assuming=mechanism_base.ASSUMING),)

    def neighbouring_values(self, at: Distance) -> tuple[tuple[IntArray, IntArray], ...]:
        """Rows that come, rows that move from one end to the other, and rows where there was none."""
        rows = int(at.value)
        ends, spread = np.array([3, 0, 0, 3]), np.full(4, 3)
        first, last = np.array([1, 0, 0, 0]), np.array([0, 0, 0, 1])
        return (
            (spread, spread + rows * last),
            (ends + rows // 2 * first, ends + rows // 2 * last),
            (0 * spread, rows * first),
        )

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln of the probability of each output."""
        groups, is_one = self._groups(value)
        found = np.asarray(output, dtype=np.float64)
        shape = (1, len(self.probabilities), 3) if is_one else (len(groups), len(self.probabilities), 3)
        outputs = found.reshape(-1, *shape)
        total = np.zeros(len(outputs))
        for place, counts in enumerate(groups):
            total += self._log_density(outputs[:, place], self._ranks(counts))
        return total.reshape(found.shape[: found.ndim - (2 if is_one else 3)])

    def rank_errors(self) -> tuple[tuple[float, ...], ...]:
        """For each probability the scales of Laplace noises whose sum is the error of its rank, in rows, where rows lie close:
        that of its own choice, and a part of the errors of those it was chosen between (docs/proofs/quantiles.md).
        """
        return tuple(tuple(self.scale * size for size in sizes) for sizes in self.schedule.scales(len(self.probabilities)))

    @property
    def end_scale(self) -> float:
        """The scale of the error, in rows, of how far the end of an interval is from its quantile."""
        return float(END * Fraction(self.scale) / self.schedule.weights[-1])

    def aimed_at(self, place: int, cells: int) -> float:
        """How many rows, at most, an end of the interval of this probability aims at, of a value with this number of cells."""
        edges = int(np.searchsorted(OFFSETS, cells)) + 1
        return self.reach[place] * self.scale + math.log(edges) * self.end_scale

    def _drawn(self, value: npt.ArrayLike, n: int | None, rng: np.random.Generator | None) -> IntArray:
        groups, is_one = self._groups(value)
        source = mechanism_base.generator(rng)
        with np.errstate(all="ignore"):  # nothing may be signalled that depends on a value
            chosen = [self._group(self._ranks(counts), 1 if n is None else n, source) for counts in groups]
        found = chosen[0] if is_one else np.stack(chosen, axis=1)
        return stamped(found if n is not None else found[0], source, value=value)

    def _group(self, ranks: IntArray, n: int, source: np.random.Generator) -> IntArray:
        """n draws for one group. Draws with equal earlier choices are drawn together."""
        found = np.zeros((n, len(self.probabilities), 3), dtype=np.int64)
        for step in self._steps():
            for known, draws in _alike(found, step.given, np.arange(n)):
                places, scores = step.scores(known, ranks)
                found[draws[:, None], step.chosen, 0] = places[_ordered_choices(scores, step.scale, draws.size, source)]
        for end in self._ends():
            known, rows, draws = _sorted_alike(found, end.given, np.arange(n))
            found[draws, end.place, end.side] = end.among(known, ranks).drawn(rows, source)
        return found

    def _log_density(self, outputs: npt.NDArray[np.float64], ranks: IntArray) -> npt.NDArray[np.float64]:
        possible = np.isfinite(outputs).all(axis=(1, 2)) & (outputs == np.floor(outputs)).all(axis=(1, 2))
        possible &= ((outputs >= 0.0) & (outputs < ranks.size)).all(axis=(1, 2))
        whole = np.where(possible[:, None, None], outputs, 0.0).astype(np.int64)
        total = np.where(possible, 0.0, -math.inf)
        for step in self._steps():
            for known, draws in _alike(whole, step.given, np.flatnonzero(total > -math.inf)):
                if (np.diff(known) < 0).any():
                    total[draws] = -math.inf
                    continue
                places, scores = step.scores(known, ranks)
                total[draws] += _log_chances(whole[draws][:, step.chosen, 0], places, scores, step.scale)
        for end in self._ends():
            among = np.flatnonzero(total > -math.inf)
            if among.size:
                known, rows, draws = _sorted_alike(whole, end.given, among)
                total[draws] += end.among(known, ranks).log_chances(rows, whole[draws, end.place, end.side])
        return total

    def _steps(self) -> Iterator[_Step]:
        """The choices of quantiles, in their order."""
        count, schedule = len(self.probabilities), self.schedule
        for batch in schedule.batches:
            yield _Step(
                chosen=batch.places,
                given=tuple(place for place in (batch.left, batch.right) if 0 <= place < count),
                scale=round_up(batch.moved * Fraction(self.scale) * self.steps / schedule.weights[batch.level]),
                scores=partial(_between, batch=batch, count=count),
            )

    def _ends(self) -> Iterator[EndChoice]:
        """Those of the ends of intervals, which come after all quantiles."""
        count = len(self.probabilities)
        scale = round_up(END * Fraction(self.scale) * self.steps / self.schedule.weights[-1])
        for place in range(count):
            rows = int(min(self.reach[place] * self.scale * self.steps * PARTS, 2.0**61))
            for side, near in ((1, (place - 1, place)), (2, (place, place + 1))):
                given = tuple(other for other in near if 0 <= other < count)
                yield EndChoice(place=place, side=side, given=given, rows=rows, steps=self.steps, scale=scale)

    def _groups(self, value: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], bool]:
        where = "ExponentialQuantiles.release"
        counts = checked_value(value, saturate=None, where=where)
        if counts.ndim not in (1, 2) or not counts.size or (counts != np.floor(counts)).any():
            allowed = "a vector of whole numbers, or a matrix with one row a group"
            raise InvalidValueError(field="value", found=f"shape {counts.shape}", allowed=allowed, where=where)
        return counts.reshape(-1, counts.shape[-1]), counts.ndim == 1

    def _ranks(self, counts: npt.NDArray[np.float64]) -> IntArray:
        """How many rows lie below each place, times `steps`. Counts are clamped, which moves no neighbours further apart."""
        most = max(1, _MOST // (self.steps * counts.size))
        whole = np.clip(counts, 0.0, float(most)).astype(np.int64)
        return np.concatenate([[0], np.cumsum(np.repeat(whole, self.steps))])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One choice: of the quantiles of which probabilities; which others it depends on; and, given these, the places and the
    scores of each probability, the smaller the better.
    """

    chosen: tuple[int, ...]
    given: tuple[int, ...]
    scale: float
    scores: Callable[[IntArray, IntArray], tuple[IntArray, tuple[IntArray, ...]]]


def _alike(
    outputs: IntArray, given: tuple[int, ...], among: npt.NDArray[np.intp]
) -> Iterator[tuple[IntArray, npt.NDArray[np.intp]]]:
    """The different earlier choices, each with the outputs that have them."""
    known, rows, order = _sorted_alike(outputs, given, among)
    starts = np.flatnonzero(np.diff(rows, prepend=-1)).tolist()
    for row, (start, stop) in enumerate(pairwise([*starts, order.size])):
        yield known[row], order[start:stop]


def _sorted_alike(
    outputs: IntArray, given: tuple[int, ...], among: npt.NDArray[np.intp]
) -> tuple[IntArray, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The different earlier choices, one a row; these outputs in the order of their choices; and the row of each."""
    earlier = outputs[among][:, given, 0]
    if among.size <= 1 or not given:
        return earlier[:1], np.zeros(among.size, dtype=np.intp), among
    keys = earlier[:, 0]
    for column in earlier.T[1:]:  # of one or two choices, each the place of a cell: numbers sort faster than rows
        keys = keys * (column.max() + 1) + column
    order = np.argsort(keys, kind="stable")
    is_first = np.diff(keys[order], prepend=-1) != 0
    return earlier[order[is_first]], np.cumsum(is_first) - 1, among[order]


def _between(known: IntArray, ranks: IntArray, *, batch: QuantileBatch, count: int) -> tuple[IntArray, tuple[IntArray, ...]]:
    """How far each place between two that were chosen is from the shares of the rows between them.

    A place stands for the rows up to halfway to the next one on either side, and is no distance from a share among these:
    where many rows share a value, a gap beside it would look as near else.
    """
    chosen = known.tolist()
    low = chosen.pop(0) if batch.left >= 0 else 0
    high = chosen.pop(0) if batch.right < count else ranks.size - 1
    below = ranks[low : high + 1] - ranks[low]
    halves = PARTS // 2 * (below[:-1] + below[1:])
    left, right = np.append(0, halves), np.append(halves, PARTS * below[-1])
    wanted = [share * below[-1] for share in batch.shares]
    return np.arange(low, high + 1), tuple(np.maximum(np.maximum(left - one, one - right), 0) for one in wanted)


def _ordered_choices(scores: tuple[IntArray, ...], scale: float, n: int, source: np.random.Generator) -> IntArray:
    """n exact draws of an index for each of the scores, none below the one before it: again where they are out of order."""
    found = np.zeros((n, len(scores)), dtype=np.int64)
    left = np.arange(n)
    while left.size:
        found[left] = np.stack([_choices(each, scale, left.size, source) for each in scores], axis=1)
        left = left[(np.diff(found[left], axis=1) < 0).any(axis=1)]
    return found


def _choices(scores: IntArray, scale: float, n: int, source: np.random.Generator) -> IntArray:
    """n exact draws with probabilities proportional to exp(-score / (scale * parts))."""
    gaps = scores - scores.min()
    width = Fraction(scale) * PARTS
    return exponential_choices(gaps / (scale * PARTS), exact=lambda i: int(gaps[i]) / width, size=n, rng=source)


def _log_chances(outputs: IntArray, places: IntArray, scores: tuple[IntArray, ...], scale: float) -> npt.NDArray[np.float64]:
    """ln of the probabilities of these outputs: one a row, in order, or of probability zero."""
    logs = [-((each - each.min()) / (scale * PARTS)) for each in scores]
    beyond = np.ones(places.size)
    for log in reversed(logs):
        beyond = np.cumsum((np.exp(log) * beyond)[::-1])[::-1]  # what is at or beyond a place, of this one and those after it
    mine = np.minimum(np.searchsorted(places, outputs), places.size - 1)
    possible = (places[mine] == outputs).all(axis=1) & (np.diff(outputs, axis=1) >= 0).all(axis=1)
    chances = sum(log[mine[:, place]] for place, log in enumerate(logs)) - math.log(float(beyond[0]))
    return np.where(possible, chances, -math.inf)
