"""What an analyst might guess of a population, for measuring what guesses are worth: read off its rows, and rounded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpkit_irls.fit import Array
from dpkit_irls.rows.dummies import widened


def guesses(algorithm: Any, block: Array) -> dict[str, dict[str, Any]]:
    """What somebody might know of such rows: deviations and middles to one digit, shares of levels to two places."""
    found: dict[str, dict[str, Any]] = {"deviations": {}, "middles": {}, "shares": {}}
    x, y = np.column_stack([widened(block[:, :-1], algorithm.levels), np.ones(len(block))]), block[:, -1]
    around = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    for place, column in enumerate(algorithm.columns):
        levels, codes = len(algorithm.setting.levels(column)), block[:, place]
        if levels:
            shares = np.maximum(np.round(np.bincount(codes.astype(np.int64), minlength=levels) / len(codes), 2), 0.003)
            found["shares"][column] = tuple((shares / np.sum(shares)).tolist())
        elif set(np.unique(codes)) <= {0.0, 1.0} and column != algorithm.columns[-1]:
            found["middles"][column] = _one_digit(float(np.mean(codes)))
        else:
            found["deviations"][column] = _one_digit(float(np.std(codes if column != algorithm.columns[-1] else around)))
            found["middles"][column] = _one_digit(float(np.mean(codes)))
    return found


def _one_digit(value: float) -> float:
    return round(value, -math.floor(math.log10(abs(value)))) if value else 0.0
