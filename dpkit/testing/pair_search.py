"""The search for neighbours where a mechanism is steepest: values between which its outputs move far more than the value."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dpkit.privacy.distances import Distance
from dpkit.testing.cases import Array, MechanismCase, Subject

STEPS = 240
"""Values that are tried, each a distance from the last: some eight scales of noise at the price of a near step."""
DRAWS = 24
KEPT = 3


def steepest_pairs(case: MechanismCase, subject: Subject, at: Distance) -> list[tuple[Array, Array]]:
    """Neighbours at this distance whose outputs differ most when they are given the same random bits.

    With equal bits, honest additive noise moves as its value does. Where the value is rounded, clipped or transformed before
    the noise, some steps move it much further; which, is found by walking. What is found proves nothing: it is then audited.
    """
    if case.factory.values != "reals" or not at.value or at.metric not in ("l1", "l2", "linf"):
        return []
    shape = min(case.factory.shapes, key=lambda form: int(np.prod(form)))
    walk = [_stepped(shape, (index - STEPS // 4 + 0.37) * at.value) for index in range(STEPS)]
    means = []
    for value in walk:
        try:
            outputs = np.asarray(subject.mechanism.release_many(value, DRAWS, case.rng(51)), dtype=np.float64)
        except ValueError:  # a value that this mechanism does not take
            outputs = np.full((DRAWS, 1), np.nan)
        means.append(np.mean(outputs.reshape(DRAWS, -1), axis=0))
    moves = [float(np.max(np.abs(two - one), initial=0.0)) for one, two in pairwise(means)]
    ranked = np.argsort(-np.nan_to_num(np.array(moves), nan=0.0))[:KEPT]
    return [(walk[index], walk[index + 1]) for index in ranked.tolist()]


def _stepped(shape: tuple[int, ...], size: float) -> Array:
    value = np.zeros(shape)
    value[(-1,) * len(shape)] = size
    return value
