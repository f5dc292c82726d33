"""The error probability of a process is what it says, and processes that peek or forget a factor are caught."""

import math

import numpy as np

from dpkit.auditing.betting.column_scores import ColumnScores, columns_for
from dpkit.auditing.betting.processes import Prequential
from dpkit.auditing.betting.profile import Point

HALF = Point(epsilon=0.5, delta=0.0)
ALPHA = 0.05


def response(bits, n, rng, epsilon=0.5):
    """Randomised response: the claim at its boundary in every sample."""
    return np.where(rng.random((n, 1)) < 1.0 / (1.0 + math.exp(-epsilon)), bits, 1.0 - bits)


def false_alarms(runs, process_class=Prequential, batches=25, size=8):
    """How often a true claim is refuted at level ALPHA."""
    alarms = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        process = process_class(ColumnScores(columns_for((1,), (0.0, 1.0), np.zeros((1, 1)), (HALF,))[:2]), (HALF,))
        for _ in range(batches):
            process.choose()
            path = process.step(response(0.0, size, rng), response(1.0, size, rng))
            if path.max() >= -math.log(ALPHA):
                alarms += 1
                break
    return alarms


def test_false_alarms_keep_to_their_level():
    # 60 runs at 0.05: more than 9 has a probability below 2e-3 (and the seeds are fixed)
    assert false_alarms(60) <= 9


class Peeking(Prequential):
    """Chooses its bets after it has seen the batch."""

    def step(self, first, second):
        scores = self.bank.scores(first), self.bank.scores(second)
        self.bank.take((first, second), scores)
        self._chosen_at = 0
        self.choose()
        return self._portfolio.path(self._log_factors(*scores))


def test_an_e_process_that_peeks_is_caught():
    assert false_alarms(60, Peeking, batches=50, size=4) > 9


def test_bets_are_chosen_anew_where_a_tenth_is_new_and_not_before():
    rng = np.random.default_rng(5)
    process = Prequential(ColumnScores(columns_for((1,), (0.0, 1.0), np.zeros((1, 1)), (HALF,))[:2]), (HALF,))
    process.choose()
    process.step(rng.laplace(size=(400, 1)), 1.0 + rng.laplace(size=(400, 1)))
    process.choose()
    chosen = process._asked
    process.step(rng.laplace(size=(39, 1)), 1.0 + rng.laplace(size=(39, 1)))
    process.choose()
    assert process._asked is chosen
    process.step(rng.laplace(size=(2, 1)), 1.0 + rng.laplace(size=(2, 1)))
    process.choose()
    assert process._asked is not chosen


class Overbetting(Prequential):
    """Forgets e^epsilon: it pays as if the claim were epsilon = 0."""

    def __init__(self, bank, points):
        super().__init__(bank, (Point(epsilon=0.0, delta=0.0),))


def test_a_forgotten_factor_is_caught():
    assert false_alarms(60, Overbetting) > 20
