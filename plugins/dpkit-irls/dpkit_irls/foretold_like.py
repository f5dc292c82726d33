"""Errors that a plan foretells where public rows stand in for the data: those of fits of rows that are drawn from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpkit import InvalidValueError, Setting
from dpkit_irls.fit import Array
from dpkit_irls.foretold_errors import NEXT_TO_NONE, SmallerSetting, stated_intervals
from dpkit_irls.simulated_run import last_state

if TYPE_CHECKING:
    from dpkit_irls.bounded.bounded_irls import BoundedIRLS

LIKE = ", on data like the stand-in"
"""What is said of such an error."""
DRAWN_ROWS = 20_000
"""The most rows of a fit."""
RUNS = 16
PER_COEFFICIENT = 5
"""Rows that count which a stand-in needs for each coefficient."""


class Drawn:
    """Rows of these columns, drawn from public ones; as many as count of so many."""

    def __init__(self, setting: Setting, columns: tuple[str, ...], rows: Array, coefficients: int, *, where: str) -> None:
        chosen = rows[:, [setting.columns.index(name) for name in columns]]
        self.rows: Array = chosen[~np.isnan(chosen).any(axis=1)]
        self.share = len(self.rows) / max(len(rows), 1)
        needed = PER_COEFFICIENT * coefficients
        if len(self.rows) < needed:
            raise InvalidValueError(
                field="like",
                found=f"{len(self.rows)} rows without a missing cell in {', '.join(columns)}",
                allowed=f"at least {needed} for {coefficients} coefficients",
                where=where,
            )

    def __call__(self, rows: int, rng: np.random.Generator) -> Array:
        """Some of them, with repetitions."""
        return self.rows[rng.integers(len(self.rows), size=max(round(rows * self.share), 1))]


def intervals_like(algorithm: BoundedIRLS, noise: float, confidence: float, rows: Array) -> dict[str, float]:
    """Half-widths of the intervals that fits of rows like these state; empty without a size."""
    columns = tuple(dict.fromkeys((*algorithm.columns, *([algorithm.weight] if algorithm.weight else []))))
    setting, coefficients = algorithm.setting, len(algorithm.names)
    if setting.size is None:
        return {}
    draw = Drawn(setting, columns, rows, coefficients, where=algorithm.family.name)
    whole = replace(algorithm, setting=SmallerSetting(whole=setting, rows=len(draw.rows)))
    exact = whole.told(last_state(whole, noise * NEXT_TO_NONE, draw.rows, np.random.default_rng([2028, 0])))
    truth = {name: value for name, value in exact.coefficients.items() if name not in exact.hidden}
    return stated_intervals(
        algorithm, noise, confidence, draw=lambda count, rng: (draw(count, rng), truth), ending=LIKE, most=DRAWN_ROWS
    )


def errors_like(algorithm: Any, noise: float, confidence: float, rows: Array) -> dict[str, float]:
    """Errors of coefficients, noise and sampling together: those of fits of rows like these, against a fit of all of them with
    hardly any noise; empty without a size.
    """
    from scipy.special import ndtri

    setting, scaling = algorithm.setting, algorithm.scaling
    if setting.size is None:
        return {}
    draw = Drawn(setting, scaling.columns, rows, scaling.width, where="irls-moments")
    count = min(setting.size, DRAWN_ROWS)
    hardly = noise * NEXT_TO_NONE
    whole = _coefficients(algorithm, hardly, draw.rows, np.random.default_rng([2029, RUNS]))
    moved, sampled = [], []
    for run in range(RUNS):
        rng = np.random.default_rng([2029, run])
        block = draw(count, rng)
        exact = _coefficients(algorithm, hardly, block, rng)
        moved.append(_coefficients(algorithm, noise * count / setting.size, block, rng) - exact)
        sampled.append(exact - whole)
    per, over = float(ndtri(0.5 + confidence / 2.0)), setting.size / count
    squares = np.mean(np.square(moved), axis=0) + np.mean(np.square(sampled), axis=0) / over
    names = [*scaling.names, *(["intercept"] if scaling.intercept else [])]
    return {f"{name}{LIKE}": per * float(np.sqrt(square)) for name, square in zip(names, squares, strict=True)}


def _coefficients(algorithm: Any, noise: float, block: Array, rng: np.random.Generator) -> Array:
    """Of one fit of these rows, the intercept last."""
    small = replace(algorithm, setting=SmallerSetting(whole=algorithm.setting, rows=len(block)))
    fit = small.result(last_state(small, noise, block, rng))
    return np.array([*fit.coefficients, *([fit.intercept] if algorithm.scaling.intercept else [])])
