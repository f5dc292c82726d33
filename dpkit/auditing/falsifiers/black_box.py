"""The black box: nothing is known but samples. A prequential e-process over tails of fixed and of learned columns."""

from __future__ import annotations

from dpkit.auditing.betting.column_scores import ColumnScores, columns_for
from dpkit.auditing.betting.processes import BettingProcess, Prequential
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import Rounder
from dpkit.numerics.special import Array


class BlackBox(BettingProcess):
    """Ville's inequality on 1 + stake (1[X in S] - e^epsilon 1[Y in S] - delta), S and the stake chosen from the past only.

    It sees what tails of its columns can tell apart, given samples; it cannot see events decided by floating-point rounding,
    nor what happens at other pairs of datasets.
    """

    name = "black box"

    def __init__(self, subject: ClaimAtPair) -> None:
        super().__init__(subject)
        self.rounder = Rounder()

    def open(self, outputs: Array) -> Prequential:
        """All columns that suit the outputs."""
        columns = columns_for(outputs.shape[1:], self._subject.pair, outputs, self._subject.points)
        return Prequential(ColumnScores(columns), self._subject.points)
