"""How close private fits come to the truth, and how long they take: bounded influence, sufficient statistics and diffprivlib.

All have the same rows, declared bounds and epsilon. The algorithms come from the registry by name. Noise is
seeded: these are simulations.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from dpkit import (
    ApproxDP,
    BlockEngine,
    DeclaredSetting,
    Neighbours,
    Number,
    Schema,
    UnknownNameError,
    default_registry,
    open_source,
    run_algorithms,
    solve_noise,
)
from dpkit.authoring import Array
from dpkit_bench.peers import peer
from dpkit_bench.progress import measured
from dpkit_bench.timing import summary

BUDGET = ApproxDP(epsilon=1.0, delta=1e-6)
NOISE = 0.1
BOUND = 4.0
"""Declared for every feature and the target: features are standard normal, cut there."""
DESIGNS = ("normal", "outliers")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FitSample:
    """Rows, and the coefficients (the last is the constant) that they were made with."""

    x: Array
    y: Array
    truth: Array

    def error(self, coefficients: Array) -> float:
        """The root mean square of what predictions are off by, in units of the noise of a target."""
        off = coefficients - self.truth
        return float(np.sqrt(np.mean((self.x @ off[:-1] + off[-1]) ** 2)) / NOISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRow:
    """Errors and seconds over the datasets: medians, and their range over the median. Ratios are the peer's over ours."""

    name: str
    ours_error: float
    ours_error_spread: float
    ours_seconds: float
    peer: str
    peer_error: float
    peer_error_spread: float
    peer_seconds: float
    error_ratio: float
    ratio: float


Method = Callable[[FitSample, int], Array]


def sample(design: str, rows: int, features: int, seed: int) -> FitSample:
    """Normal features and noise; with `outliers`, 5% of the targets are 20 noises off."""
    rng = np.random.default_rng([seed, rows, features, DESIGNS.index(design)])
    x = np.clip(rng.normal(size=(rows, features)), -BOUND, BOUND)
    truth = rng.normal(size=features + 1) / np.sqrt(features + 1.0)
    y = x @ truth[:-1] + truth[-1] + NOISE * rng.normal(size=rows)
    if design == "outliers":
        y = y + np.where(rng.random(rows) < 0.05, 20.0 * NOISE, 0.0)
    return FitSample(x=x, y=np.clip(y, -BOUND, BOUND), truth=truth)


def measure_fit(*, rows: int = 100_000, features: int = 10, datasets: int = 7) -> tuple[list[FitRow], tuple[str, ...]]:
    """Every method on the same datasets, one after the other on each; notes on methods that are left out."""
    methods, notes = _methods()
    found = []
    for design in DESIGNS:
        seen: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
        for seed in range(datasets):
            data = sample(design, rows, features, seed)
            for name, method in methods.items():
                start = time.perf_counter()
                coefficients = method(data, seed)
                took = time.perf_counter() - start
                seen[name].append((data.error(coefficients), took))
            measured(f"{design}, dataset {seed + 1}", DESIGNS.index(design) * datasets + seed + 1, len(DESIGNS) * datasets)
        found += _rows(f"{design}, N = {rows:,}, d = {features}", seen)
    return found, notes


def _rows(name: str, seen: dict[str, list[tuple[float, float]]]) -> list[FitRow]:
    ours, ours_spread = summary([error for error, _ in seen[OURS]])
    mine, _ = summary([seconds for _, seconds in seen[OURS]])
    rows = []
    for other in (name for name in seen if name != OURS):
        error, spread = summary([error for error, _ in seen[other]])
        theirs, _ = summary([seconds for _, seconds in seen[other]])
        rows.append(
            FitRow(
                name=name,
                ours_error=ours,
                ours_error_spread=ours_spread,
                ours_seconds=mine,
                peer=other,
                peer_error=error,
                peer_error_spread=spread,
                peer_seconds=theirs,
                error_ratio=error / ours,
                ratio=theirs / mine,
            )
        )
    return rows


OURS, STATISTICS, PEER = "irls, bounded", "sufficient statistics", "diffprivlib LinearRegression"


def _methods() -> tuple[dict[str, Method], tuple[str, ...]]:
    methods: dict[str, Method] = {OURS: _bounded}
    notes: tuple[str, ...] = ()
    try:
        default_registry().algorithm("covariance")
    except UnknownNameError:
        notes += (f"{STATISTICS} is left out: dpkit-stats is not installed.",)
    else:
        methods[STATISTICS] = _statistics
    found, missing = peer("diffprivlib.models", of="diffprivlib")
    if found is not None:
        methods[PEER] = _diffprivlib(found)
    return methods, notes + missing


def _bounded(data: FitSample, seed: int) -> Array:
    fit = _answer(data, seed, "irls", features=_names(data), target="y")
    return np.array([*fit.coefficients, fit.intercept])


def _statistics(data: FitSample, seed: int) -> Array:
    """Least squares from a noisy covariance matrix and noisy means, as they come."""
    found = _answer(data, seed, "covariance", columns=(*_names(data), "y"))
    matrix, means = np.array(found.estimate), np.array(found.means)
    slopes = np.linalg.lstsq(matrix[:-1, :-1], matrix[:-1, -1], rcond=None)[0]
    return np.array([*slopes, means[-1] - means[:-1] @ slopes])


def _answer(data: FitSample, seed: int, algorithm: str, **chosen: object) -> Any:
    names = (*_names(data), "y")
    schema = Schema(columns=tuple(Number(name=name, lower=-BOUND, upper=BOUND, missing=0.0) for name in names))
    setting = DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, rows=len(data.y))
    prepared = default_registry().algorithm(algorithm).prepare(setting, **chosen)
    (noise,), _ = solve_noise([prepared], BUDGET, accountant="gdp", neighbours=setting.neighbours)
    source = open_source(np.column_stack([data.x, data.y]), schema, neighbours=setting.neighbours, names=names)
    rng = np.random.default_rng([seed, 1])
    run = run_algorithms({"fit": (prepared, noise)}, engine=BlockEngine(source), setting=setting, rng=rng)
    return run.outcomes["fit"].result


def _diffprivlib(models: ModuleType) -> Method:
    """At the same epsilon; it has no delta, and adds Laplace noise to the coefficients of its objective."""

    def method(data: FitSample, seed: int) -> Array:
        ends = (-BOUND, BOUND)
        model = models.LinearRegression(epsilon=BUDGET.epsilon, bounds_X=ends, bounds_y=ends, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data.x, data.y)
        return np.array([*np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])])

    return method


def _names(data: FitSample) -> tuple[str, ...]:
    return tuple(f"x{place}" for place in range(data.x.shape[1]))


def as_markdown(rows: Sequence[FitRow]) -> str:
    """A table for docs/benchmarks.md."""
    lines = [
        "| data | irls error | spread | s | peer | error | spread | s | error ratio | time ratio |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.ours_error:.3g} | {row.ours_error_spread:.0%} | {row.ours_seconds:.3g} | {row.peer} "
        f"| {row.peer_error:.3g} | {row.peer_error_spread:.0%} | {row.peer_seconds:.3g} | {row.error_ratio:.3g} "
        f"| {row.ratio:.3g} |"
        for row in rows
    ]
    return "\n".join(lines)
