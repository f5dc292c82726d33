"""The white box: the declared density tells which outputs speak against the claim; the samples say whether they come."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from dpkit.auditing.betting.bets import Bet
from dpkit.auditing.betting.column_scores import ColumnScores
from dpkit.auditing.betting.columns import Columns, OutputForm, literal
from dpkit.auditing.betting.processes import BettingProcess, Prequential
from dpkit.numerics.special import Array

_GRID = 2.0**-26
"""Losses are rounded to this: an atom of the loss must not be torn apart by the last bits of two logarithms."""
_LIMIT = 1e9
_TURNS = 16
"""How often an event of one number may begin and end to be written as intervals."""


class LogRatio(Columns):
    """ln of the ratio of the declared densities."""

    mirrored = True
    names = ("log_density(y, d1) - log_density(y, d2)",)

    def __init__(self, log_density: Callable[[Array, int], Array]) -> None:
        self._log_density = log_density
        self._past: tuple[Array, Array] | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> LogRatio:
        """It learns nothing: a frozen copy is itself."""
        return self

    def scores(self, outputs: Array) -> Array:
        """Infinite ratios become a large number."""
        one, two = self._log_density(outputs, 0), self._log_density(outputs, 1)
        both = np.isneginf(one) & np.isneginf(two)
        with np.errstate(invalid="ignore"):
            ratio = np.where(both, 0.0, one - two)
        return np.clip(np.round(ratio / _GRID) * _GRID, -_LIMIT, _LIMIT)[:, None]

    def learn(self, first: Array, second: Array) -> None:
        """Keep the outputs by which an event of one number is written as intervals."""
        self._past = first, second

    def expression(self, column: int, form: OutputForm) -> str:
        return "log_density(y, d1) - log_density(y, d2)"

    def condition(self, column: int, *, upper: bool, cut: float, form: OutputForm) -> tuple[str, str]:
        """For one number the intervals in which past outputs lay, so that it runs without the density; else by the density."""
        written = super().condition(column, upper=upper, cut=cut, form=form)
        if form.shape != (1,) or self._past is None:
            return written
        seen = np.unique(np.concatenate(self._past)[:, 0])
        scores = self.scores(seen[:, None])[:, 0]
        inside = scores >= cut if upper else scores <= cut
        turns = np.flatnonzero(np.diff(inside)) + 1
        if turns.size > _TURNS:
            return written
        edges = [-np.inf, *(float(0.5 * (seen[turn - 1] + seen[turn])) for turn in turns), np.inf]
        parts = [
            " & ".join(
                ([f"(y >= {literal(low)})"] if low > -np.inf else []) + ([f"(y < {literal(high)})"] if high < np.inf else [])
            )
            or "(y == y)"
            for place, (low, high) in enumerate(pairwise(edges))
            if bool(inside[0]) == (place % 2 == 0)
        ]
        return f"{written[0]}, which is {' | '.join(parts) or 'never'}", " | ".join(f"({part})" for part in parts) or "y != y"


class LikelihoodRatio(BettingProcess):
    """A prequential e-process whose events are tails of the declared privacy loss.

    The density only chooses events: a wrong one costs power, never validity. It sees any violation by the declared law, at
    this pair; a sampler that does not follow its declared law is for the noise law and the black box.
    """

    name = "white box"

    def open(self, outputs: Array) -> Prequential:
        """The privacy loss, with opening bets at the claim's own epsilons."""
        subject = self._subject
        opening = [
            Bet(
                column=0,
                upper=forward,
                cut=(point.epsilon + 1e-6) * (1.0 if forward else -1.0),
                forward=forward,
                point=point,
                stake=share * point.ceiling,
            )
            for point in subject.points
            for forward in (True, False)
            for share in (0.4, 0.9)
        ]
        return Prequential(ColumnScores([LogRatio(subject.log_density)]), subject.points, opening=opening)
