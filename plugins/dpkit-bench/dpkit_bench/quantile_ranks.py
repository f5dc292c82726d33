"""How far the ranks of quantiles are off: chosen by exponential mechanisms, beside those that are read from a tree of counts.

Each is alone in its analysis, at the same (epsilon, delta). The error of a run is the largest over the probabilities asked for:
how many rows its rank is off. What is shown is the error that 95% of the runs keep within.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.authoring import Array
from dpkit_bench.statistic_draws import draw_answers, solved

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSetting:
    """A column, and what is asked of it."""

    data: str
    rows: int
    probabilities: tuple[float, ...]
    epsilon: float
    neighbours: dpkit.Neighbours = dpkit.Neighbours.ADD_REMOVE

    def __str__(self) -> str:
        asked = ", ".join(f"{one:g}" for one in self.probabilities)
        return f"{self.data}, {self.rows:,} rows | {asked} | {self.epsilon:g} | {self.neighbours}"


_REPLACED = dpkit.Neighbours.REPLACE_ONE
SETTINGS = (
    RankSetting(data="normal", rows=10_000, probabilities=(0.5,), epsilon=1.0),
    RankSetting(data="incomes", rows=10_000, probabilities=(0.5,), epsilon=1.0),
    RankSetting(data="incomes", rows=10_000, probabilities=(0.5,), epsilon=1.0, neighbours=_REPLACED),
    RankSetting(data="incomes", rows=10_000, probabilities=QUARTILES, epsilon=1.0),
    RankSetting(data="incomes", rows=10_000, probabilities=QUARTILES, epsilon=1.0, neighbours=_REPLACED),
    RankSetting(data="two humps", rows=10_000, probabilities=QUARTILES, epsilon=1.0),
    RankSetting(data="normal", rows=100_000, probabilities=QUARTILES, epsilon=0.1),
    RankSetting(data="uniform", rows=2_000, probabilities=(0.1, 0.9), epsilon=1.0),
    RankSetting(data="incomes", rows=100_000, probabilities=(0.5, 0.9, 0.99), epsilon=1.0),
    RankSetting(data="normal", rows=10_000, probabilities=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), epsilon=1.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRow:
    """Errors of rank at 95%, in rows: of the tree, of what `dpkit` takes by itself, and what its plan says."""

    setting: RankSetting
    tree: float
    chosen: float
    stated: float

    @property
    def name(self) -> str:
        """As it stands in a picture."""
        return str(self.setting)


def made_up(name: str, rows: int, rng: np.random.Generator) -> Array:
    """A column of numbers between 0 and 200,000."""
    if name == "normal":
        found = rng.normal(100_000.0, 15_000.0, rows)
    elif name == "incomes":
        found = rng.lognormal(10.5, 0.7, rows)
    elif name == "two humps":
        found = np.where(rng.random(rows) < 0.6, rng.normal(40_000.0, 5_000.0, rows), rng.normal(150_000.0, 8_000.0, rows))
    else:
        found = rng.uniform(0.0, 200_000.0, rows)
    return np.clip(found, 0.0, 200_000.0)


def rank_errors(values: Array, estimates: Sequence[float], probabilities: Sequence[float]) -> float:
    """By how many rows ranks are off, at most: a value has every rank from the rows below it to those below or at it."""
    ordered, wanted = np.sort(values), np.array(probabilities) * values.size
    below, within = (np.searchsorted(ordered, estimates, side=side) for side in ("left", "right"))
    return float(np.max(np.maximum(np.maximum(below - wanted, wanted - within), 0.0)))


def measure_ranks(runs: int) -> list[RankRow]:
    """Every setting."""
    return [_measured(one, runs) for one in SETTINGS]


def _measured(asked: RankSetting, runs: int) -> RankRow:
    table = {"x": made_up(asked.data, asked.rows, np.random.default_rng(3))}
    schema = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=200_000.0, missing=0.0),))
    setting = dpkit.DeclaredSetting(schema=schema, rows=asked.rows, neighbours=asked.neighbours)
    factory = dpkit.default_registry().algorithm("quantiles")
    found, stated = [], 0.0
    for mechanism in ("gaussian", None):
        algorithm = factory.prepare(setting, column="x", probabilities=asked.probabilities, mechanism=mechanism)
        noise = solved(algorithm, dpkit.ApproxDP(epsilon=asked.epsilon, delta=1e-6))
        answers = draw_answers(algorithm, table, setting, noise=noise, runs=runs)
        errors = [rank_errors(table["x"], answer.estimates, asked.probabilities) for answer in answers]
        found.append(float(np.quantile(errors, 0.95)))
        stated = next(iter(algorithm.accuracy(noise).values()))  # type: ignore[attr-defined]
    return RankRow(setting=asked, tree=found[0], chosen=found[1], stated=stated)


def as_markdown(rows: Sequence[RankRow]) -> str:
    """A table: one line a setting."""
    lines = ["| data | probabilities | epsilon | relation | tree | dpkit | stated by its plan | tree over dpkit |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    lines += [
        f"| {row.setting} | {row.tree:.1f} | {row.chosen:.1f} | {row.stated:.1f} | {row.tree / max(row.chosen, 0.1):.1f} |"
        for row in rows
    ]
    return "\n".join(lines)
