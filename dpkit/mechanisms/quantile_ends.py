"""Where an interval around a quantile may begin or end, and how each such place scores: for many quantiles in one sweep."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpkit.mechanisms.quantile_schedule import PARTS
from dpkit.numerics.noise.exact_choice import choices_by_row
from dpkit.values import dataclass

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_FAR = 512
"""How much likelier an interval without any rows goes to its far end than anywhere else."""
EXCESS = Fraction(3, 8)
"""What a row too many counts in the score of an end, where one too few counts 1."""
END = 1 + EXCESS
"""By how much the loss of an end varies where one row comes or goes, times the scale of its scores."""
OFFSETS = np.array([*range(4), *((4 + quarter) << octave for octave in range(40) for quarter in range(4))], dtype=np.int64)
"""How many cells away the end of an interval may be: four to each doubling, so that gaps hold few, however wide they are."""
_LOGS = np.array([0.0, *(math.log(count) for count in range(1, _FAR * (OFFSETS.size + 1)))])
_ENTRIES = 2**20
"""How many places are looked at in one sweep, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPlaces:
    """One row for each of several quantiles: the places where an end may be, and their scores, the smaller the better, in units
    of `PARTS` rows. A row has `counts` of them, of which the last two are one place.
    """

    places: IntArray
    scores: IntArray
    counts: IntArray
    scale: float

    def drawn(self, rows: npt.NDArray[np.intp], source: np.random.Generator) -> IntArray:
        """An exact draw for each of these rows, with probabilities proportional to exp(-score / (scale * PARTS))."""
        above, width = self._above(), Fraction(self.scale) * PARTS
        found = np.zeros(rows.size, dtype=np.int64)
        sweep = self._sweep()
        gaps = self._gaps(above)
        for start in range(0, rows.size, sweep):
            these = rows[start : start + sweep]
            chosen = choices_by_row(
                gaps, rows=these, counts=self.counts, exact=lambda row, i: int(above[row, i]) / width, rng=source
            )
            found[start : start + sweep] = self.places[these, chosen]
        return found

    def log_chances(self, rows: npt.NDArray[np.intp], outputs: IntArray) -> FloatArray:
        """ln of the probability of each output, given its row."""
        logs, last = -self._gaps(self._above()), self.counts - 1
        every = np.arange(len(logs))
        logs[every, last - 1] = np.logaddexp(logs[every, last - 1], logs[every, last])
        logs[every, last] = -math.inf
        logs -= np.log(np.sum(np.exp(logs), axis=1))[:, None]
        found = np.empty(rows.size)
        sweep = self._sweep()
        for start in range(0, rows.size, sweep):
            these = rows[start : start + sweep]
            is_here = (self.places[these] == outputs[start : start + sweep, None]) & (logs[these] > -math.inf)
            chances = logs[these, np.argmax(is_here, axis=1)]
            found[start : start + sweep] = np.where(is_here.any(axis=1), chances, -math.inf)
        return found

    def _sweep(self) -> int:
        return max(1, _ENTRIES // int(self.places.shape[1]))

    def _above(self) -> IntArray:
        """How far each score is above the smallest of its row."""
        least: IntArray = np.min(np.where(self._are_places(), self.scores, np.iinfo(np.int64).max), axis=1, keepdims=True)
        return self.scores - least

    def _gaps(self, above: IntArray) -> FloatArray:
        return np.where(self._are_places(), above / (self.scale * PARTS), math.inf)

    def _are_places(self) -> npt.NDArray[np.bool_]:
        return np.arange(self.places.shape[1]) < self.counts[:, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndChoice:
    """The choice of one end: of the interval of which quantile, and on which side; which quantiles it depends on; and how many
    rows, in `PARTS` and `steps`, it is away at least.
    """

    place: int
    side: int
    given: tuple[int, ...]
    rows: int
    steps: int
    scale: float

    def among(self, known: IntArray, ranks: IntArray) -> EndPlaces:
        """For each row of earlier choices: edges of cells further and further away, up to halfway to the next quantile; how far
        each is from where these rows, and as many more as make up for the number of edges, are reached. Too few count in full,
        too many for less.

        The last edge stands there once more, with a score that grows with all rows up to it: where there are too few, an
        interval goes as far as it can.
        """
        first, last, steps = known[:, 0], known[:, -1], self.steps
        offsets = np.minimum(OFFSETS, ranks.size) * steps
        is_alone = known.shape[1] == 1
        if self.side == 1:
            here, end = last, np.zeros_like(last) if is_alone else (first + last + 1) // 2
            far = np.maximum((np.maximum(here - 1, end) // steps * steps)[:, None] - offsets, end[:, None])
        else:
            here, end = first, np.full_like(first, ranks.size - 1) if is_alone else (first + last) // 2
            far = np.minimum((here // steps * steps + steps)[:, None] + offsets, end[:, None])
        edges = np.argmax(far == end[:, None], axis=1) + 1
        far = far[:, : int(edges.max()) + 1]
        needed = self.rows + self._made_up(_LOGS[edges], 2.0**60)
        reached = PARTS * np.abs(ranks[far] - ranks[here][:, None])
        before = np.concatenate([np.zeros((len(far), 1), dtype=np.int64), reached[:, :-1]], axis=1)
        scores = np.maximum(np.maximum(_excess(before - needed[:, None]), needed[:, None] - reached), 0)
        every = np.arange(len(far))
        scores[every, edges] = _excess(reached[every, edges - 1]) + needed - self._made_up(_LOGS[_FAR * edges], 2.0**61)
        return EndPlaces(places=far, scores=scores, counts=edges + 1, scale=self.scale)

    def _made_up(self, logs: FloatArray, most: float) -> IntArray:
        return np.minimum(logs * self.scale * PARTS, most).astype(np.int64)


def _excess(rows: IntArray) -> IntArray:
    """Their part of the score: one row more is `PARTS` more here, a multiple of 8, and so always the same more there."""
    return rows // EXCESS.denominator * EXCESS.numerator
