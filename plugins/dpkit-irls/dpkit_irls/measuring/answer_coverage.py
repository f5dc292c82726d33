"""Whether intervals of regressions of yes and no, counts and classes hold: `python -m dpkit_irls.bars --only answers`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpkit import ApproxDP, Boolean, Category, DeclaredSetting, Neighbours, Number, Schema, solve_noise
from dpkit.authoring import dataclass
from dpkit_irls.bounded.estimand import estimand_of
from dpkit_irls.measuring.answer_designs import AnswerDesign, answer_designs, count_designs
from dpkit_irls.measuring.coverage import DELTA, Row, hidden_by, summary
from dpkit_irls.measuring.gaps import registry
from dpkit_irls.rows.fixed_point import Array
from dpkit_irls.simulated_run import last_state

FIRST_SEED = 400_000
"""Of the measurements; tuning used others."""
CASES = (
    *((3_000, 0.5), (20_000, 1.0), (20_000, 1_000.0), (20_000, 8.0)),
    *((3_000, 1.0), (20_000, 0.5), (3_000, 8.0), (3_000, 1_000.0)),
)
"""Rows and epsilon, in the order in which they are measured."""
LIMIT = (20_000, 1_000.0)
AT_ONCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCase:
    """A family, a design by name, a number of rows and an epsilon."""

    family: str
    design: str
    rows: int
    epsilon: float

    @property
    def key(self) -> str:
        """What its errors are kept by."""
        return f"{self.family}, {self.design}, N = {self.rows}, epsilon {self.epsilon:g}"

    @property
    def population(self) -> AnswerDesign:
        """What rows are drawn from."""
        return (count_designs() if self.family == "poisson" else answer_designs())[self.design]


def fitted(case: AnswerCase, number: int, *, first_seed: int = FIRST_SEED) -> tuple[Any, Array]:
    """One simulated fit, and its rows."""
    rng = np.random.default_rng([first_seed + number, case.rows, *case.design.encode()])
    x, y = case.population.draw(rng, case.rows)
    block = np.column_stack([x, y])
    algorithm, noise = prepared(case)
    return algorithm.result(last_state(algorithm, noise, block, rng)), block


@cache
def prepared(case: AnswerCase) -> tuple[Any, float]:
    """The algorithm from public facts, and its noise."""
    design = case.population
    numbers = [Number(name=f"x{place}", lower=low, upper=high, missing=low) for place, (low, high) in enumerate(design.bounds)]
    categories = [
        Category(name=f"c{place}", levels=tuple(f"l{level}" for level in range(count)))
        for place, count in enumerate(design.levels)
    ]
    counted = Number(name="y", lower=0.0, upper=10_000.0, missing=0.0)
    target = counted if case.family == "poisson" else Boolean(name="y", missing=False)
    schema = Schema(columns=(*numbers, *categories, target))
    setting = DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, rows=case.rows)
    make = registry().algorithm(case.family).prepare
    algorithm = make(setting, features=list(schema.names[:-1]), target="y", few_rows="answer")
    budget = ApproxDP(epsilon=case.epsilon, delta=DELTA)
    noise = solve_noise([algorithm], budget, accountant="gdp", neighbours=setting.neighbours, registry=registry())[0][0]
    return algorithm, noise


def errors_of(case: AnswerCase, number: int, *, first_seed: int = FIRST_SEED) -> Row:
    """One fit's errors: against the law, or for real data against what the fit estimates on all rows."""
    fit, _ = fitted(case, number, first_seed=first_seed)
    design = case.population
    truth = design.truth
    if truth is None:
        assert design.whole is not None
        exact = estimand_of(fit, *design.whole)
        truth = np.array([*exact.coefficients, exact.intercept])
    off = np.array([*fit.coefficients, fit.intercept]) - truth
    names = [*fit.features, "intercept"]
    told = hidden_by(fit)
    hidden = [int(name in told) for name in names]
    return list(map(float, off)), [*fit.standard_errors, fit.intercept_error], hidden


def gap_to_estimand(case: AnswerCase, number: int) -> float:
    """How far a fit is from the same without noise on its rows, at most over what rows tell, in standard errors."""
    fit, block = fitted(case, number)
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    apart = np.abs(np.array([*fit.coefficients, fit.intercept]) - [*exact.coefficients, exact.intercept])
    stated = np.array([*fit.standard_errors, fit.intercept_error])
    entries = case.population.entries(block[:, :-1])
    seen = np.array([np.unique(column).size > 1 for column in entries.T[:-1]] + [True])
    return float(np.max((apart / stated)[seen]))


def _errors(task: tuple[AnswerCase, int, int]) -> list[Row]:
    case, start, count = task
    with np.errstate(all="ignore"):
        return [errors_of(case, number) for number in range(start, start + count)]


def _gaps(task: tuple[AnswerCase, int, int]) -> list[float]:
    case, start, count = task
    with np.errstate(all="ignore"):
        return [gap_to_estimand(case, number) for number in range(start, start + count)]


@dataclass(slots=True, kw_only=True)
class AnswerErrors:
    """Errors of fits, and gaps to their estimands, by case; kept in a JSON file, so that an interrupted run goes on."""

    path: Path | None = None
    progress: Callable[[str], None] = lambda text: None
    processes: int = 1
    rows: dict[str, list[Row]] = field(default_factory=dict)
    gaps: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            self.rows, self.gaps = kept["rows"], kept["gaps"]

    def measure(self, cases: Iterable[AnswerCase], *, fits: int, limits: int) -> None:
        """This number of fits of each case, and of gaps where there is hardly any noise; what is kept is not measured again."""
        for case in cases:
            if len(self.rows.get(case.key, ())) < fits:
                self.rows[case.key] = list(_every(_errors, case, fits, self.processes))
            if (case.rows, case.epsilon) == LIMIT and len(self.gaps.get(case.key, ())) < limits:
                self.gaps[case.key] = list(_every(_gaps, case, limits, self.processes))
            self.progress(f"{case.key}: {summary(self.rows[case.key]).least:.2f} at least")
            if self.path is not None:
                self.path.write_text(json.dumps({"rows": self.rows, "gaps": self.gaps}), encoding="utf-8")


def answers_table(
    kept: AnswerErrors,
    *,
    fits: int,
    limits: int,
    cases: Sequence[tuple[int, float]] = CASES,
    small: bool = False,
    as_it_is: bool = False,
) -> str:
    """A row a family and design: the least and the largest coverage of a 95% interval in each case, and the largest gap.

    `as_it_is`: of what was kept alone, with a dash for what was not measured.
    """
    designs = [("logistic", name) for name in answer_designs()] + [("poisson", name) for name in count_designs()]
    cases, designs = (cases[:1], designs[:1]) if small else (cases, designs)
    every = {
        (rows, epsilon): [AnswerCase(family=family, design=name, rows=rows, epsilon=epsilon) for family, name in designs]
        for rows, epsilon in cases
    }
    if not as_it_is:
        kept.measure((case for found in every.values() for case in found), fits=fits, limits=limits)
    every = {at: every[at] for at in sorted(every, key=lambda at: at[::-1]) if any(case.key in kept.rows for case in every[at])}
    heads = [f"epsilon {epsilon:g}, N = {rows:,}" for rows, epsilon in every]
    lines = [
        f"| family, design | {' | '.join(heads)} | from the estimand at epsilon {LIMIT[1]:g} |",
        "|---|" + "---|" * (len(heads) + 1),
    ]
    for place, (family, name) in enumerate(designs):
        cells = [_held(kept.rows.get(found[place].key)) for found in every.values()]
        gaps = kept.gaps.get(AnswerCase(family=family, design=name, rows=LIMIT[0], epsilon=LIMIT[1]).key)
        lines.append(f"| {family}, {name} | {' | '.join(cells)} | {f'{max(gaps):.3f}' if gaps else '-'} |")
    whole = [summary(rows) for found in every.values() for case in found if (rows := kept.rows.get(case.key))]
    counts = sorted({found.fits for found in whole})
    told = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    limited = max(map(len, kept.gaps.values()), default=0)
    told += f" fits a case; the last column is of {limited}, in standard errors (bar: 1)."
    return "\n".join([*lines, "", f"{told} Seeds from {FIRST_SEED:,}, which were not used for tuning."])


def _held(rows: Sequence[Row] | None) -> str:
    if not rows:
        return "-"
    found = summary(rows)
    return f"{found.least:.2f}" + ("" if np.isnan(found.most) else f" to {found.most:.2f}")


def _every(measure: Callable[[Any], list[Any]], case: AnswerCase, count: int, processes: int) -> Sequence[Any]:
    tasks = [(case, start, min(AT_ONCE, count - start)) for start in range(0, count, AT_ONCE)]
    if processes == 1:
        return [each for task in tasks for each in measure(task)]
    with ProcessPoolExecutor(processes) as pool:
        return [each for found in pool.map(measure, tasks) for each in found]
