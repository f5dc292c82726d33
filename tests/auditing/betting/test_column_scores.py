"""A bet may use the past alone: scores that are kept were computed before their outputs were learned from."""

import numpy as np

from dpkit.auditing.betting.column_scores import ColumnScores, columns_for
from dpkit.auditing.betting.columns import Columns
from dpkit.auditing.betting.profile import Point


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


def learned(first, second, pair, points):
    found = ColumnScores(columns_for((2,), pair, first, points))
    found.take((first, second), (found.scores(first), found.scores(second)))
    return found


def unmirrored(chosen=None):
    """Columns that call themselves mirrored, and do not change their sign where the sides change places."""
    rng = np.random.default_rng(7)
    one, two = (np.round(place + rng.laplace(size=(300, 2)), 1) for place in ([0.0, 0.0], [1.0, 0.5]))
    pair, points = ((0.0, 0.0), (1.0, 0.5)), (Point(epsilon=0.3, delta=0.0),)
    straight, turned = learned(one, two, pair, points), learned(two, one, pair[::-1], points)
    outputs = np.round(0.5 + rng.laplace(size=(200, 2)), 1)
    same = np.isclose(straight.scores(outputs), -turned.scores(outputs), atol=1e-6).mean(axis=0)
    mirrored = straight.mirrored()[1] if chosen is None else chosen
    assert len(mirrored) >= 7
    return {straight.names[column] for column in mirrored if same[column] < 0.95}


def test_scores_of_mirrored_columns_change_their_sign_where_the_sides_change_places():
    assert not unmirrored()
    assert "y.flat[0]" in unmirrored(range(20))


def test_a_mirrored_past_has_every_output_twice():
    first, second = np.array([[1.0, 3.0], [2.0, 5.0]]), np.array([[0.0, 1.0], [0.5, 2.0]])
    found = ColumnScores(columns_for((2,), ((0.0, 0.0), (1.0, 1.0)), first, ())[:2])
    scores = found.scores(first), found.scores(second)
    found.take((first, second), scores)
    by_column = found.mirrored()[1]
    assert sorted(found.names[column] for column in by_column) == sorted(columns_for((2,), (0.0, 1.0), first, ())[1].names)
    for column, (one, two) in by_column.items():
        assert one.tolist() == [*scores[0][:, column], *-scores[1][:, column]]
        assert two.tolist() == [*scores[1][:, column], *-scores[0][:, column]]
