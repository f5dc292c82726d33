"""Report noisy max: the index is private (1 and 2), the value is not (3 and 4), as numbered by DP-Sniper and StatDP."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpkit.auditing.outputs import Sampler
from dpkit.auditing.zoo.entry import Entry
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.losses import PureDP


def noisy_max(noise: Literal["laplace", "exponential"], gives: Literal["index", "value"]) -> Sampler:
    """Noise of scale 2/epsilon on every score, epsilon = 1; the index or the value of the largest."""

    def sampler(data: object, n: int, rng: np.random.Generator) -> Array:
        scores = np.asarray(data, dtype=np.float64)
        draw = rng.laplace if noise == "laplace" else rng.exponential
        noisy = scores + draw(scale=2.0, size=(n, scores.size))
        return asfloat(np.argmax(noisy, axis=1) if gives == "index" else np.max(noisy, axis=1))

    return sampler


_ONE = PureDP(epsilon=1.0)
_SWAPPED = (np.array([1.0, 0.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
_LIFTED = (np.zeros(5), np.ones(5))

SELECTION: tuple[Entry, ...] = (
    Entry(
        name="noisy max 1",
        sampler=noisy_max("laplace", "index"),
        claim=_ONE,
        pair=_SWAPPED,
        truth="right",
        about="the index, with Laplace noise",
    ),
    Entry(
        name="noisy max 2",
        sampler=noisy_max("exponential", "index"),
        claim=_ONE,
        pair=_SWAPPED,
        truth="right",
        about="the index, with exponential noise",
    ),
    Entry(
        name="noisy max 3",
        sampler=noisy_max("laplace", "value"),
        claim=_ONE,
        pair=_LIFTED,
        truth="broken",
        about="the value, with Laplace noise",
    ),
    Entry(
        name="noisy max 4",
        sampler=noisy_max("exponential", "value"),
        claim=_ONE,
        pair=_LIFTED,
        truth="broken",
        about="the value, with exponential noise",
    ),
)
