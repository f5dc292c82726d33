"""Accountants side by side for one plan: what each charges at several deltas, and the noise each would need."""

from __future__ import annotations

import math

from dpkit.accounting import account
from dpkit.analysis.plan import Plan, Telling
from dpkit.analysis.showing.documents import jsonable
from dpkit.errors import DpkitError
from dpkit.release.schedules import solve_noise
from dpkit.values import dataclass

DELTAS = (1e-4, 1e-6, 1e-8, 1e-10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAccountant:
    """One accountant: epsilon at each delta (infinite where it gives none), the noise that it would need for the budget,
    relative to the plan's, and in words why there is no number."""

    accountant: str
    epsilons: tuple[float, ...]
    noise: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Every accountant on one plan."""

    deltas: tuple[float, ...]
    rows: tuple[ComparedAccountant, ...]
    chosen: str

    def as_json(self) -> dict[str, object]:
        """As JSON."""
        rows = [
            {
                "accountant": row.accountant,
                "epsilons": [jsonable(epsilon) for epsilon in row.epsilons],
                "relative_noise": row.noise,
                "why": row.why,
            }
            for row in self.rows
        ]
        return {"deltas": list(self.deltas), "chosen": self.chosen, "accountants": rows}


def compare_accountants(plan: Plan, *, progress: Telling | None = None) -> Comparison:
    """Price a plan under every accountant of its registry. `progress` is told what is done, how much, and of how much."""
    delta = plan.delta
    deltas = tuple(sorted({*DELTAS, delta} if delta else {0.0, *DELTAS}, reverse=True))
    names = plan.spec.registry.accountant_names
    rows: list[ComparedAccountant] = []
    for name in names:
        if progress is not None:
            progress(f"accountant {len(rows) + 1} of {len(names)}: {name}", len(rows), len(names))
        rows.append(_compared(plan, name, deltas))
    return Comparison(deltas=deltas, rows=tuple(rows), chosen=plan.spec.budget.accountant)


def _compared(plan: Plan, name: str, deltas: tuple[float, ...]) -> ComparedAccountant:
    spec = plan.spec
    relation, accept = spec.data.neighbours, spec.budget.accept
    try:
        priced = account(plan.event, name, relation, spec.registry, accept=accept)
        epsilons = tuple(priced.epsilon(delta=delta) for delta in deltas)
    except DpkitError:
        return ComparedAccountant(accountant=name, epsilons=tuple(math.inf for _ in deltas), noise=None, why="cannot price it")
    try:
        noises, _ = solve_noise(
            [step.algorithm for step in spec.steps],
            spec.budget.loss,
            accountant=name,
            neighbours=relation,
            shares=[step.share for step in spec.steps],
            registry=spec.registry,
            accept=accept,
        )
    except DpkitError:
        return ComparedAccountant(accountant=name, epsilons=epsilons, noise=None, why="no noise meets the budget")
    return ComparedAccountant(accountant=name, epsilons=epsilons, noise=noises[0] / plan.steps[0].noise, why="")
