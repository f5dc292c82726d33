"""How large the errors of a fit will be, before anything is spent: by simulation on made-up data, from public facts alone.

Made-up rows follow a line plus as much noise, within the declared ranges; nothing is read. Sums over N rows with some noise
carry as much as sums over n rows with n/N of it, so a simulation never needs many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpkit.core.distances import Distance
from dpkit.core.mechanism import Mechanism
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Query
from dpkit.core.setting import Setting
from dpkit_irls.dummies import entry_names, levels_of, widened
from dpkit_irls.fit import Array, Fit

ROWS = 500
RUNS = 16
PART = 0.15
"""The standard deviations of signal and noise, of half the target's range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallerSetting:
    """A setting with fewer rows."""

    whole: Setting
    rows: int

    @property
    def neighbours(self) -> Neighbours:
        """As declared."""
        return self.whole.neighbours

    @property
    def columns(self) -> tuple[str, ...]:
        """As declared."""
        return self.whole.columns

    @property
    def size_is_public(self) -> bool:
        """As declared."""
        return self.whole.size_is_public

    @property
    def size(self) -> int | None:
        """How many rows are made up."""
        return self.rows

    def range(self, column: str) -> tuple[float, float]:
        """As declared."""
        return self.whole.range(column)

    def levels(self, column: str) -> tuple[str, ...]:
        """As declared."""
        return self.whole.levels(column)

    def distances(self, query: Query) -> Sequence[Distance]:
        """As declared."""
        return self.whole.distances(query)


class SimulatedCurator:
    """Releases from made-up rows. It has no data."""

    def __init__(self, block: Array, rng: np.random.Generator) -> None:
        self._block, self._rng = block, rng

    def release(self, query: Query, mechanism: Mechanism) -> Array:
        """The noisy value of one query."""
        return self.release_all([(query, mechanism)])[0]

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[Array, ...]:
        """One noisy value each."""
        return tuple(
            np.asarray(mechanism.release(query.total(self._block), self._rng), dtype=np.float64) for query, mechanism in pairs
        )


def foretold_errors(algorithm: Any, noise: float, confidence: float, *, columns: tuple[str, ...]) -> dict[str, float]:
    """What the noise of a fit does to each coefficient, at most, with this confidence, on made-up data; empty without a size.

    The difference is to the same fit with hardly any noise, so sampling error is not in it. Errors of all coefficients are
    pooled in units of their columns' spread.
    """
    setting: Setting = algorithm.setting
    if setting.size is None:
        return {}
    rows = min(setting.size, ROWS)
    small = replace(algorithm, setting=SmallerSetting(whole=setting, rows=rows))
    slopes, constants, block = [], [], np.zeros((0, len(columns)))
    for run in range(RUNS):
        rng = np.random.default_rng([2016, run])
        block = made_up(setting, columns, rows, rng)
        exact = _fitted(small, noise * 1e-6, block, rng)
        noisy = _fitted(small, noise * rows / setting.size, block, rng)
        slopes.append(np.subtract(noisy.coefficients, exact.coefficients))
        constants.append(noisy.intercept - exact.intercept)
    spreads = _spreads(setting, columns)
    pooled = float(np.quantile(np.abs(np.array(slopes) * spreads), confidence))
    names = entry_names(setting, columns[:-1])
    errors = {f"{name}, on made-up data": pooled / spread for name, spread in zip(names, spreads.tolist(), strict=True)}
    if getattr(algorithm, "intercept", False) or getattr(getattr(algorithm, "scaling", None), "intercept", False):
        errors["intercept, on made-up data"] = float(np.quantile(np.abs(constants), confidence))
    return errors


def made_up(setting: Setting, columns: tuple[str, ...], rows: int, rng: np.random.Generator) -> Array:
    """Rows of codes: numbers normal around the middle of their range, levels alike, the target a line plus noise."""
    features = []
    for name in columns[:-1]:
        low, high = setting.range(name)
        if setting.levels(name):
            features.append(rng.integers(0, len(setting.levels(name)), size=rows).astype(np.float64))
        elif (low, high) == (0.0, 1.0):
            features.append(rng.integers(0, 2, size=rows).astype(np.float64))
        else:
            features.append(np.clip(low + (high - low) * (0.5 + 0.15 * rng.normal(size=rows)), low, high))
    block = np.column_stack(features)
    x = widened(block, levels_of(setting, columns[:-1]))
    middles = np.mean(x, axis=0) if rows else 0.0
    standard = (x - middles) / _spreads(setting, columns)
    signal = standard @ rng.choice([-1.0, 1.0], size=x.shape[1]) / np.sqrt(x.shape[1])
    low, high = setting.range(columns[-1])
    half = 0.5 * high - 0.5 * low
    y = low + half + half * PART * (signal + rng.normal(size=rows))
    return np.column_stack([block, np.clip(y, low, high)])


def _spreads(setting: Setting, columns: tuple[str, ...]) -> Array:
    """The standard deviations of the made-up entries; 1 where there is none."""
    spreads: list[float] = []
    for name in columns[:-1]:
        (low, high), levels = setting.range(name), setting.levels(name)
        if levels:
            part = 1.0 / len(levels)
            spreads += [float(np.sqrt(part * (1.0 - part))) or 1.0] * (len(levels) - 1)
        else:
            spreads.append((0.5 if (low, high) == (0.0, 1.0) else 0.15 * (high - low)) or 1.0)
    return np.array(spreads)


def _fitted(algorithm: Any, noise: float, block: Array, rng: np.random.Generator) -> Fit:
    curator, state = SimulatedCurator(block, rng), algorithm.init(noise)
    with np.errstate(all="ignore"):
        while not algorithm.finished(state):
            state = algorithm.step(state, curator)
        found: Fit = algorithm.result(state)
    return found
