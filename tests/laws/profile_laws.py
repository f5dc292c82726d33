"""The laws of exact privacy profiles: what any function that claims to be a delta(epsilon) of two distributions obeys."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

Profile = Callable[[float], float]


def profile_is_convex_and_decreasing(profile: Profile, *, largest: float, points: int = 60, tolerance: float = 1e-12) -> None:
    """delta is a supremum of P(S) - e^epsilon Q(S), lines in e^epsilon: it is convex in e^epsilon, falls, and is at most 1."""
    epsilons = np.linspace(0.0, largest, points)
    odds = np.exp(epsilons)
    values = np.array([profile(float(epsilon)) for epsilon in epsilons])
    assert np.all((values >= 0.0) & (values <= 1.0)), "a profile is a probability"
    assert np.all(np.diff(values) <= tolerance * values[:-1]), "a profile falls"
    slopes = np.diff(values) / np.diff(odds)
    assert np.all(np.diff(slopes) >= -tolerance * (np.abs(slopes[:-1]) + values[1:-1])), "a profile is convex in e^epsilon"


def profile_falls_no_faster_than_the_odds(profile: Profile, *, largest: float, points: int = 60) -> None:
    """The slope in e^epsilon is -Q(S), a probability: delta never falls faster than e^epsilon grows."""
    epsilons = np.linspace(0.0, largest, points)
    values = [profile(float(epsilon)) for epsilon in epsilons]
    for (near, far), (high, low) in zip(pairwise(epsilons), pairwise(values), strict=True):
        assert high - low <= (math.exp(far) - math.exp(near)) * (1.0 + 1e-12), "the slope is a probability"
