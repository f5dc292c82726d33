"""Made-up rows that a plan tries fits on: a line plus as much noise, within the declared ranges. Nothing is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dpkit import Setting
from dpkit_irls.fit import Array
from dpkit_irls.rows.dummies import levels_of, widened

PART = 0.15
"""The standard deviations of numbers, of their range, and of signal and noise, of half the target's range."""


def made_up(
    setting: Setting,
    columns: tuple[str, ...],
    rows: int,
    rng: np.random.Generator,
    *,
    shares: Mapping[str, Sequence[float]] = MappingProxyType({}),
    deviations: Mapping[str, float] = MappingProxyType({}),
    middles: Mapping[str, float] = MappingProxyType({}),
    target: str = "number",
) -> Array:
    """Rows of codes: numbers normal around the middle of their range, or as these guesses say, levels as these shares say or
    alike, the target a line plus as much noise, or the answer whose log-odds are that line. A rare level moves the target no
    more than a frequent one.
    """
    return made_up_with_line(setting, columns, rows, rng, shares=shares, deviations=deviations, middles=middles, target=target)[
        0
    ]


def made_up_with_line(
    setting: Setting,
    columns: tuple[str, ...],
    rows: int,
    rng: np.random.Generator,
    *,
    shares: Mapping[str, Sequence[float]],
    deviations: Mapping[str, float],
    middles: Mapping[str, float],
    target: str,
) -> tuple[Array, Array]:
    """Such rows, and the line that they follow: a row an output (of classes, each against the first), a column an entry, the
    constant last. Of counts it is the line of the mean's logarithm.
    """
    features = [
        _codes(_shares(setting, name, shares), rows, rng)
        if setting.levels(name)
        else _numbers(setting.range(name), deviations.get(name), middles.get(name), rows, rng)
        for name in columns[:-1]
    ]
    block = np.column_stack(features)
    x = widened(block, levels_of(setting, columns[:-1]))
    centres = np.mean(x, axis=0) if rows else np.zeros(x.shape[1])
    per = 1.0 / spreads_of(setting, columns, shares, deviations, middles, rare=0.5) / np.sqrt(x.shape[1])
    if target == "class":
        lines = per[:, None] * rng.choice([-1.0, 1.0], size=(x.shape[1], len(setting.levels(columns[-1]))))
        y = np.argmax((x - centres) @ lines + rng.gumbel(size=(rows, lines.shape[1])), axis=1)
        return np.column_stack([block, y]), _with_constant(0.0, (lines[:, 1:] - lines[:, :1]).T, centres)
    line = per * rng.choice([-1.0, 1.0], size=x.shape[1])
    signal = (x - centres) @ line
    if target == "yes or no":
        y = rng.random(rows) < 1.0 / (1.0 + np.exp(-signal))
        return np.column_stack([block, y]), _with_constant(0.0, line[None], centres)
    low, high = setting.range(columns[-1])
    if target == "count":
        middle = min(max(0.1 * high, 0.5), 20.0)
        y = np.clip(rng.poisson(middle * np.exp(0.5 * signal)), low, high)
        return np.column_stack([block, y]), _with_constant(np.log(middle), 0.5 * line[None], centres)
    half, varies = 0.5 * high - 0.5 * low, deviations.get(columns[-1])
    place = low + half if varies is None else _place(low, high, 2.0 * varies)
    place, varies = middles.get(columns[-1], place), half * PART if varies is None else varies
    y = np.clip(place + varies * (signal + rng.normal(size=rows)), low, high)
    return np.column_stack([block, y]), _with_constant(place, varies * line[None], centres)


def _with_constant(at_centres: float, slopes: Array, centres: Array) -> Array:
    """Slopes with the constant that gives this value at the centres."""
    return np.column_stack([slopes, at_centres - slopes @ centres])


def _numbers(
    limits: tuple[float, float], varies: float | None, lies: float | None, rows: int, rng: np.random.Generator
) -> Array:
    """A number within its range, or a truth value, which is true as often as is guessed, or the rarer the less it varies."""
    low, high = limits
    if _holds_truth(limits, varies, lies):
        if varies is None and lies is None:
            return rng.integers(0, 2, size=rows).astype(np.float64)
        share = 0.5 - np.sqrt(max(0.25 - (varies or 0.0) ** 2, 0.0)) if lies is None else lies
        return np.asarray(rng.random(rows) < share, dtype=np.float64)
    if lies is None:
        lies = low + 0.5 * (high - low) if varies is None else _place(low, high, varies)
    return np.clip(lies + (PART * (high - low) if varies is None else varies) * rng.normal(size=rows), low, high)


def _holds_truth(limits: tuple[float, float], varies: float | None, lies: float | None) -> bool:
    """Whether what lies within 0 and 1 is taken for a truth value: not where it varies less than one about its middle would."""
    if varies is None or lies is None:
        return limits == (0.0, 1.0)
    return limits == (0.0, 1.0) and 2.0 * varies * varies >= lies * (1.0 - lies)


def _place(low: float, high: float, varies: float) -> float:
    """Where numbers lie: in the middle; where the range begins at zero, as amounts and times do, about as far as they vary."""
    middle = 0.5 * low + 0.5 * high
    return min(middle, 2.0 * varies) if low == 0.0 else middle


def _codes(shares: Array, rows: int, rng: np.random.Generator) -> Array:
    """Each level as often as its share says, in any order."""
    ends = np.round(np.cumsum(shares) * rows).astype(np.int64)
    return np.asarray(
        rng.permutation(np.searchsorted(ends, np.arange(rows), side="right").clip(0, shares.size - 1)), dtype=np.float64
    )


def _shares(setting: Setting, name: str, shares: Mapping[str, Sequence[float]]) -> Array:
    levels = len(setting.levels(name))
    return np.asarray(shares.get(name, (1.0 / levels,) * levels), dtype=np.float64)


def spreads_of(
    setting: Setting,
    columns: tuple[str, ...],
    shares: Mapping[str, Sequence[float]],
    deviations: Mapping[str, float],
    middles: Mapping[str, float],
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
            truth = _holds_truth((low, high), deviations.get(name), middles.get(name))
            spreads.append((0.5 if truth else deviations.get(name, PART * (high - low))) or 1.0)
    return np.array(spreads)
