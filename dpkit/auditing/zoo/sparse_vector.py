"""The sparse vector technique in the six versions of Lyu, Su and Li (LSL17, Figure 1): 1 and 2 are right, 3 to 6 are not.

Outputs: 1 above, 0 below, -1 after the end; version 3 gives the noisy answer itself instead of 1. Epsilon is 1 throughout, the
sensitivity and the threshold are 1.
"""

from __future__ import annotations

import numpy as np

from dpkit.auditing.outputs import Sampler
from dpkit.auditing.zoo.entry import Entry
from dpkit.numerics.special import Array
from dpkit.privacy.losses import PureDP

_T = 1.0


def _asked(data: object, noise: float, n: int, rng: np.random.Generator) -> Array:
    answers = np.asarray(data, dtype=np.float64)
    if noise == 0.0:
        return np.broadcast_to(answers, (n, answers.size)).copy()
    return answers + rng.laplace(scale=noise, size=(n, answers.size))


def _ended(above: Array, limit: int) -> Array:
    """-1 after the limit-th answer above."""
    before = np.cumsum(above, axis=1) - above
    return np.where(before >= limit, -1.0, above)


def svt(*, threshold_noise: float, query_noise: float, limit: int | None) -> Sampler:
    """Compare noisy answers with one noisy threshold; stop after `limit` answers above."""

    def sampler(data: object, n: int, rng: np.random.Generator) -> Array:
        threshold = _T + rng.laplace(scale=threshold_noise, size=(n, 1))
        above = (_asked(data, query_noise, n, rng) >= threshold).astype(np.float64)
        return above if limit is None else _ended(above, limit)

    return sampler


def svt_two(*, limit: int) -> Sampler:
    """Version 2 draws a new threshold after each answer above (DR14)."""

    def sampler(data: object, n: int, rng: np.random.Generator) -> Array:
        noisy = _asked(data, 4.0 * limit, n, rng)
        out = np.full(noisy.shape, -1.0)
        threshold = _T + rng.laplace(scale=2.0 * limit, size=n)
        count = np.zeros(n, dtype=np.int64)
        for j in range(noisy.shape[1]):
            running = count < limit
            above = running & (noisy[:, j] >= threshold)
            out[:, j] = np.where(running, above, -1.0)
            count += above
            threshold = np.where(above, _T + rng.laplace(scale=2.0 * limit, size=n), threshold)
        return out

    return sampler


def svt_three(*, limit: int) -> Sampler:
    """Version 3 releases the noisy answer that was compared."""

    def sampler(data: object, n: int, rng: np.random.Generator) -> Array:
        threshold = _T + rng.laplace(scale=2.0, size=(n, 1))
        noisy = _asked(data, 2.0 * limit, n, rng)
        above = (noisy >= threshold).astype(np.float64)
        ended = _ended(above, limit)
        return np.where(ended == 1.0, noisy, np.where(ended == 0.0, -1000.0, -2000.0))

    return sampler


_ONE = PureDP(epsilon=1.0)
_OPPOSITE = (np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5))
_LATE = (np.array([0.0] * 9 + [2.0]), np.array([1.0] * 10))

SPARSE_VECTOR: tuple[Entry, ...] = (
    Entry(
        name="sparse vector 1",
        sampler=svt(threshold_noise=2.0, query_noise=4.0, limit=1),
        claim=_ONE,
        pair=_OPPOSITE,
        truth="right",
        about="LSL17's own",
    ),
    Entry(name="sparse vector 2", sampler=svt_two(limit=1), claim=_ONE, pair=_OPPOSITE, truth="right", about="DR14"),
    Entry(
        name="sparse vector 3",
        sampler=svt_three(limit=1),
        claim=_ONE,
        pair=_LATE,
        truth="broken",
        about="gives the noisy answer that was compared",
    ),
    Entry(
        name="sparse vector 4",
        sampler=svt(threshold_noise=4.0, query_noise=4.0 / 3.0, limit=1),
        claim=_ONE,
        pair=_LATE,
        truth="broken",
        about="the answers' noise does not count the limit (Lee and Clifton): (1+6c)/4 epsilon",
    ),
    Entry(
        name="sparse vector 5",
        sampler=svt(threshold_noise=2.0, query_noise=0.0, limit=None),
        claim=_ONE,
        pair=_OPPOSITE,
        truth="broken",
        about="no noise on the answers (Stoddard et al.)",
    ),
    Entry(
        name="sparse vector 6",
        sampler=svt(threshold_noise=2.0, query_noise=2.0, limit=None),
        claim=_ONE,
        pair=_OPPOSITE,
        truth="broken",
        about="no limit on answers above (Chen et al.)",
    ),
)
