"""The sum of a column, with an error that holds whatever the bounds are and however many rows there are.

Where nobody can move the number of rows (replace-one with a row as the unit, and no policy that drops), values are added up
from the middle of their bounds, and the middle is put back as often as there are rows: the noise and the error of cutting are
then as small as the bounds are narrow. Elsewhere a row that comes or goes moves the sum by its whole value.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import dpkit
from dpkit.authoring import UNIT_ROUNDOFF, AnyAlgorithm, dataclass
from dpkit_stats import sums
from dpkit_stats.columns import count_is_free, number_range
from dpkit_stats.counting import count_query
from dpkit_stats.grouping import released
from dpkit_stats.noise_errors import NoiseErrors
from dpkit_stats.results import Total
from dpkit_stats.scaling import Array, Interval

MOST_ROWS = 2**40
"""How many rows an error allows for where their number is private: cutting them all moves a sum by 2**-10 of one value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """`unit` times what is released, and the centre once for each row.

    `counted`: the number of rows is not declared but free, and comes out beside the sum. Then `released` holds both.
    """

    query: dpkit.Query
    bounds: Interval
    centre: float = 0.0
    size: int | None = None
    counted: bool = False
    fine: float = sums.FINE

    @property
    def unit(self) -> float:
        """What the released number is a multiple of."""
        return sums.sum_unit(self.bounds, centre=self.centre)

    def answer(self, released: Array, errors: NoiseErrors, confidence: float) -> Total:
        """Worked out exactly, and rounded once."""
        total, *count = np.asarray(released, dtype=np.float64).ravel().tolist()
        rows = max(round(count[0]), 0) if self.counted else self.size
        exact = Fraction(self.unit) * Fraction(total) + Fraction(self.centre) * (rows or 0)
        estimate = float(exact)
        rounding = UNIT_ROUNDOFF * (abs(estimate) + self.unit * abs(total))
        error = self._error(errors, confidence, rows) + rounding
        lower, upper = estimate - error, estimate + error
        return Total(estimate=estimate, lower=lower, upper=upper, error=error, confidence=confidence)

    def error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """With this number of rows, where they are given: no sum of them is larger than that many times the largest value."""
        known = rows if self.size is None else self.size
        most = MOST_ROWS if known is None else known
        return self._error(errors, confidence, most) + 4.0 * UNIT_ROUNDOFF * most * self.bounds.largest

    def _error(self, errors: NoiseErrors, confidence: float, rows: int | None) -> float:
        """That of the noise, and that of cutting each value to the grid."""
        cut = (MOST_ROWS if rows is None else rows) * (self.fine / 2.0 + UNIT_ROUNDOFF)
        return self.unit * (errors.one(confidence) + cut)


def total(setting: dpkit.Setting, *, column: str, mechanism: dpkit.Choice, by: dpkit.Groups | None = None) -> AnyAlgorithm:
    """The sum of a column, over the rows that have a value."""
    bounds = number_range(setting, column, where="sum")
    if by is not None:  # on the coarser grid that whole blocks add up on
        fine = sums.FINE_IN_BLOCKS
        statistic = Sum(query=sums.sum_query(column, bounds, fine=fine), bounds=bounds, fine=fine)
        return released(setting, statistic, mechanism, by)
    if not count_is_free(setting, (column,)):
        return released(setting, Sum(query=sums.sum_query(column, bounds), bounds=bounds), mechanism, None)
    counted = setting.size is None
    query = sums.sum_query(column, bounds, centred=True)
    statistic = Sum(query=query, bounds=bounds, centre=bounds.centre, size=setting.size, counted=counted)
    return released(setting, statistic, mechanism, None, beside=count_query((column,)) if counted else None)
