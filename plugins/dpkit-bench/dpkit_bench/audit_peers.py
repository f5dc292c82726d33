"""Peers of the black box, from their published descriptions: DP-Sniper, and two testers of DP-Auditorium.

Neither is on the package index, so these are our implementations of the published methods and not their authors' programs.
Where a choice was open it was made in favour of the peer: inputs are standardised, special values of the sparse vector are
flagged, and both directions are tried at the full error probability for the samples of one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from dpkit.auditing.betting.lower_bound import epsilon_lower
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.draw_outputs import flat
from dpkit.authoring import Array, asfloat
from dpkit_bench.networks import logit_networks

Run = tuple[Array, Array]
"""The outputs of both sides, one row an output."""


class Peer(ABC):
    """A test with a fixed number of samples."""

    name: str

    @abstractmethod
    def sizes(self, budget: int) -> int:
        """How many outputs of each side to draw where `budget` samples are counted."""

    def suits(self, outputs: Array, point: Point) -> bool:
        """Whether the method is for outputs of this kind, and for such a claim."""
        return True

    @abstractmethod
    def refuted(self, runs: Sequence[Run], point: Point, *, alpha: float, seed: int) -> list[bool]:
        """Which of the runs refute the claim, in either direction. All runs have one size."""


class DPSniper(Peer):
    """Bichsel, Steffen, Bogunovic, Vechev (2021): a logistic regression, its upper tail of probability c, counted afresh.

    A fifth of the budget each: training outputs of both sides, outputs of the neighbour that fix the threshold, and outputs of
    both sides that are counted (Clopper and Pearson at alpha/2 each). c = 0.01 is the published value.
    """

    def __init__(self, c: float = 0.01) -> None:
        self._c = c
        self.name = f"DP-Sniper, c = {c:g}"

    def sizes(self, budget: int) -> int:
        """Three parts of each side, of which one direction uses five in all."""
        return 3 * (budget // 5)

    def refuted(self, runs: Sequence[Run], point: Point, *, alpha: float, seed: int) -> list[bool]:
        """By the lower bound on epsilon at the claimed delta."""
        return [self._one(run, point, alpha) for run in runs]

    def _one(self, run: Run, point: Point, alpha: float) -> bool:
        n = run[0].shape[0] // 3
        if n < 8:
            return False
        weights = logistic(run[0][:n], run[1][:n])
        scores = [_linear(side, weights) for side in run]
        return any(
            self._bound(sign * scores[one], sign * scores[1 - one], n, point.delta, alpha) > point.epsilon
            for one, sign in ((0, 1.0), (1, -1.0))
        )

    def _bound(self, more: Array, fewer: Array, n: int, delta: float, alpha: float) -> float:
        ordered = np.sort(fewer[n : 2 * n])[::-1]
        cut = ordered[min(int(self._c * n), n - 1)]
        # ties at the cut count in part, so that the tail has probability c
        part = (self._c * n - np.count_nonzero(ordered > cut)) / np.count_nonzero(ordered == cut)
        hits = [
            float(np.count_nonzero(side > cut) + part * np.count_nonzero(side == cut))
            for side in (more[2 * n :], fewer[2 * n :])
        ]
        return epsilon_lower((math.floor(hits[0]), math.ceil(hits[1])), n, delta=delta, alpha=alpha)


class HockeyStick(Peer):
    """DP-Auditorium's hockey-stick tester: a network of three layers of 12, trained on one half; Hoeffding on the other.

    Outputs of one side with weight 1/(1 + e^epsilon) against the other side's: a classifier cannot be right more often than
    (e^epsilon + delta)/(1 + e^epsilon). Adam at 0.01 in batches of 100 for 2 epochs, as by default, and at least `steps` steps.
    """

    name = "DP-Auditorium, hockey stick"

    def __init__(self, steps: int = 600) -> None:
        self._steps = steps

    def sizes(self, budget: int) -> int:
        """Half of each side."""
        return budget // 2

    def refuted(self, runs: Sequence[Run], point: Point, *, alpha: float, seed: int) -> list[bool]:
        """Both directions of all runs are trained side by side."""
        turned = [sides for run in runs for sides in (run, run[::-1])]
        half = turned[0][0].shape[0] // 2
        if half < 10:
            return [False] * len(runs)
        training = [self._weighted(one[:half], two[:half], point) for one, two in turned]
        testing = [self._weighted(one[half:], two[half:], point) for one, two in turned]
        inputs, labels = (np.stack([pair[place] for pair in training]) for place in (0, 1))
        steps = max(self._steps, 2 * math.ceil(labels.shape[1] / 100))
        predict = logit_networks(inputs, labels, steps=steps, seed=seed)
        truth = np.stack([pair[1] for pair in testing])
        right = np.mean((predict(np.stack([pair[0] for pair in testing])) > 0.0) == (truth > 0.5), axis=1)
        bound = right - math.sqrt(math.log(1.0 / alpha) / (2.0 * half))
        found = bound * (1.0 + point.ratio) - point.ratio > point.delta
        return [bool(found[2 * i] or found[2 * i + 1]) for i in range(len(runs))]

    @staticmethod
    def _weighted(one: Array, two: Array, point: Point) -> tuple[Array, Array]:
        share = int(one.shape[0] / (1.0 + point.ratio))
        kept = np.concatenate([one[:share], two[share:]])
        return kept, np.concatenate([np.zeros(share), np.ones(two.shape[0] - share)])


class HistogramTester(Peer):
    """DP-Auditorium's histogram tester (after Gilbert and McMillan 2018): the sum of positive excesses, less its error.

    For outputs of one number only. The bins must be given; they are ten between the pooled percentiles 2 and 98, ends open.
    """

    name = "DP-Auditorium, histogram"

    def sizes(self, budget: int) -> int:
        """Half of each side."""
        return budget // 2

    def suits(self, outputs: Array, point: Point) -> bool:
        """One number."""
        return bool(outputs.shape[1] == 1)

    def refuted(self, runs: Sequence[Run], point: Point, *, alpha: float, seed: int) -> list[bool]:
        """By the excess over delta that is left."""
        return [self._one(run, point, alpha) for run in runs]

    @staticmethod
    def _one(run: Run, point: Point, alpha: float) -> bool:
        n = run[0].shape[0]
        low, high = np.percentile(np.concatenate(run), (2.0, 98.0))
        edges = np.linspace(low, high, 9)
        shares = [np.bincount(np.searchsorted(edges, side[:, 0]), minlength=10) / n for side in run]
        ratio = point.ratio
        for p, q in (shares, shares[::-1]):
            error = 2.0 * (np.sqrt(p).sum() + ratio * np.sqrt(q).sum()) / math.sqrt(n)
            error += 6.0 * (1.0 + ratio) * math.sqrt(math.log(4.0 / alpha) / (2.0 * n))
            if float(np.maximum(p - ratio * q, 0.0).sum() - error) >= max(point.delta, 1e-300):
                return True
        return False


def logistic(one: Array, two: Array, *, ridge: float = 1e-3) -> tuple[Array, Array, Array]:
    """Weights (a constant last) by Newton's method on standardised inputs, with their means and spreads; class 1 is `one`."""
    rows = np.concatenate([one, two])
    means, spreads = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-12)
    design = np.concatenate([(rows - means) / spreads, np.ones((rows.shape[0], 1))], axis=1)
    labels = np.concatenate([np.ones(one.shape[0]), np.zeros(two.shape[0])])
    weights = np.zeros(design.shape[1])
    penalty = np.full(weights.size, ridge * rows.shape[0])
    penalty[-1] = 1e-9 * rows.shape[0]
    for _ in range(8):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -30.0, 30.0)))
        slope = design.T @ (labels - chance) - penalty * weights
        bend = (design * (chance * (1.0 - chance))[:, None]).T @ design + np.diag(penalty)
        weights = weights + np.linalg.solve(bend, slope)
    return weights, means, spreads


def _linear(rows: Array, fitted: tuple[Array, Array, Array]) -> Array:
    weights, means, spreads = fitted
    return asfloat(((rows - means) / spreads) @ weights[:-1])


def prepared(outputs: Array, flags: Sequence[float]) -> Array:
    """Outputs as rows, special values replaced by 0 and flagged in columns of their own, as DP-Sniper's authors do by hand."""
    rows = flat(outputs)
    marked = [rows == flag for flag in flags]
    plain = np.where(np.logical_or.reduce(marked), 0.0, rows) if marked else rows
    return np.concatenate([plain, *(mark.astype(np.float64) for mark in marked)], axis=1)
