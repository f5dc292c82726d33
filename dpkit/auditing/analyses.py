"""The audit of an analysis: every mechanism and every query that its plan uses, at the plan's own parameters. Reads no data."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

import numpy as np

from dpkit.analysis.plan import Plan
from dpkit.auditing.campaign import Watch
from dpkit.auditing.certificate import AuditCertificate
from dpkit.auditing.runner import audit
from dpkit.auditing.sensitivity import MEASURED, Excess, Generator, Step, Within, search_sensitivity
from dpkit.core.distances import Distance
from dpkit.core.mechanism import Mechanism
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Block, Query
from dpkit.core.setting import Setting
from dpkit.data.columns import Number
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down
from dpkit.running.curator import planned_event

TRIES = 2000
"""Pairs of neighbours that are tried on each query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisAudit:
    """Certificates of the mechanisms, and queries that move further than they claim."""

    certificates: tuple[AuditCertificate, ...]
    excesses: tuple[Excess, ...]
    queries: tuple[str, ...]
    unmeasured: tuple[tuple[str, str], ...] = ()
    """Queries with a metric in which they claim a distance and nothing here can measure one."""

    @property
    def refuted(self) -> bool:
        """Whether anything that the analysis relies on was refuted."""
        return bool(self.excesses) or any(certificate.refuted for certificate in self.certificates)

    def as_json(self) -> dict[str, object]:
        """As JSON."""
        return {
            "refuted": self.refuted,
            "certificates": [json.loads(certificate.to_json()) for certificate in self.certificates],
            "queries": list(self.queries),
            "unmeasured": [list(pair) for pair in self.unmeasured],
            "excesses": [
                {"query": one.query, "claimed": str(one.claimed), "found": one.found, "gone": one.gone, "came": one.came}
                for one in self.excesses
            ],
        }

    def __str__(self) -> str:
        lines = [str(certificate) for certificate in self.certificates]
        wrong = {excess.query for excess in self.excesses}
        lines += [f"query {name}: {'REFUTED' if name in wrong else f'stands after {TRIES} pairs'}" for name in self.queries]
        lines += [f"query {name}: its distance in the metric {metric!r} was not tried" for name, metric in self.unmeasured]
        lines += [f"  {one.query} moves by {format_down(one.found)}, claimed {one.claimed}" for one in self.excesses]
        return "\n\n".join([*lines, f"The analysis is {'REFUTED' if self.refuted else 'not refuted'}."])


def audit_plan(
    plan: Plan,
    *,
    confidence: float = 0.999,
    samples: int = 200_000,
    seed: int | None = None,
    time: float | None = None,
    watch: Watch | None = None,
) -> AnalysisAudit:
    """Try to refute what a plan relies on. `confidence` is that of the whole; `samples` and `time` are for each mechanism."""
    setting = plan.spec.data.setting
    asked = [(step.id, query, mechanism) for step in plan.steps for query, mechanism in step.asked]
    targets: dict[tuple[str, Distance], tuple[str, Mechanism]] = {}
    for step, query, mechanism in asked:
        at = _distance(setting, query, mechanism)
        if at is not None:
            targets.setdefault((repr(mechanism), at), (f"{step}/{query.name}: {mechanism!r}", mechanism))
    certificates: list[AuditCertificate] = []
    level = 1.0 - (1.0 - confidence) / max(1, len(targets))
    for (_, at), (name, mechanism) in targets.items():
        certificates += audit(
            mechanism,
            confidence=level,
            samples=samples,
            rng=seed,
            at=at,
            neighbours=setting.neighbours,
            time=time,
            watch=watch,
            name=name,
            registry=plan.spec.registry,
        )
    queries = {f"{step}/{query.name}": query for step, query, _ in asked}
    found = {
        name: search_sensitivity(
            _measurable(query), setting.neighbours, _steps(plan, query), tries=TRIES, within=_within(plan, query)
        )
        for name, query in queries.items()
    }
    left_out = [
        (name, distance.metric)
        for name, query in queries.items()
        for distance in query.sensitivity(setting.neighbours)
        if distance.metric not in MEASURED
    ]
    excesses = [dataclasses.replace(excess, query=name) for name, excess in found.items() if excess is not None]
    return AnalysisAudit(
        certificates=tuple(certificates), excesses=tuple(excesses), queries=tuple(queries), unmeasured=tuple(left_out)
    )


def _measurable(query: Query) -> Query:
    """The query with those of its claims that can be measured; a plugin may state distances in metrics of its own."""

    def sensitivity(neighbours: Neighbours) -> tuple[Distance, ...]:
        return tuple(one for one in query.sensitivity(neighbours) if one.metric in MEASURED)

    return dataclasses.replace(query, sensitivity=sensitivity)


def _distance(setting: Setting, query: Query, mechanism: Mechanism) -> Distance | None:
    """The distance at which the plan prices the mechanism; None where neighbours cannot move the query."""
    planned, found = planned_event(setting, query, mechanism), None
    for distance in setting.distances(query):
        try:
            if distance.value > 0.0 and mechanism.claims(distance):
                found = distance if found is None or mechanism.event(at=distance) == planned else found
        except (DpkitError, TypeError):  # not in this metric
            continue
    return found


def _within(plan: Plan, query: Query) -> Within:
    """Maps any row to one within the declared bounds; codes of categories and whole numbers stay whole."""
    columns = plan.spec.data.schema.select(query.columns)
    ranges = np.array([column.range for column in columns], dtype=np.float64)
    whole = np.array([not isinstance(column, Number) or column.whole for column in columns])

    def within(block: Block) -> Block:
        return np.where(whole, np.rint(block), block).clip(ranges[:, 0], ranges[:, 1])

    return within


def _steps(plan: Plan, query: Query) -> Generator:
    """Draws neighbours among rows within the declared bounds: corners often, for that is where sensitivities are attained."""
    columns = plan.spec.data.schema.select(query.columns)
    ranges = np.array([column.range for column in columns], dtype=np.float64)
    lower, upper = ranges[:, 0], ranges[:, 1]
    within = _within(plan, query)

    def row(rng: np.random.Generator) -> Block:
        share = rng.random(len(columns)) if rng.random() < 0.5 else rng.integers(0, 2, len(columns)).astype(np.float64)
        return within((lower + (upper - lower) * share).reshape(1, -1))

    def step(rng: np.random.Generator) -> Step:
        if plan.spec.data.neighbours is Neighbours.REPLACE_ONE:
            return row(rng), row(rng)
        return (row(rng), None) if rng.random() < 0.5 else (None, row(rng))

    return step
