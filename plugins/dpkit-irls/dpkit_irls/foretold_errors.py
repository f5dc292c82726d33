"""How large the errors of a fit will be, before anything is spent: by simulation on made-up data, from public facts alone.

Made-up rows follow a line plus as much noise, within the declared ranges; nothing is read. Sums over N rows with some noise
carry as much as sums over n rows with n/N of it, so a simulation never needs many rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpkit import Distance, Neighbours, Query, Setting
from dpkit.authoring import dataclass
from dpkit_irls.fit import Array
from dpkit_irls.rows.dummies import entry_names, levels_of, widened
from dpkit_irls.simulated_run import last_state

if TYPE_CHECKING:
    from dpkit_irls.bounded.bounded_irls import BoundedIRLS

ROWS = 500
RUNS = 16
FITTED_ROWS = 5_000
FITS = 5
ALIKE = 0.15
"""How many fits are made up, and how far the first two may differ, relatively and on average, where they are enough."""
MADE_UP = ", on made-up data"
FILLED = f"{MADE_UP} that fill the bounds"
HIDDEN = ", hidden by the noise"
"""What is said of a foretold error: where numbers without a declared deviation are made up, and where most made-up fits call
the coefficient hidden, so that the error is what is believed of it.
"""
PART = 0.15
"""The standard deviations of numbers, of their range, and of signal and noise, of half the target's range."""


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
        exact = small.result(last_state(small, noise * 1e-6, block, rng))
        noisy = small.result(last_state(small, noise * rows / setting.size, block, rng))
        slopes.append(np.subtract(noisy.coefficients, exact.coefficients))
        constants.append(noisy.intercept - exact.intercept)
    spreads = _spreads(setting, columns, {}, {})
    pooled = float(np.quantile(np.abs(np.array(slopes) * spreads), confidence))
    names = entry_names(setting, columns[:-1])
    errors = {f"{name}{FILLED}": pooled / spread for name, spread in zip(names, spreads.tolist(), strict=True)}
    if algorithm.scaling.intercept:
        errors[f"intercept{FILLED}"] = float(np.quantile(np.abs(constants), confidence))
    return errors


def foretold_intervals(algorithm: BoundedIRLS, noise: float, confidence: float) -> dict[str, float]:
    """Half-widths of the intervals of a fit, noise and sampling together, on made-up data; empty without a size.

    They are those that two made-up fits state, or the middle of five where two differ much, each coefficient its own. Levels
    are as frequent as declared, or alike; numbers vary as declared, or fill their bounds, which names of errors say. With fewer
    rows than there are, noise is scaled down, and sampling counts as for all rows.
    """
    from scipy.special import ndtri

    setting, columns = algorithm.setting, algorithm.columns
    if setting.size is None:
        return {}
    rows = min(setting.size, FITTED_ROWS)
    small = replace(algorithm, setting=SmallerSetting(whole=setting, rows=rows))
    over = setting.size / rows
    found, hidden = [], []
    for run in range(FITS):
        rng = np.random.default_rng([2026, run])
        block = made_up(
            setting, columns, rows, rng,
            shares=algorithm.shares, deviations=algorithm.deviations, target=algorithm.family.target,
        )  # fmt: skip
        errors, unseen = small.stated_errors(last_state(small, noise / over, block, rng), rows_over=over)
        found.append(errors)
        hidden.append(unseen)
        if run == 1 and _differ_by(*found) < ALIKE:
            break
    per = float(ndtri(0.5 + confidence / 2.0))
    vary = columns if algorithm.family.target == "number" else columns[:-1]
    ending = MADE_UP if all(_is_told(setting, name) or name in algorithm.deviations for name in vary) else FILLED
    most = {name for name in found[0] if 2 * sum(name in each for each in hidden) > len(found)}
    return {
        f"{name}{HIDDEN if name in most else ''}{ending}": per * float(np.median([each[name] for each in found]))
        for name in found[0]
    }


def _is_told(setting: Setting, name: str) -> bool:
    """Whether the declaration tells how much a column varies, about: levels, and truth values."""
    return bool(setting.levels(name)) or setting.range(name) == (0.0, 1.0)


def _differ_by(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """How far the errors of two fits are apart, on average over the coefficients, of their mean; infinite where one is."""
    one, other = np.array(list(first.values())), np.array([second[name] for name in first])
    with np.errstate(all="ignore"):
        apart = float(np.mean(2.0 * np.abs(one - other) / (one + other)))
    return apart if np.isfinite(apart) else float("inf")


def made_up(
    setting: Setting,
    columns: tuple[str, ...],
    rows: int,
    rng: np.random.Generator,
    *,
    shares: Mapping[str, Sequence[float]] = MappingProxyType({}),
    deviations: Mapping[str, float] = MappingProxyType({}),
    target: str = "number",
) -> Array:
    """Rows of codes: numbers normal around the middle of their range, or as these deviations say, levels as these shares say or
    alike, the target a line plus as much noise, or the answer whose log-odds are that line. A rare level moves the target no
    more than a frequent one.
    """
    features = [
        _codes(_shares(setting, name, shares), rows, rng)
        if setting.levels(name)
        else _numbers(setting.range(name), deviations.get(name), rows, rng)
        for name in columns[:-1]
    ]
    block = np.column_stack(features)
    x = widened(block, levels_of(setting, columns[:-1]))
    middles = np.mean(x, axis=0) if rows else 0.0
    standard = (x - middles) / _spreads(setting, columns, shares, deviations, rare=0.5)
    signal = standard @ rng.choice([-1.0, 1.0], size=x.shape[1]) / np.sqrt(x.shape[1])
    if target == "yes or no":
        return np.column_stack([block, rng.random(rows) < 1.0 / (1.0 + np.exp(-signal))])
    if target == "class":
        return np.column_stack([block, _classes(standard, len(setting.levels(columns[-1])), rng)])
    low, high = setting.range(columns[-1])
    if target == "count":
        middle = min(max(0.1 * high, 0.5), 20.0)
        return np.column_stack([block, np.clip(rng.poisson(middle * np.exp(0.5 * signal)), low, high)])
    half, varies = 0.5 * high - 0.5 * low, deviations.get(columns[-1])
    if varies is None:
        y = low + half + half * PART * (signal + rng.normal(size=rows))
    else:
        y = _place(low, high, 2.0 * varies) + varies * (signal + rng.normal(size=rows))
    return np.column_stack([block, np.clip(y, low, high)])


def _numbers(limits: tuple[float, float], varies: float | None, rows: int, rng: np.random.Generator) -> Array:
    """A number within its range, or a truth value, which is the rarer the less it varies."""
    low, high = limits
    if limits == (0.0, 1.0):
        if varies is None:
            return rng.integers(0, 2, size=rows).astype(np.float64)
        return np.asarray(rng.random(rows) < 0.5 - np.sqrt(max(0.25 - varies * varies, 0.0)), dtype=np.float64)
    if varies is None:
        return np.clip(low + (high - low) * (0.5 + PART * rng.normal(size=rows)), low, high)
    return np.clip(_place(low, high, varies) + varies * rng.normal(size=rows), low, high)


def _place(low: float, high: float, varies: float) -> float:
    """Where numbers lie: in the middle; where the range begins at zero, as amounts and times do, about as far as they vary."""
    middle = 0.5 * low + 0.5 * high
    return min(middle, 2.0 * varies) if low == 0.0 else middle


def _classes(standard: Array, classes: int, rng: np.random.Generator) -> Array:
    """The class whose predictor, a line of its own plus Gumbel's noise, is the largest."""
    lines = rng.choice([-1.0, 1.0], size=(standard.shape[1], classes)) / np.sqrt(standard.shape[1])
    return np.asarray(np.argmax(standard @ lines + rng.gumbel(size=(len(standard), classes)), axis=1), dtype=np.float64)


def _codes(shares: Array, rows: int, rng: np.random.Generator) -> Array:
    """Each level as often as its share says, in any order."""
    ends = np.round(np.cumsum(shares) * rows).astype(np.int64)
    return np.asarray(
        rng.permutation(np.searchsorted(ends, np.arange(rows), side="right").clip(0, shares.size - 1)), dtype=np.float64
    )


def _shares(setting: Setting, name: str, shares: Mapping[str, Sequence[float]]) -> Array:
    levels = len(setting.levels(name))
    return np.asarray(shares.get(name, (1.0 / levels,) * levels), dtype=np.float64)


def _spreads(
    setting: Setting,
    columns: tuple[str, ...],
    shares: Mapping[str, Sequence[float]],
    deviations: Mapping[str, float],
    *,
    rare: float = 0.0,
) -> Array:
    """The standard deviations of the made-up entries, of levels at least `rare`; 1 where there is none."""
    spreads: list[float] = []
    for name in columns[:-1]:
        (low, high), levels = setting.range(name), setting.levels(name)
        if levels:
            parts = _shares(setting, name, shares)[1:]
            spreads += [max(float(np.sqrt(part * (1.0 - part))), rare) or 1.0 for part in parts]
        else:
            spreads.append((0.5 if (low, high) == (0.0, 1.0) else deviations.get(name, PART * (high - low))) or 1.0)
    return np.array(spreads)
