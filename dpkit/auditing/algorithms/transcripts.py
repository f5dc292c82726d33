"""Whole algorithms: the privacy loss of a transcript is the sum of the losses of its releases, given what came before.

Of an algorithm that is audited by name, everything that a run needs stands in the certificate, so that a replay needs no
objects.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.accounting import account
from dpkit.auditing.audit import audit
from dpkit.auditing.betting.bets import OutputEvent as Witnessed
from dpkit.auditing.betting.campaign import Finding
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.recipe import Recipe, decode, encode
from dpkit.auditing.falsifiers.runs_and_ledgers import COVERAGE
from dpkit.auditing.plan_audit import AuditPlan, plan_audit, seed_of
from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.engine import Engine
from dpkit.contracts.mechanism import WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.contracts.setting import Setting
from dpkit.data.columns.dates import Date, Time
from dpkit.data.columns.kinds import Boolean, Category, Column, Number, Policy
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.expressions.derived import Derived, derive, require
from dpkit.data.setting import DeclaredSetting
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.tables.open_source import open_source
from dpkit.errors import DpkitError, InvalidValueError, PlanExceededError, SerialisationError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.rounding import sqrt_up
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.events import Event
from dpkit.privacy.losses import GDP, ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.curator import Purse
from dpkit.release.driver import drive
from dpkit.release.noise import check_delivery, release_exactly
from dpkit.release.simulated_curator import Request, SimulatedCurator

SIDES = ("first dataset", "second dataset")
_DELTA = 1e-3
Columns = Mapping[str, Sequence[Any]]
"""Named columns of a small, made-up dataset."""
_KINDS: dict[str, type] = {"Number": Number, "Category": Category, "Boolean": Boolean, "Date": Date, "Time": Time}


def audit_algorithm(
    algorithm: AnyAlgorithm,
    noise: float,
    *,
    setting: Setting,
    engines: tuple[Engine, Engine],
    claim: Loss | None = None,
    confidence: float = 0.999,
    samples: int = 2_000,
    rng: np.random.Generator | int | None = None,
    time: float | None = None,
    name: str | None = None,
    registry: Registry | None = None,
    recipe: Recipe | None = None,
) -> list[AuditCertificate]:
    """Run an algorithm end to end on two neighbouring datasets, and try to refute what its plan says (or `claim`).

    Every transcript is scored by its privacy loss: ln of the ratio of its densities under both datasets, the sum over releases
    given the history, since queries depend on released values alone. Events in terms of it are events of the transcript, so
    the e-process of the white box holds as it stands, and by Neyman and Pearson none is more powerful. It sees wrong
    sensitivities, wrong events, and an adaptive choice that the plan does not cover; it cannot see what an algorithm reads
    past the curator. A run that asks for a release which its plan does not cover is proof, and ends the audit with a refuted
    certificate of plan coverage. Mechanisms need a `log_density`.
    """
    known = default_registry() if registry is None else registry
    plan = algorithm.plan(noise)
    stated = _plan_loss(plan, setting, known) if claim is None else claim
    locator = "the plan of the algorithm" if claim is None else "stated in the call to audit_algorithm"
    about = Claim(
        loss=stated,
        neighbours=setting.neighbours,
        because=Citation(key="caller", locator=locator),
        assuming=("real arithmetic",),
        status="unproved",
    )

    runs = 0

    def losses(side: object, n: int, stream: np.random.Generator) -> npt.ArrayLike:
        nonlocal runs
        found = []
        for _ in range(n):
            runs += 1
            found.append(_loss_of_run(algorithm, noise, engines, SIDES.index(str(side)), setting, plan, stream))
        return asfloat(found)

    vars(losses)["independent"] = True  # one run after the other
    called = f"{type(algorithm).__module__}:{type(algorithm).__qualname__}" if name is None else name
    described = {**({} if recipe is None else recipe), "transcripts": f"{called} at noise {noise!r}"}
    seed = seed_of(rng)
    try:
        return audit(
            losses, about, SIDES, confidence, samples, seed, density=_LossItself(), falsifiers=["white box"], time=time,
            registry=known, recipe=described,
        )  # fmt: skip
    except PlanExceededError as error:
        checked = plan_audit(
            losses, about, SIDES, confidence, samples, seed, at=None, neighbours=setting.neighbours, pairs=(), density=None,
            falsifiers=["white box"], floating_point=False, registry=known, recipe=described,
        )  # fmt: skip
        return [_overspent(checked, error, runs)]


def _overspent(plan: AuditPlan, error: PlanExceededError, runs: int) -> AuditCertificate:
    """Refuted by plan coverage: one run is enough, and no dataset makes it right."""
    event = Witnessed(
        words=f"run {runs} asked for {error.asked}, where its plan holds {error.plan}",
        code=COVERAGE,
    )
    found = Finding(falsifier="plan coverage", verdict="refuted", log_e=math.inf, samples=runs, event=event)
    return plan.certify(plan.subjects[0], found, hypothesis="records", level=1.0 - plan.confidence)


def _loss_of_run(
    algorithm: AnyAlgorithm,
    noise: float,
    engines: tuple[Engine, Engine],
    side: int,
    setting: Setting,
    plan: Event,
    rng: np.random.Generator,
) -> float:
    """The loss of one simulated run on the data of one side; infinite where the other could not have given it."""
    logs = [0.0, 0.0]

    def release(asked: Request) -> Array:
        """The total of one dataset with noise, scored by its density under both."""
        mechanism = asked.mechanism
        check_delivery(asked.query, mechanism)
        if not isinstance(mechanism, WhiteBox):
            raise InvalidValueError(
                field="mechanism", found=mechanism, allowed="mechanisms with a log_density", where="audit_algorithm"
            )
        value = np.asanyarray(release_exactly(asked.totals[side], mechanism, rng))
        for each in (0, 1):
            center = asked.totals[each].nearest()
            if value.dtype.kind in "iu":
                center = center.astype(np.int64)
            density = float(np.sum(mechanism.log_density(np.asarray(value), center)))
            logs[each] += -math.inf if math.isnan(density) else density
        return value

    purse = Purse(plan, run="transcript")
    drive(algorithm, SimulatedCurator(release, setting=setting, purse=purse, engines=engines), noise=noise)
    return 0.0 if logs[0] == logs[1] == -math.inf else logs[0] - logs[1]


class _LossItself:
    """Outputs that are losses already: their log ratio is what they are."""

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> Array:
        """The loss under the first dataset, nothing under the second."""
        losses = asfloat(output)
        return losses if str(value) == SIDES[0] else np.zeros_like(losses)


def _plan_loss(plan: Event, setting: Setting, registry: Registry) -> Loss:
    """The plan's price in the tightest notion that it has a closed form in: pure, else Gaussian, else at one delta."""
    try:
        return PureDP(epsilon=account(plan, "pure", setting.neighbours, registry).epsilon(delta=0.0))
    except (DpkitError, ValueError):
        pass
    try:
        state = account(plan, "gdp", setting.neighbours, registry).state
        return GDP(mu=sqrt_up(state.mu_squared))
    except DpkitError:
        best = account(plan, "best", setting.neighbours, registry)
        return ApproxDP(epsilon=best.epsilon(delta=_DELTA), delta=_DELTA)


def audit_named_algorithm(
    name: str,
    parameters: Mapping[str, object],
    noise: float,
    *,
    setting: DeclaredSetting,
    tables: tuple[Columns, Columns],
    claim: Loss | None = None,
    confidence: float = 0.999,
    samples: int = 2_000,
    rng: np.random.Generator | int | None = None,
    time: float | None = None,
    registry: Registry | None = None,
) -> list[AuditCertificate]:
    """`audit_algorithm` of the algorithm that the registry makes by this name, on two neighbouring tables.

    The certificate holds the name, the parameters, the setting and both tables, and `dpkit audit replay` runs it again.
    """
    known = default_registry() if registry is None else registry
    recipe: dict[str, object] = {
        "algorithm": name,
        "parameters": encode(dict(parameters)),
        "noise": float(noise),
        "setting": _encode_setting(setting),
        "tables": encode([{column: list(values) for column, values in table.items()} for table in tables]),
        "claim": "plan" if claim is None else "given",
    }
    for part in ("parameters", "tables"):
        if recipe[part] is None:
            allowed = "numbers, texts and lists of these"
            raise InvalidValueError(field=part, found="values of other types", allowed=allowed, where="audit")
    sources = [open_source(dict(table), setting.schema, unit=setting.unit, neighbours=setting.neighbours) for table in tables]
    return audit_algorithm(
        known.algorithm(name).prepare(setting, **parameters),
        noise,
        setting=setting,
        engines=(BlockEngine(sources[0]), BlockEngine(sources[1])),
        claim=claim,
        confidence=confidence,
        samples=samples,
        rng=rng,
        time=time,
        name=name,
        registry=known,
        recipe=recipe,
    )


def rerun_algorithm(
    recipe: Mapping[str, Any], certificate: AuditCertificate, *, samples: int, registry: Registry
) -> list[AuditCertificate]:
    """The same audit, from its recipe and the seed of the certificate."""
    try:
        parameters, tables = decode(recipe["parameters"]), decode(recipe["tables"])
        name, noise, setting = str(recipe["algorithm"]), float(recipe["noise"]), _decode_setting(recipe["setting"])
        given = recipe["claim"] == "given"
    except (KeyError, TypeError, ValueError) as error:
        raise SerialisationError(reason=f"the recipe names no audit of an algorithm ({type(error).__name__}).") from None
    return audit_named_algorithm(
        name,
        parameters,
        noise,
        setting=setting,
        tables=(tables[0], tables[1]),
        claim=certificate.claim.loss if given else None,
        confidence=certificate.confidence,
        samples=samples,
        rng=certificate.seed,
        registry=registry,
    )


def _encode_setting(setting: DeclaredSetting) -> dict[str, object]:
    return {
        "columns": [_column(column) for column in setting.schema.columns],
        "let": [_derived(column) for column in setting.schema.let],
        "where": [condition.sql for condition in setting.schema.where],
        "neighbours": setting.neighbours.value,
        "unit": {"column": setting.unit.column, "at_most": setting.unit.at_most},
        "rows": setting.rows,
    }


def _derived(column: Derived) -> list[object]:
    if column.joined:
        raise InvalidValueError(field="schema", found="a joined table", allowed="columns that a recipe can hold", where="audit")
    return [column.name, column.sql, column.lower, column.upper]


def _column(column: Column) -> dict[str, object]:
    kind = type(column).__name__
    if _KINDS.get(kind) is not type(column):
        raise InvalidValueError(field="schema", found=kind, allowed="columns of dpkit's own kinds", where="audit")
    body: dict[str, object] = {"is": kind}
    for part in dataclasses.fields(column):  # type: ignore[arg-type]
        if not part.init:
            continue
        value = getattr(column, part.name)
        body[part.name] = {"policy": value.value} if isinstance(value, Policy) else encode(value)
    return body


def _decode_setting(node: Mapping[str, Any]) -> DeclaredSetting:
    try:
        columns = []
        for column in node["columns"]:
            fields = {
                name: Policy(value["policy"]) if "policy" in value else decode(value)
                for name, value in column.items()
                if name != "is"
            }
            columns.append(_KINDS[column["is"]](**fields))
        unit = PrivacyUnit(column=node["unit"]["column"], at_most=node["unit"]["at_most"])
        neighbours = Neighbours(node["neighbours"])
        schema = Schema(columns=tuple(columns))
        for name, sql, lower, upper in node.get("let", ()):
            schema = schema.with_derived(derive(name, sql, schema.facts, lower=lower, upper=upper))
        for sql in node.get("where", ()):
            schema = schema.with_condition(require(sql, schema.facts))
        return DeclaredSetting(schema=schema, neighbours=neighbours, unit=unit, rows=node["rows"])
    except (KeyError, TypeError, ValueError, DpkitError) as error:
        if isinstance(error, SerialisationError):
            raise
        raise SerialisationError(reason=f"the recipe holds no setting ({type(error).__name__}).") from None
