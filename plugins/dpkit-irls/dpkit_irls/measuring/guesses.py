"""What an analyst might guess of a population, for measuring what guesses are worth: read off its rows, and rounded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpkit_irls.fit import Array
from dpkit_irls.rows.dummies import widened


def guesses(algorithm: Any, block: Array) -> dict[str, dict[str, Any]]:
    """What somebody might know of such rows: deviations to one digit, middles to that digit's place, shares to two places."""
    found: dict[str, dict[str, Any]] = {"deviations": {}, "middles": {}, "shares": {}}
    x, y = np.column_stack([widened(block[:, :-1], algorithm.levels), np.ones(len(block))]), block[:, -1]
    around = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    for place, column in enumerate(algorithm.columns):
        levels, codes = len(algorithm.setting.levels(column)), block[:, place]
        is_target = column == algorithm.columns[-1]
        if levels:
            shares = np.maximum(np.round(np.bincount(codes.astype(np.int64), minlength=levels) / len(codes), 2), 0.003)
            found["shares"][column] = tuple((shares / np.sum(shares)).tolist())
        elif algorithm.setting.range(column) == (0.0, 1.0) and set(np.unique(codes)) <= {0.0, 1.0} and not is_target:
            share = float(np.mean(codes))
            found["middles"][column] = _rounded(share, share)
        elif varies := float(np.std(around if is_target else codes)):
            found["deviations"][column] = _rounded(varies, varies)
            found["middles"][column] = _rounded(float(np.mean(codes)), varies)
    return found


def _rounded(value: float, size: float) -> float:
    """To the first digit of a size."""
    return round(value, -math.floor(math.log10(size))) if size else 0.0
