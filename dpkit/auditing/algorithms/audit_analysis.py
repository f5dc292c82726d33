"""The audit of an analysis: what its steps ask, with which noise, and whether answers alone steer them. Reads no data."""

from __future__ import annotations

import dataclasses
import json
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from dpkit.analysis.plan import Plan
from dpkit.auditing.algorithms.check_queries import (
    Fault,
    asked_under_scripts,
    equal_answers_equal_runs,
    query_faults,
    unlike_queries,
)
from dpkit.auditing.algorithms.made_up_rows import RowSpace
from dpkit.auditing.audit import audit
from dpkit.auditing.betting.campaign import Watch
from dpkit.auditing.call_timer import seconds_each
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.search.metrics import is_measured
from dpkit.auditing.search.sensitivity import Excess, search_sensitivity
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.private_keys import KeyQuery, ReleasedKeys
from dpkit.contracts.query import Query
from dpkit.contracts.registry import Registry
from dpkit.contracts.setting import Setting
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down
from dpkit.privacy.events import Compose, Event
from dpkit.privacy.losses import Loss, PureDP
from dpkit.privacy.neighbours import Distance, Neighbours, l1
from dpkit.release.curator import planned_event
from dpkit.release.simulated_curator import Asked, SimulatedCurator
from dpkit.values import dataclass

_ONE_PERSON = (np.array([1]), np.array([0]))
"""How many people have a key: one, or nobody."""

TRIES = 2000
"""Pairs of neighbours that are tried on each query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisAudit:
    """Certificates of the mechanisms, queries that move further than they claim, and promises that a step breaks."""

    certificates: tuple[AuditCertificate, ...]
    excesses: tuple[Excess, ...]
    queries: tuple[str, ...]
    unmeasured: tuple[tuple[str, str], ...] = ()
    """Queries with a metric in which they claim a distance and nothing here can measure one."""
    faults: tuple[Fault, ...] = ()
    keys: tuple[str, ...] = ()
    """Steps with private keys whose noise claims nothing that could be tried."""

    @property
    def refuted(self) -> bool:
        """Whether anything that the analysis relies on was refuted."""
        return bool(self.excesses) or bool(self.faults) or any(certificate.refuted for certificate in self.certificates)

    def as_json(self) -> dict[str, object]:
        """As JSON."""
        return {
            "refuted": self.refuted,
            "certificates": [json.loads(certificate.to_json()) for certificate in self.certificates],
            "queries": list(self.queries),
            "unmeasured": [list(pair) for pair in self.unmeasured],
            "excesses": [
                {
                    "query": one.query,
                    "claimed": str(one.claimed),
                    "found": one.found,
                    "gone": _shown(one.gone),
                    "came": _shown(one.came),
                }
                for one in self.excesses
            ],
            "keys": list(self.keys),
            "faults": [{"subject": one.subject, "law": one.law, "detail": one.detail} for one in self.faults],
        }

    def __str__(self) -> str:
        lines = [str(certificate) for certificate in self.certificates]
        wrong = {excess.query for excess in self.excesses} | {fault.subject.removeprefix("query ") for fault in self.faults}
        lines += [f"query {name}: {'REFUTED' if name in wrong else f'stands after {TRIES} pairs'}" for name in self.queries]
        lines += [f"query {name}: its distance in the metric {metric!r} was not tried" for name, metric in self.unmeasured]
        lines += [f"step {name}: {_OF_KEYS}" for name in self.keys]
        lines += [f"  {one.query} moves by {format_down(one.found)}, claimed {one.claimed}" for one in self.excesses]
        lines += [f"{fault.subject} is REFUTED by the law {fault.law}: {fault.detail}" for fault in self.faults]
        return "\n\n".join([*lines, f"The analysis is {'REFUTED' if self.refuted else 'not refuted'}."])


_OF_KEYS = "the noise of its private keys claims no single loss, so it was not tried; docs/proofs/keys.md proves its price."


class _SeesKeys(SimulatedCurator):
    """Notes with which noise private keys are asked for."""

    noises: list[Mechanism]

    def release_keys(self, query: KeyQuery, mechanism: Mechanism) -> ReleasedKeys:
        self.noises.append(mechanism)
        return super().release_keys(query, mechanism)


def _noises_of_keys(plan: Plan) -> Iterator[tuple[str, Mechanism]]:
    """The noise of each step's private keys, which are asked for first."""
    for step, planned in zip(plan.spec.steps, plan.steps, strict=True):
        by = step.parameters.get("by")
        if isinstance(by, Sequence) and any(isinstance(entry, Mapping) and "keys" in entry for entry in by):
            curator = _SeesKeys(lambda request: np.zeros(request.query.shape), setting=step.setting)
            curator.noises = []
            step.algorithm.step(step.algorithm.init(planned.noise), curator)
            yield from ((step.id, mechanism) for mechanism in curator.noises)


def _shown(row: tuple[float, ...] | None) -> str:
    return "none" if row is None else repr([list(row)])


def audit_plan(
    plan: Plan,
    *,
    confidence: float = 0.999,
    samples: int = 200_000,
    seed: int | None = None,
    time: float | None = None,
    watch: Callable[[str, int, int], Watch | None] = lambda name, place, count: None,
) -> AnalysisAudit:
    """Try to refute what a plan relies on. `confidence` is that of the whole; `samples` are for each mechanism, `time` for all.

    `watch` makes what each audit tells how far it is: of its name, its place and how many there are.
    """
    neighbours = plan.spec.data.neighbours
    settings = {step.id: step.setting for step in plan.spec.steps}
    asked = [(step.id, query, mechanism) for step in plan.steps for query, mechanism in step.asked]
    targets: dict[tuple[str, Distance], tuple[str, Mechanism]] = {}
    for step, query, mechanism in asked:
        at = _distance(settings[step], query, mechanism)
        if at is not None:
            targets.setdefault((repr(mechanism), at), (f"{step}/{query.name}", mechanism))
    of_keys = list(_noises_of_keys(plan))
    known = {step: mechanism for step, mechanism in of_keys if mechanism.claims(l1(1.0))}
    certificates: list[AuditCertificate] = []
    deadline = None if time is None else clock.monotonic() + time
    level = 1.0 - (1.0 - confidence) / max(1, len(targets) + len(known))
    for place, ((_, at), (name, mechanism)) in enumerate(targets.items()):
        certificates += audit(
            mechanism,
            confidence=level,
            samples=samples,
            rng=seed,
            at=at,
            neighbours=neighbours,
            time=seconds_each(deadline, len(targets) - place + 1),  # and one part for the queries
            watch=watch(name, place, len(targets)),
            name=name,
            registry=plan.spec.registry,
        )
    for place, (step, mechanism) in enumerate(known.items()):
        certificates += audit(
            mechanism,
            claim=mechanism.claims(l1(1.0))[0],
            pair=_ONE_PERSON,
            confidence=level,
            samples=samples,
            rng=seed,
            time=seconds_each(deadline, len(known) - place + 1),
            name=f"{step}/keys",
            registry=plan.spec.registry,
        )
    queries = {f"{step}/{query.name}": (step, query) for step, query, _ in asked}
    found = {
        name: search_sensitivity(query, neighbours, RowSpace(settings[step], query), tries=TRIES)
        for name, (step, query) in queries.items()
    }
    left_out = [
        (name, distance.metric)
        for name, (_, query) in queries.items()
        for distance in query.sensitivity(neighbours)
        if not is_measured(distance.metric)
    ]
    excesses = [dataclasses.replace(excess, query=name) for name, excess in found.items() if excess is not None]
    return AnalysisAudit(
        certificates=tuple(certificates),
        excesses=tuple(excesses),
        queries=tuple(queries),
        unmeasured=tuple(left_out),
        faults=tuple(step_faults(plan, seed=0 if seed is None else seed)),
        keys=tuple(step for step, _ in of_keys if step not in known),
    )


def step_faults(plan: Plan, *, seed: int = 0) -> Iterator[Fault]:
    """Promises that the steps break: of each query that one asks, under scripted answers too, and of the runs themselves."""
    for step, planned in zip(plan.spec.steps, plan.steps, strict=True):
        setting = step.setting
        rng = np.random.default_rng([seed, 17])
        asked = [*planned.asked, *asked_under_scripts(step.algorithm, setting, planned.noise, rng=rng)]
        found = {
            (fault.subject, fault.law): fault
            for query in unlike_queries(asked, setting)
            for fault in query_faults(query, setting, seed=seed)
        }
        for fault in found.values():
            yield dataclasses.replace(fault, subject=fault.subject.replace("query ", f"query {step.id}/", 1))
        if isinstance(setting, DeclaredSetting):
            steered = equal_answers_equal_runs(step.algorithm, setting, planned.noise, rng=rng)
            if steered is not None:
                yield dataclasses.replace(steered, subject=f"step {step.id}")
        yield from _cheap_noise(planned.id, asked, setting, plan.spec.registry)


def _cheap_noise(step: str, asked: Sequence[Asked], setting: Setting, registry: Registry) -> Iterator[Fault]:
    """Noise whose event, which is charged, is cheaper than all that it claims: a sample that nobody draws, say."""
    seen = set()
    for query, mechanism in asked:
        at = _distance(setting, query, mechanism)
        event = planned_event(setting, query, mechanism)
        if (type(mechanism), at, event) in seen:
            continue
        seen.add((type(mechanism), at, event))
        claims = [] if at is None else [claim for claim in mechanism.claims(at) if claim.status == "proved"]
        bounds = _charged(event, setting.neighbours, registry)
        if any(distance.value > 0.0 for distance in setting.distances(query)) and not any(
            _is_charged(claim.loss, bounds) for claim in claims
        ):
            detail = (
                f"its noise {type(mechanism).__name__} claims none of the losses that its event {type(event).__name__} is "
                "charged by, so that no audit of its claims speaks of the price"
            )
            yield Fault(subject=f"query {step}/{query.name}", law="claims_are_what_the_rules_give", detail=detail)


def _charged(event: Event, neighbours: Neighbours, registry: Registry) -> list[Loss]:
    """The losses that an event is charged by; of a composition, the sum of those of its parts where all are pure."""
    if not isinstance(event, Compose):
        bounds = [rule.bound(event) for rule in registry.rules_for(type(event)) if neighbours in rule.neighbours]
        return [loss for loss in bounds if loss is not None]
    parts = [[loss for loss in _charged(part, neighbours, registry) if isinstance(loss, PureDP)] for part in event.events]
    return [PureDP(epsilon=sum(min(loss.epsilon for loss in part) for part in parts))] if parts and all(parts) else []


def _is_charged(claimed: Loss, charged: Sequence[Loss]) -> bool:
    """Whether a claim is one of these losses; of pure ones up to the rounding of sums, which goes up."""
    return claimed in charged or any(
        isinstance(claimed, PureDP) and isinstance(loss, PureDP) and claimed.epsilon <= loss.epsilon * (1.0 + 1e-12)
        for loss in charged
    )


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
