"""How many rows a private logistic regression needs, beside peers: diffprivlib, objective perturbation and DP-SGD.

All have the same rows, declared bounds, relation (replace-one) and budget. A gap is the log-loss on other rows, in nats, above
that of the fit without privacy on the same rows. Peers have no way to find the units of columns: they are given the columns
over their declared bounds, as `logistic` is, and then, in hindsight, the best of their settings at every number of rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from dpkit_irls.measuring.answer_coverage import AnswerCase, prepared
from dpkit_irls.measuring.answer_designs import AnswerDesign, answer_designs, expit, log_loss, plain_logistic
from dpkit_irls.simulated_run import last_state

from dpkit import ApproxDP, GaussianEvent, Neighbours, Repeat, Subsample, calibrate
from dpkit.authoring import Array
from dpkit_bench.peers import peer
from dpkit_bench.progress import measured

BUDGET = ApproxDP(epsilon=0.9, delta=1e-6)
SMALL_GAP = 0.01
FIRST_SEED = 31_000
SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
BATCHES = ((0.1, 100), (0.3, 30))
"""Rates of batches, and steps."""
RATES = (0.1, 0.3, 1.0, 3.0, 10.0)
CLIPS = (0.5, 1.0)
"""Step sizes, and clipping norms over the median length of a row: with the batches, 20 settings."""
RIDGES = (1.0, 10.0, 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRow:
    """Mean gaps by the number of rows, and the rows to a gap of 0.01; of a peer at its best settings, in hindsight."""

    name: str
    method: str
    gaps: tuple[float, ...]
    sizes: tuple[int, ...]
    need: float
    ratio: float


Setting = tuple[Any, ...]
Method = Callable[[AnswerDesign, Array, Array, Setting, np.random.Generator], Array]
"""Coefficients of entries (the constant last) from features, targets and settings."""
Methods = dict[str, tuple[Method, list[Setting]]]


def measure_logistic(
    *, datasets: int = 12, sizes: Sequence[int] = SIZES, names: Sequence[str] = ()
) -> tuple[list[NeedRow], tuple[str, ...]]:
    """Every method on the same datasets; notes on methods that are left out."""
    methods, notes = _methods()
    designs = [answer_designs()[name] for name in (names or answer_designs())]
    found = []
    for number, design in enumerate(designs):
        gaps: dict[str, list[float]] = {name: [] for name in (*methods, OURS)}
        for size in sizes:
            each = _gaps_at(design, size, datasets, methods)
            for name, value in each.items():
                gaps[name].append(value)
        ours = need_of(sizes, gaps[OURS])
        for name, values in gaps.items():
            need = need_of(sizes, values)
            row = NeedRow(name=design.name, method=name, gaps=tuple(values), sizes=tuple(sizes), need=need, ratio=need / ours)
            found.append(row)
        measured(design.name, number + 1, len(designs))
    return found, notes


def _gaps_at(
    design: AnswerDesign, size: int, datasets: int, methods: dict[str, tuple[Method, list[Setting]]]
) -> dict[str, float]:
    """The mean gap of each method at its best settings."""
    case = AnswerCase(family="logistic", design=design.name, rows=size, epsilon=BUDGET.epsilon)
    algorithm, noise = prepared(case)
    ours, theirs = [], {name: np.zeros((datasets, len(settings))) for name, (_, settings) in methods.items()}
    for seed in range(datasets):
        rng = np.random.default_rng([FIRST_SEED + seed, size, *design.name.encode()])
        x, y = design.draw(rng, size)
        test, shares = design.tested(np.random.default_rng([FIRST_SEED, *design.name.encode()]))
        base = log_loss(test, shares, plain_logistic(design.entries(x), y))
        with np.errstate(all="ignore"):
            fit = algorithm.result(last_state(algorithm, noise, np.column_stack([x, y]), rng))
        ours.append(log_loss(test, shares, np.array([*fit.coefficients, fit.intercept])) - base)
        for name, (method, settings) in methods.items():
            for place, setting in enumerate(settings):
                with np.errstate(all="ignore"):
                    loss = log_loss(test, shares, method(design, x, y, setting, rng))
                theirs[name][seed, place] = min(loss - base if math.isfinite(loss) else 10.0, 10.0)
    return {OURS: float(np.mean(ours))} | {name: float(np.min(np.mean(each, axis=0))) for name, each in theirs.items()}


def need_of(sizes: Sequence[int], gaps: Sequence[float]) -> float:
    """Where the gap falls to 0.01, between sizes on logarithms; infinite where it does not."""
    for place, (size, gap) in enumerate(zip(sizes, gaps, strict=True)):
        if gap > SMALL_GAP:
            continue
        if place == 0:
            return float(size)
        above, below = math.log(gaps[place - 1] / SMALL_GAP), math.log(max(gap, 1e-9) / SMALL_GAP)
        return float(sizes[place - 1] * (size / sizes[place - 1]) ** (above / (above - below)))
    return math.inf


OURS = "dpkit logistic"
PEER = "diffprivlib LogisticRegression"


def _methods() -> tuple[Methods, tuple[str, ...]]:
    methods: Methods = {
        "DP-SGD": (_descended, [(*batch, rate, clip) for batch in BATCHES for rate in RATES for clip in CLIPS]),
        "objective perturbation": (_perturbed, [(clip, ridge) for clip in CLIPS for ridge in RIDGES]),
    }
    found, notes = peer("diffprivlib.models", of="diffprivlib")
    if found is not None:
        methods[PEER] = (_diffprivlib(found), [(clip, ridge) for clip in CLIPS for ridge in RIDGES])
    return methods, notes


def in_bounds(design: AnswerDesign, x: Array) -> tuple[Array, Array]:
    """Entries in units of the declared bounds, numbers from the middle of their range, the constant last; and the way back."""
    entries = design.entries(x)
    lows, highs = np.array(design.bounds).T
    units, centres = np.ones(entries.shape[1]), np.zeros(entries.shape[1])
    units[: len(lows)], centres[: len(lows)] = (highs - lows) / 2.0, (highs + lows) / 2.0
    back = np.diag(1.0 / units)
    back[-1] = -centres / units
    back[-1, -1] = 1.0
    return (entries - centres) / units, back


def _rows_within(design: AnswerDesign, x: Array, clip: float) -> tuple[Array, Array]:
    """Rows of length at most 1: numbers and dummies in units of `clip` median lengths, beside a constant as long as those."""
    scaled, back = in_bounds(design, x)
    length = float(np.median(np.linalg.norm(scaled[:, :-1], axis=1))) or 1.0
    grown = np.ones(scaled.shape[1])
    grown[:-1] = 1.0 / length
    rows = scaled * grown * (clip / math.sqrt(2.0))
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]
    return rows, back @ np.diag(grown * (clip / math.sqrt(2.0)))


@cache
def _noise_of(rate: float, steps: int) -> float:
    """The sd of noise on a sum of gradients of norm at most 1, of Poisson batches, under replace-one."""

    def event(scale: float) -> Repeat:
        one = GaussianEvent(ratio=2.0 / scale, absent=1.0 / scale)
        return Repeat(event=Subsample(rate=rate, event=one), times=steps)

    return calibrate(event, BUDGET, accountant="pld", neighbours=Neighbours.REPLACE_ONE)


def _descended(design: AnswerDesign, x: Array, y: Array, setting: Setting, rng: np.random.Generator) -> Array:
    """DP-SGD; the mean of the second half of the steps."""
    rate, steps, size, clip = setting
    rows, back = _rows_within(design, x, clip)
    noise, count = _noise_of(rate, steps), rate * len(y)
    position, total = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for step in range(steps):
        chosen = rng.random(len(y)) < rate
        part = rows[chosen]
        gradient = part.T @ (y[chosen] - expit(part @ position)) + noise * rng.normal(size=position.size)
        position = position + size * 4.0 * gradient / count
        total = total + position * (step >= steps // 2)
    return np.asarray(back @ (total / (steps - steps // 2)))


def _perturbed(design: AnswerDesign, x: Array, y: Array, setting: Setting, rng: np.random.Generator) -> Array:
    """Objective perturbation with Gaussian noise (Kifer, Smith and Thakurta 2012): a ridge of at least 2 (1/4) / epsilon."""
    clip, ridge = setting
    rows, back = _rows_within(design, x, clip)
    spread = math.sqrt(8.0 * math.log(2.0 / BUDGET.delta) + 4.0 * BUDGET.epsilon) / BUDGET.epsilon
    pull, tilt = max(ridge, 0.5 / BUDGET.epsilon), spread * rng.normal(size=rows.shape[1])
    position = np.zeros(rows.shape[1])
    for _ in range(30):
        shares = expit(rows @ position)
        gradient = rows.T @ (y - shares) - tilt - pull * position
        curvature = (rows * (shares * (1.0 - shares))[:, None]).T @ rows + pull * np.eye(position.size)
        move = np.linalg.solve(curvature, gradient)
        position = position + move * min(1.0, 10.0 / max(float(np.max(np.abs(move))), 1e-12))
    return np.asarray(back @ position)


def _diffprivlib(models: ModuleType) -> Method:
    """At the same epsilon; it has no delta. Its intercept is a column, as the others have it."""

    def method(design: AnswerDesign, x: Array, y: Array, setting: Setting, rng: np.random.Generator) -> Array:
        clip, ridge = setting
        rows, back = _rows_within(design, x, clip)
        seed = int(rng.integers(2**31))
        model = models.LogisticRegression(
            epsilon=BUDGET.epsilon, data_norm=1.0, C=1.0 / ridge, fit_intercept=False, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(rows, y)
            except ValueError:  # one class alone
                return np.zeros(rows.shape[1])
        return np.asarray(back @ np.ravel(model.coef_))

    return method


def as_markdown(rows: Sequence[NeedRow]) -> str:
    """A table for docs/benchmarks.md."""
    sizes = rows[0].sizes if rows else ()
    lines = [
        f"| data | method | {' | '.join(f'gap at {size:,}' for size in sizes)} | rows to a gap of {SMALL_GAP:g} | over ours |",
        "|---|---|" + "---|" * (len(sizes) + 2),
    ]
    for row in rows:
        gaps = " | ".join(f"{gap:.4f}" for gap in row.gaps)
        need = f"{row.need:,.0f}" if math.isfinite(row.need) else f"> {sizes[-1]:,}"
        need = f"at most {need}" if row.need == sizes[0] else need
        lines.append(f"| {row.name} | {row.method} | {gaps} | {need} | {row.ratio:.2g} |")
    return "\n".join(lines)
