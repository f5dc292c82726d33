"""Scores of a class among several: (e_y - p) / c, a vector of norm at most 1, for probabilities p by predictors of the classes.

c is the largest |e_j - p| over the classes j, so the score depends on the row's answer through e_y alone, and its mean given
the features is 0 at the truth. Exponentials are looked up in a table; each operation is exact or correctly rounded and acts on
one row, so the bits of a row's score do not depend on where it is read.
"""

from __future__ import annotations

import math
from dataclasses import field
from functools import cache

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.rows.fixed_point import LARGEST_STEP, STEP, Array, fixed_point

_LAST = 40.0
_PER = 256.0


@cache
def _decay() -> Array:
    """exp(-t) at t = 0, 1/256, ..., 40, and its differences; 0 at the end."""
    values = np.exp(-np.arange(_LAST * _PER + 1.0) / _PER)
    values[-1] = 0.0
    found: Array = np.array([values[:-1], np.diff(values)])
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassScores:
    """At a position of z, a row a class, cut to 20 bits."""

    direction: Array = field(repr=False)
    scale: float

    @classmethod
    def at(cls, position: Array) -> ClassScores:
        """Of a released position, a row a class."""
        direction, scale = fixed_point(position)
        return cls(direction=direction * STEP, scale=scale)

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.direction.shape[0])

    def __call__(self, prepared: Array) -> tuple[Array, Array]:
        """In whole steps, rows along the last axis, and c; the score of a row whose target is no class is 0."""
        shares = self.probabilities(prepared)
        found, total, least = np.negative(shares), np.zeros(len(prepared)), np.ones(len(prepared))
        answers = prepared[:, -1]
        for place in range(self.classes):
            found[place] += answers == place
            total += shares[place] * shares[place]
            np.minimum(least, shares[place], out=least)
        largest = np.sqrt(np.maximum(total + 1.0 - 2.0 * least, 0.5))
        length = np.zeros(len(prepared))
        for each in found:
            length += each * each
        known = (answers >= 0.0) & (answers < self.classes) & (answers == np.floor(answers))
        factor = np.where(known, LARGEST_STEP / np.maximum(largest, np.sqrt(length)), 0.0)
        found *= factor
        return np.trunc(found, out=found), largest

    def probabilities(self, prepared: Array) -> Array:
        """Of the classes, rows along the last axis."""
        found = self.direction @ prepared.T[:-2]  # exact, in any order
        found *= prepared[:, -2]
        found *= self.scale
        return softmax(found)


def softmax(predictors: Array) -> Array:
    """Probabilities of classes by the table, rows along the last axis; what is no number counts as far below the others."""
    decay, last = _decay(), np.nextafter(_LAST * _PER, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.nan_to_num(predictors, nan=-1e300, posinf=1e300, neginf=-1e300)
        top = found[0].copy()
        for each in found[1:]:
            np.maximum(top, each, out=top)
        np.subtract(top, found, out=found)
        found *= _PER
    np.clip(found, 0.0, last, out=found)
    cell = found.astype(np.int64)
    found -= cell
    found *= decay[1][cell]
    found += decay[0][cell]
    total = np.zeros(found.shape[1:])
    for each in found:
        total += each
    found /= total
    return np.asarray(found)


def slope_of_classes(classes: int) -> float:
    """By how much the mean score falls as predictors grow, along any contrast, where all classes are as likely."""
    return 1.0 / (classes * math.sqrt(1.0 - 1.0 / classes))
