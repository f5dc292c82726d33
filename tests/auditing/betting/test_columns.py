"""A column's name is an expression in the output: evaluated, it gives the column's score."""

import numpy as np
import pytest

from dpkit.auditing.betting.columns import Coordinates, Differences, Nearness, OutputForm, Spectrum, Summaries
from dpkit.auditing.betting.event_code import EventCode

RNG = np.random.default_rng(3)
VECTORS = RNG.normal(size=(20, 4))
HALVES = RNG.normal(size=(20, 3, 3))
MATRICES = HALVES + np.swapaxes(HALVES, 1, 2)
PAIR = (np.zeros(4), np.arange(4.0))
SHIFTS = (np.zeros((3, 3)), 0.1 * np.eye(3))


@pytest.mark.parametrize(
    ("columns", "outputs", "pair"),
    [
        (Coordinates((4,)), VECTORS, PAIR),
        (Differences((4,)), VECTORS, PAIR),
        (Summaries(), VECTORS, PAIR),
        (Nearness(PAIR, (4,)), VECTORS, PAIR),
        (Spectrum(SHIFTS, (3, 3)), MATRICES, SHIFTS),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "names") else "",
)
def test_a_score_is_what_its_name_says(columns, outputs, pair):
    scores = columns.scores(outputs)
    assert scores.shape == (len(outputs), len(columns.names))
    for place, name in enumerate(columns.names):
        known = {"np": np, "d1": pair[0], "d2": pair[1], "u": np.eye(3)[0]}
        said = [float(eval(name, known | {"y": output})) for output in outputs]
        assert scores[:, place] == pytest.approx(said, rel=1e-6, abs=1e-6), name


def test_centres_that_are_no_datasets_are_learned_from_the_past():
    columns = Nearness(("one", "two"), (1,))
    columns.learn(np.full((9, 1), -1.0), np.full((9, 1), 1.0))
    near_one, near_two = columns.scores(np.array([[-1.0], [1.0]]))[:, 0]
    assert near_one > 0.0 > near_two


def test_a_cut_beside_the_large_code_of_an_outcome_stays_between_its_numbers():
    """A list of two numbers is a row with a code of 15 digits: the event of a sum must not hold every row."""
    code = 224_817_141_124_308.0
    rows = np.array([[876_218.0, 3.0, code, 0.0, 1.0], [876_218.0, 3.0, code, 2.0, 1.0]])
    columns = Summaries()
    cut = columns.scores(rows)[1, 0]
    _, written = columns.condition(0, upper=True, cut=float(cut), form=OutputForm((5,)))
    assert EventCode(f"lambda y: {written}").hits(rows).tolist() == [False, True]
