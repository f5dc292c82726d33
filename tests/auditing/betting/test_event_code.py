"""An event that a certificate holds is code: it runs anywhere, says what the columns said, and lets nothing else run."""

import numpy as np
import pytest

from dpkit.auditing.betting.bets import Bet, cuts_of
from dpkit.auditing.betting.column_scores import ColumnScores, columns_for
from dpkit.auditing.betting.columns import Differences, OutputForm
from dpkit.auditing.betting.event_code import EventCode
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.draw_outputs import Rounder
from dpkit.auditing.falsifiers.floating_point import LastBits
from dpkit.errors import SerialisationError

POINT = Point(epsilon=1.0, delta=0.0)


def symmetric(rng, n):
    noise = rng.normal(size=(n, 2, 2))
    return noise + np.swapaxes(noise, 1, 2) + 3.0 * np.eye(2)


MADE = {
    "a number": lambda rng, n: rng.laplace(size=(n, 1)),
    "atoms off the grid": lambda rng, n: np.clip(rng.laplace(size=(n, 1)), -0.1, 1 / 3),
    "whole numbers": lambda rng, n: rng.poisson(2.0, size=(n, 1)).astype(float),
    "numbers, and some that stand apart": lambda rng, n: np.where(rng.random((n, 1)) < 0.2, -1.3e305, rng.laplace(size=(n, 1))),
    "a vector": lambda rng, n: rng.laplace(size=(n, 3)),
    "whole vectors": lambda rng, n: rng.integers(0, 3, size=(n, 2)).astype(float),
    "a table": lambda rng, n: rng.normal(size=(n, 2, 3)),
    "symmetric": symmetric,
}
"""The outputs of a function, n of them."""


@pytest.mark.parametrize("name", MADE)
def test_the_code_of_every_column_says_what_the_column_says(name):
    rng = np.random.default_rng(5)
    first, second = MADE[name](rng, 400), MADE[name](rng, 400) + (1.0 if name != "atoms off the grid" else 0.0)
    shape = first.shape[1:]
    rounder = Rounder()
    one, two = rounder(first), rounder(second)
    whole = bool((first == np.round(first)).all())
    form = OutputForm(shape, 0.0 if whole else rounder.grid)
    pair = (np.zeros(shape), np.full(shape, 0.25)) if name != "a vector" else ("no value", "none")
    columns = [*columns_for(shape, pair, first, (POINT,)), *([Differences(shape)] if len(shape) == 1 and shape[0] > 1 else [])]
    bank = ColumnScores(columns)
    bank.take((one, two), (bank.scores(one), bank.scores(two)))
    fresh = MADE[name](rng, 500)
    scores, before = bank.scores(rounder(fresh)), bank.scores(one)
    for column, label in enumerate(bank.names):
        cuts = cuts_of(before[:, column], before[:, column])
        for upper, cut in [(True, cuts[len(cuts) // 3]), (False, cuts[len(cuts) // 3]), (True, cuts[-1]), (False, cuts[0])]:
            bet = Bet(column=column, upper=upper, cut=float(cut), forward=True, point=POINT, stake=0.1)
            event = bank.event(bet, form)
            said = EventCode(event.code).hits(fresh)
            assert np.count_nonzero(said != bet.hits(scores)) == 0, (label, upper, cut)
            plain = eval(event.code, {"np": np})  # as a stranger runs it, one output at a time
            with np.errstate(over="ignore"):
                alone = [bool(plain(row[0] if shape == (1,) else row)) for row in fresh[:20]]
            assert alone == said[:20].tolist(), label


@pytest.mark.parametrize("name", ["a number", "a vector"])
def test_last_bits_are_events_too(name):
    rng = np.random.default_rng(6)
    outputs = np.round(MADE[name](rng, 300) * 2.0**8) / 2.0**8
    shape = outputs.shape[1:]
    bank = ColumnScores([LastBits((np.zeros(shape), np.full(shape, 0.5)), shape)])
    scores = bank.scores(outputs)
    for column in range(len(bank.names)):
        for upper, cut in [(True, np.median(scores[:, column])), (False, np.median(scores[:, column]))]:
            bet = Bet(column=column, upper=upper, cut=float(cut), forward=True, point=POINT, stake=0.1)
            said = EventCode(bank.event(bet, OutputForm(shape)).code).hits(outputs)
            assert (said == bet.hits(scores)).all(), (bank.names[column], upper, cut)


def test_words_and_code_have_the_same_cut():
    bank = ColumnScores(columns_for((1,), (0.0, 1.0), np.zeros((2, 1)), (POINT,)))
    event = bank.event(Bet(column=0, upper=True, cut=1 / 3, forward=True, point=POINT, stake=0.1), OutputForm((1,), 2.0**-30))
    cut = event.code.rpartition(" ")[2]
    assert f"y >= {cut} " in event.words


@pytest.mark.parametrize(
    "text",
    [
        'lambda y: __import__("os").system("true")',
        "lambda y: y.tofile(1)",
        'lambda y: np.load("x")',
        "lambda y: np.linalg.lapack_lite",
        "lambda y: np.__class__",
        "lambda y: [c for c in y]",
        "lambda y: 9**9**9**9",
        "lambda y: [0] * 999999999999",
        "lambda y: 'text'",
        "lambda y, z=print: z(y)",
        "lambda *y: y",
        "(lambda: 1)()",
        "1 +",
        "y > 0",
        "lambda y: " + "(" * 300 + "y" + ")" * 300,
        "lambda y: y >= " + "1" * 500_000,
    ],
)
def test_nothing_but_arithmetic_of_outputs_is_run(text):
    with pytest.raises(SerialisationError):
        EventCode(text).hits(np.zeros((2, 1)))


@pytest.mark.parametrize("text", ["lambda y: y[..., 5] > 0", "lambda y: 1", "lambda y: log_density(y, d1)", "lambda y, z: y"])
def test_an_event_that_does_not_suit_the_outputs_is_refused(text):
    with pytest.raises(SerialisationError, match="cannot be run"):
        EventCode(text).hits(np.zeros((2, 1)))
