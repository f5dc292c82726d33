"""How large the errors of a fit will be, before anything is spent: by simulation on made-up data, from public facts alone.

Made-up rows follow a line plus as much noise, within the declared ranges; nothing is read. Sums over N rows with some noise
carry as much as sums over n rows with n/N of it, so a simulation never needs many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpkit import Distance, Neighbours, Query, Setting
from dpkit.authoring import dataclass
from dpkit_irls.fit import Array
from dpkit_irls.made_up_rows import made_up, made_up_with_line, spreads_of
from dpkit_irls.rows.dummies import entry_names
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
AS_STATED = ", as its wide interval will say"
"""What is said of a foretold error: where numbers without a declared deviation are made up; where most made-up fits call the
coefficient hidden, so that it is about what the coefficient is; and of what such fits state, which is what is believed of it.
"""
NEXT_TO_NONE = 1e-6
"""A part of the noise that moves nothing."""
UNGUESSED = (
    "numbers without a guess in `deviations`, which are taken to fill their bounds. They seldom do, and errors may be off by "
    "ten times: guess them, or name public rows under `data.like`."
)
GUESSED = (
    "guesses, and columns that do not go together. Where they do, errors are several times as large: public rows under "
    "`data.like` tell more."
)
NOISE_ALONE = (
    "numbers that are taken to fill their bounds, and on the noise alone, without sampling. Errors may be off by ten times: "
    "name public rows under `data.like`."
)
"""What is said of them beside the plan."""


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
        exact = small.result(last_state(small, noise * NEXT_TO_NONE, block, rng))
        noisy = small.result(last_state(small, noise * rows / setting.size, block, rng))
        slopes.append(np.subtract(noisy.coefficients, exact.coefficients))
        constants.append(noisy.intercept - exact.intercept)
    spreads = spreads_of(setting, columns, {}, {}, {})
    pooled = float(np.quantile(np.abs(np.array(slopes) * spreads), confidence))
    names = entry_names(setting, columns[:-1])
    errors = {f"{name}{FILLED}": pooled / spread for name, spread in zip(names, spreads.tolist(), strict=True)}
    if algorithm.scaling.intercept:
        errors[f"intercept{FILLED}"] = float(np.quantile(np.abs(constants), confidence))
    return errors


def foretold_intervals(algorithm: BoundedIRLS, noise: float, confidence: float) -> dict[str, float]:
    """Half-widths of the intervals of a fit, noise and sampling together, on made-up data; empty without a size.

    Levels are as frequent as declared, or alike; numbers vary as declared, or fill their bounds, which names of errors say.
    """
    setting, columns = algorithm.setting, algorithm.columns

    def draw(rows: int, rng: np.random.Generator) -> tuple[Array, Coefficients]:
        block, line = made_up_with_line(
            setting, columns, rows, rng,
            shares=algorithm.shares, deviations=algorithm.deviations, middles=algorithm.middles, target=algorithm.family.target,
        )  # fmt: skip
        return block, _followed(algorithm, line)

    return stated_intervals(algorithm, noise, confidence, draw=draw, ending=FILLED if fills_bounds(algorithm) else MADE_UP)


def _followed(algorithm: BoundedIRLS, line: Array) -> Coefficients:
    """The coefficients of a line that made-up rows follow, by name, as a fit would find them without noise. Where it starts
    from public values, which made-up rows know nothing of, none; and no constant where a fit moves it.
    """
    if algorithm.start:
        return {}
    size, entries, moved = algorithm.layout.size, len(algorithm.entries), algorithm.family.residuals.quantile != 0.5
    told = entries if algorithm.ridge or moved else size
    return {
        algorithm.names[one * size + place]: float(value) / (1.0 + algorithm.ridge)
        for one, row in enumerate(line)
        for place, value in enumerate(row[:told])
    }


def fills_bounds(algorithm: BoundedIRLS) -> bool:
    """Whether some number is made up without a guess of how much it varies."""
    setting, columns = algorithm.setting, algorithm.columns
    vary = columns if algorithm.family.target == "number" else columns[:-1]
    return not all(_is_told(setting, name) or name in algorithm.deviations for name in vary)


def rests_on(algorithm: BoundedIRLS) -> str:
    """What such errors take for granted, and how far they may be off."""
    if algorithm.setting.size is None:
        return ""
    return UNGUESSED if fills_bounds(algorithm) else GUESSED


def stated_intervals(
    algorithm: BoundedIRLS,
    noise: float,
    confidence: float,
    *,
    draw: Callable[[int, np.random.Generator], tuple[Array, Coefficients]],
    ending: str,
    most: int = FITTED_ROWS,
) -> dict[str, float]:
    """Half-widths of intervals by name, with this ending, that fits of drawn rows state; empty without a size.

    They are those of two fits, or the middle of five where two differ much or hide something, each coefficient its own. With
    fewer rows than there are, noise is scaled down, and sampling counts as for all rows. What most fits call hidden has two
    errors: how far they are off what was drawn from, by root mean squares; and what they state.
    """
    from scipy.special import ndtri

    setting = algorithm.setting
    if setting.size is None:
        return {}
    rows = min(setting.size, most)
    small = replace(algorithm, setting=SmallerSetting(whole=setting, rows=rows))
    over, fits, truths = setting.size / rows, list[Told](), list[Coefficients]()
    for run in range(FITS):
        rng = np.random.default_rng([2026, run])
        block, truth = draw(rows, rng)
        fits.append(small.told(last_state(small, noise / over, block, rng), rows_over=over))
        truths.append(truth)
        if run == 1 and _differ_by(fits[0].errors, fits[1].errors) < ALIKE and not fits[0].hidden & fits[1].hidden:
            break
    per, found = float(ndtri(0.5 + confidence / 2.0)), dict[str, float]()
    for name in fits[0].errors:
        stated = per * float(np.median([each.errors[name] for each in fits]))
        if 2 * sum(name in each.hidden for each in fits) <= len(fits):
            found[f"{name}{ending}"] = stated
        elif name not in truths[0]:
            found[f"{name}{HIDDEN}{ending}"] = stated
        else:
            off = [each.coefficients[name] - truth[name] for each, truth in zip(fits, truths, strict=True)]
            found[f"{name}{HIDDEN}{ending}"] = per * float(np.sqrt(np.mean(np.square(off))))
            found[f"{name}{AS_STATED}{ending}"] = stated
    return found


Coefficients = Mapping[str, float]
"""By name, the intercept last; of classes, `class: name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a fit tells by name: coefficients, standard errors, and which the noise hides."""

    coefficients: Coefficients
    errors: Mapping[str, float]
    hidden: Set[str]


def _is_told(setting: Setting, name: str) -> bool:
    """Whether the declaration tells how much a column varies, about: levels, and truth values."""
    return bool(setting.levels(name)) or setting.range(name) == (0.0, 1.0)


def _differ_by(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """How far the errors of two fits are apart, on average over the coefficients, of their mean; infinite where one is."""
    one, other = np.array(list(first.values())), np.array([second[name] for name in first])
    with np.errstate(all="ignore"):
        apart = float(np.mean(2.0 * np.abs(one - other) / (one + other)))
    return apart if np.isfinite(apart) else float("inf")
