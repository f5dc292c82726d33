"""A bet may use the past alone: scores that are kept were computed before their outputs were learned from."""

import numpy as np

from dpkit.auditing.betting.column_scores import ColumnScores, columns_for
from dpkit.auditing.betting.columns import Columns


class Count(Columns):
    """Scores an output by how many outputs were seen before it."""

    learns = True
    names = ("seen",)

    def __init__(self):
        self.seen = 0

    def scores(self, outputs):
        return np.full((len(outputs), 1), float(self.seen))

    def expression(self, column, form):
        return f"0 * {form.entry(0)} + {self.seen}"

    def learn(self, first, second):
        self.seen = len(first)


def test_scores_are_as_the_past_made_them():
    found = ColumnScores([Count()])
    for _ in range(3):
        outputs = (np.zeros((5, 1)), np.zeros((5, 1)))
        found.take(outputs, (found.scores(outputs[0]), found.scores(outputs[1])))
    assert found.pasts()[0][0].tolist() == [0.0] * 5 + [5.0] * 5 + [10.0] * 5
    frozen = found.frozen()
    assert frozen.scores(np.zeros((1, 1))) == [[15.0]]
    assert not frozen.pasts()[0][0].size


def test_matrices_get_a_spectrum_and_numbers_no_summaries():
    kinds = {type(one).__name__ for one in columns_for((2, 2), (np.zeros((2, 2)), np.eye(2)), np.zeros((3, 2, 2)), ())}
    assert {"Spectrum", "Summaries"} <= kinds
    assert not {"Spectrum", "Summaries"} & {type(one).__name__ for one in columns_for((1,), (0.0, 1.0), np.zeros((3, 1)), ())}
