"""Quantiles of counted rows by exponential mechanisms, one after the other, each with an interval around it; sampled exactly.

The middle one is chosen first; those to its left then among the rows on its left, and so on (KSS22): rows of one level are
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
from dpkit.numerics.noise.exact_choice import exponential_choices
from dpkit.numerics.noise.noise_inputs import checked_scale, checked_value
from dpkit.numerics.noise.randomness import stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.checks import finite_number, whole_number
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.events import Event, Repeat
from dpkit.privacy.losses import PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

IntArray = npt.NDArray[np.int64]

BECAUSE = Citation(key="dpkit", locator="docs/proofs/quantiles.md")
_PARTS = 2**20
"""Shares of the rows of a part are multiples of 1 over this."""
_MOST = 2**42
"""Rows times places within a cell: with so many, all scores fit into 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileNode:
    """A quantile of the order in which they are chosen: its place, those on its left and right that were chosen before (-1 and
    the number of all where there is none), and which share of the rows between these lies below it, in parts of 2**20.
    """

    place: int
    left: int
    right: int
    share: int
    level: int

    @property
    def moved(self) -> Fraction:
        """By how much the loss of the choice varies where one row comes or goes, times the scale of the choice."""
        return Fraction(2 * max(self.share, _PARTS - self.share), _PARTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialQuantiles:
    """The value counts rows in cells of equal width, from left to right; or in several such groups, one a row of the value.

    What comes out, for each probability: where the quantile is, and where an interval around it begins and ends, counted in
    steps of 1/`steps` of a cell from the left. Rows of a cell count as spread evenly over it. The scale is that of a
    median's rank, in rows. `reach` is how many scales of rows an interval goes to either side, for each probability.
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
    def levels(self) -> int:
        """How many choices a row has a part in, at most: of quantiles, and one of the ends of their intervals."""
        return len(self.probabilities).bit_length() + 1

    def event(self, at: Distance | Sequence[Distance]) -> Event:
        """A choice of bounded range for each level."""
        distance = mechanism_base.distance_in(at, metrics=("l1",), where="ExponentialQuantiles")
        return Repeat(event=BoundedRangeEvent(range=mechanism_base.ratio_up(distance, self.scale)), times=self.levels)

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
        epsilon = round_up(self.levels * Fraction(mechanism_base.ratio_up(distance, self.scale)))
        loss = PureDP(epsilon=epsilon)
        return (Claim(loss=loss, neighbours=neighbours, because=BECAUSE, assuming=mechanism_base.ASSUMING),)

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
        found: dict[int, dict[int, float]] = {-1: {}, len(self.probabilities): {}}
        for node in order(self.probabilities):
            share = node.share / _PARTS
            errors = {node.place: float(node.moved) * self.scale}
            for near, part in ((node.left, 1.0 - share), (node.right, share)):
                for place, size in found[near].items():
                    errors[place] = errors.get(place, 0.0) + part * size
            found[node.place] = errors
        return tuple(tuple(found[place].values()) for place in range(len(self.probabilities)))

    @property
    def end_scale(self) -> float:
        """The scale of the error, in rows, of how far the end of an interval is from its quantile."""
        return 2.0 * self.scale

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
                first, scores = step.scores(known, ranks)
                found[draws, step.place[0], step.place[1]] = first + _choices(scores, step.scale, draws.size, source)
        return found

    def _log_density(self, outputs: npt.NDArray[np.float64], ranks: IntArray) -> npt.NDArray[np.float64]:
        possible = np.isfinite(outputs).all(axis=(1, 2)) & (outputs == np.floor(outputs)).all(axis=(1, 2))
        possible &= ((outputs >= 0.0) & (outputs < ranks.size)).all(axis=(1, 2))
        whole = np.where(possible[:, None, None], outputs, 0.0).astype(np.int64)
        total = np.where(possible, 0.0, -math.inf)
        for step in self._steps():
            for known, draws in _alike(whole, step.given, np.flatnonzero(total > -math.inf)):
                if any(known[place] > known[place + 1] for place in range(len(known) - 1)):
                    total[draws] = -math.inf
                    continue
                first, scores = step.scores(known, ranks)
                mine = whole[draws, step.place[0], step.place[1]] - first
                within = (mine >= 0) & (mine < scores.size)
                gaps = (scores - scores.min()) / (step.scale * _PARTS)
                chances = -gaps - math.log(float(np.sum(np.exp(-gaps))))
                total[draws] += np.where(within, chances[np.where(within, mine, 0)], -math.inf)
        return total

    def _steps(self) -> Iterator[_Step]:
        """The choices in their order."""
        count = len(self.probabilities)
        for node in order(self.probabilities):
            known = [place for place in (node.left, node.right) if 0 <= place < count]
            scale = round_up(node.moved * Fraction(self.scale) * self.steps)
            yield _Step(
                place=(node.place, 0),
                given=(np.array(known, dtype=np.int64), np.zeros(len(known), dtype=np.int64)),
                scale=scale,
                scores=partial(_between, node=node, count=count),
            )
        scale = round_up(2 * Fraction(self.scale) * self.steps)
        for place in range(count):
            rows = int(min(self.reach[place] * self.scale * self.steps * _PARTS, 2.0**61))
            near = [other for other in (place - 1, place, place + 1) if 0 <= other < count]
            given = (np.array(near, dtype=np.int64), np.zeros(len(near), dtype=np.int64))
            for side in (1, 2):
                yield _Step(
                    place=(place, side),
                    given=given,
                    scale=scale,
                    scores=partial(_away, rows=rows, is_left=side == 1, place=place, count=count),
                )

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
    """One choice: where it is noted, which earlier choices it depends on, and its scores (the smaller the better)."""

    place: tuple[int, int]
    given: tuple[IntArray, IntArray]
    scale: float
    scores: Callable[[IntArray, IntArray], tuple[int, IntArray]]


def _alike(
    outputs: IntArray, given: tuple[IntArray, IntArray], among: npt.NDArray[np.intp]
) -> Iterator[tuple[IntArray, npt.NDArray[np.intp]]]:
    """The different earlier choices, each with the outputs that have them."""
    if not given[0].size:
        yield np.zeros(0, dtype=np.int64), among
        return
    kinds, which = np.unique(outputs[among][:, given[0], given[1]], axis=0, return_inverse=True)
    sorted_places = np.argsort(which.ravel(), kind="stable")
    starts = np.searchsorted(which.ravel()[sorted_places], np.arange(len(kinds) + 1))
    for kind, known in enumerate(kinds):
        yield known, among[sorted_places[starts[kind] : starts[kind + 1]]]


def order(probabilities: Sequence[float]) -> tuple[QuantileNode, ...]:
    """The middle one first, level after level."""
    count = len(probabilities)
    ends = (0.0, *probabilities, 1.0)
    found, parts = [], [(-1, count, 0)]
    while parts:
        left, right, level = parts.pop(0)
        if right - left < 2:
            continue
        place = (left + right) // 2
        low, mine, high = (Fraction(ends[at + 1]) for at in (left, place, right))
        share = round((mine - low) / (high - low) * _PARTS) if high > low else _PARTS // 2
        found.append(QuantileNode(place=place, left=left, right=right, share=share, level=level))
        parts += [(left, place, level + 1), (place, right, level + 1)]
    return tuple(found)


def _between(known: IntArray, ranks: IntArray, *, node: QuantileNode, count: int) -> tuple[int, IntArray]:
    """How far each place between two that were chosen is from the share of the rows between them."""
    chosen = known.tolist()
    low = chosen.pop(0) if node.left >= 0 else 0
    high = chosen.pop(0) if node.right < count else ranks.size - 1
    mine = ranks[low : high + 1]
    return low, np.abs(_PARTS * (mine - mine[0]) - node.share * (mine[-1] - mine[0]))


def _away(known: IntArray, ranks: IntArray, *, rows: int, is_left: bool, place: int, count: int) -> tuple[int, IntArray]:
    """How far each place, up to halfway to the next quantile, is from being so many rows away."""
    chosen = known.tolist()
    before = chosen.pop(0) if place > 0 else None
    here = chosen.pop(0)
    after = chosen.pop(0) if place < count - 1 else None
    if is_left:
        low = 0 if before is None else (before + here + 1) // 2
        return low, np.abs(_PARTS * (ranks[here] - ranks[low : here + 1]) - rows)
    high = ranks.size - 1 if after is None else (here + after) // 2
    return here, np.abs(_PARTS * (ranks[here : high + 1] - ranks[here]) - rows)


def _choices(scores: IntArray, scale: float, n: int, source: np.random.Generator) -> IntArray:
    """n exact draws with probabilities proportional to exp(-score / (scale * parts))."""
    gaps = scores - scores.min()
    width = Fraction(scale) * _PARTS
    return exponential_choices(gaps / (scale * _PARTS), exact=lambda i: int(gaps[i]) / width, size=n, rng=source)
