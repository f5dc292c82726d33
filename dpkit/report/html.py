"""The report of a run: one self-contained page of public facts and released values. This file says what is shown, the template
report.html how; it escapes every value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from dpkit._version import __version__
from dpkit.accounting import account
from dpkit.analysis.outputs import check_outputs, free_outputs, kind_of_text, outputs_of, write_output
from dpkit.analysis.plan import Plan
from dpkit.analysis.reading.read_yaml import written_yaml
from dpkit.analysis.reading.spec import Spec
from dpkit.analysis.run_plan import Result
from dpkit.analysis.showing.documents import Coefficient, is_number, jsonable, split_coefficients
from dpkit.analysis.showing.html import render
from dpkit.analysis.showing.tables import AnswerTable, split_tables
from dpkit.analysis.showing.text import factor_text, relied_rows
from dpkit.contracts.mechanism import Accurate, Scaled
from dpkit.errors import SerialisationError
from dpkit.numerics.rounding import percent_up
from dpkit.pricing.serialise import strict_json
from dpkit.privacy.neighbours import Neighbours
from dpkit.privacy.tradeoff import least_power, pair_power
from dpkit.release.ledger.sqlite_store import user
from dpkit.report.found_audits import AUDIT, FoundAudit, read_audit
from dpkit.report.pictures import Point, bars, curves, gauge, intervals

if TYPE_CHECKING:
    from dpkit.auditing.algorithms.audit_analysis import AnalysisAudit

AUDIT_KIND = "audit of an analysis"

_POINTS = 25
_RATES = 40
_MOST = 30
_SECTION = re.compile(r'<section id="audit">.*?</section>', flags=re.DOTALL)

Figures = list[tuple[str, Markup]]
"""Captions with their pictures."""


def write_report(result: Result, path: Path) -> Path:
    """Write the report; `OutputError` where it cannot be written, or where something else stands."""
    check_outputs(result.plan.spec, {"report": path})
    write_output(path, report_html(result))
    return path


def write_outputs(result: Result) -> tuple[bool, tuple[Path, ...]]:
    """Write the report, the result and the trace of a run: whether they were written now, and where they are.

    Those of other runs stay as they are, and so do its own where all that was released is given back.
    """
    spec = result.plan.spec
    outputs = outputs_of(spec, simulated=result.simulation)
    check_outputs(spec, outputs)
    places = free_outputs(spec, result.run, outputs, simulated=result.simulation)
    if result.is_repeated and all(path.exists() for path in places.values()) and _is_complete(places["result"]):
        return False, tuple(places.values())
    write_output(places["result"], json.dumps(result.as_json(), indent=2))
    write_output(places["trace"], result.trace())
    write_output(places["report"], report_html(result))
    return True, tuple(places.values())


def _is_complete(path: Path) -> bool:
    """Whether a result on the disk is that of a run which came to its end; those of earlier versions do not say."""
    try:
        document = strict_json(path.read_bytes())
        endings = document["endings"].values()
        return bool(document.get("complete", all(one["ending"] == "finished" for one in endings)))
    except (SerialisationError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def audit_place(spec: Spec) -> Path:
    """Where the audit of an analysis is written."""
    return spec.report.parent / f"{spec.path.stem}-{AUDIT}"


def report_html(result: Result) -> str:
    """The whole page."""
    plan = result.plan
    table = _table(plan)
    page = render(
        "report/report.html",
        result=result,
        plan=plan,
        version=__version__,
        replaced=plan.guarantee.neighbours is Neighbours.REPLACE_ONE,
        power=percent_up(plan.guarantee.power(0.05)),
        alone=percent_up(pair_power(plan.epsilon, plan.delta, 0.05)),
        posterior=percent_up(plan.guarantee.posterior(0.5)),
        factor=factor_text(plan.epsilon),
        errors=errors_figures(result),
        gauge=None if result.purse is None else gauge(*result.purse.parts),
        author=user(),
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        coefficients=coefficients_figures(result),
        signal=_signal_figures(result),
        steps=bars([(step.id, 100.0 * step.part) for step in plan.steps], title="part of the price by step", unit="%"),
        profile=_profile(table),
        tradeoff=_tradeoff(table, plan),
        convergence=_convergence_figures(result),
        relied=relied_rows(plan),
        audit=audit_beside(plan.spec),
        plugins=[plugin for plugin in plan.spec.installed.plugins if plugin.healthy],
        document=written_yaml(plan.spec.document),
    )
    return str(page)


def errors_figures(result: Result) -> dict[str, Figures]:
    """Of each step its answers with their intervals: counts as bars from zero, quantiles on one line of values.

    Answers that state no interval are shown with the error that was expected of them, where the algorithm knew it.
    """
    figures: dict[str, Figures] = {}
    for step in result.plan.steps:
        outcome = result.outcomes.get(step.id)
        answer = jsonable(outcome.result) if outcome is not None else None
        tables, _ = split_tables(answer)
        rows = _with_intervals(tables[0], step.id) if tables else list(_with_errors(answer, step.errors))
        if rows:
            more = f" The first {_MOST} of {len(rows)}." if len(rows) > _MOST else ""
            counts = bool(tables) and ("cell" in tables[0].columns or getattr(step, "run", "") == "count")
            drawn = intervals(rows[:_MOST], title=step.id, from_zero=counts)
            figures[step.id] = [(f"{step.id}: answers with their intervals at 95%.{more}", drawn)]
    return figures


def _with_intervals(table: AnswerTable, step: str) -> list[tuple[str, float, float, float]]:
    """What tells each row apart, its estimate and its interval."""
    if not {"estimate", "lower", "upper"} <= set(table.columns):
        return []
    at = [table.columns.index(name) for name in ("estimate", "lower", "upper")]
    rows = []
    for row in table.rows:
        value, low, high = (row[place] for place in at)
        if is_number(value) and is_number(low) and is_number(high):
            rows.append((", ".join(str(cell) for cell in row[: at[0]]) or step, value, low, high))
    return rows


def _with_errors(answer: object, errors: Mapping[str, float]) -> Iterator[tuple[str, float, float, float]]:
    """Answers whose error was foretold by name."""
    if isinstance(answer, Mapping):
        for name, reach in errors.items():
            value = answer.get(name)
            if is_number(value):
                yield name, value, value - reach, value + reach


def coefficients_figures(result: Result) -> dict[str, Figures]:
    """Of each step its coefficients with their intervals; one picture for those of a like size: the slope of a mile and that of
    a level do not share a scale.
    """
    figures: dict[str, Figures] = {}
    for name, outcome in result.outcomes.items():
        found, _ = split_coefficients(jsonable(outcome.result))
        for group in _alike(found[:_MOST]):
            rows = [(one.name, one.value, *one.ends) for one in group]
            drawn = intervals(rows, title=f"coefficients of {name}")
            figures.setdefault(name, []).append((f"{name}: coefficients", drawn))
    return figures


def _alike(found: Sequence[Coefficient]) -> list[list[Coefficient]]:
    """Groups of coefficients that one scale can show: within a factor of 50 of the group's largest."""
    reach = {one.name: max(map(abs, (one.value, *one.ends))) for one in found}
    groups: list[list[Coefficient]] = []
    for one in sorted(found, key=lambda one: reach[one.name], reverse=True):
        if groups and reach[one.name] * 50.0 >= reach[groups[-1][0].name]:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [sorted(group, key=found.index) for group in groups]


def _signal_figures(result: Result) -> Figures:
    """How many times its noise each released value is: below 2 or so, it says little. Choices are no values with noise."""
    scales = {
        (step.id, query.name, repr(mechanism)): mechanism.scale
        if isinstance(mechanism, Scaled) and isinstance(mechanism, Accurate)
        else None
        for step in result.plan.steps
        for query, mechanism in step.asked
    }
    rows: list[tuple[str, float]] = []
    counts: dict[tuple[str, str], int] = {}
    for release in result.releases:
        step = release.key.split("/", 1)[0]
        for query, mechanism, value in zip(release.queries, release.mechanisms, release.values, strict=True):
            scale = scales.get((step, query, mechanism))
            array = np.abs(np.asarray(value, dtype=np.float64))
            if is_number(scale) and scale and array.size and np.isfinite(array).all():
                counts[step, query] = counts.get((step, query), 0) + 1
                again = f" {counts[step, query]}" if counts[step, query] > 1 else ""
                rows.append((f"{query}{again}", float(np.max(array)) / scale))
    if not rows:
        return []
    more = f" The first {_MOST} of {len(rows)}." if len(rows) > _MOST else ""
    shown = bars(rows[:_MOST], title="largest released value over the scale of its noise", unit="x")
    return [(f"The largest released value, in units of its noise.{more}", shown)]


def _table(plan: Plan) -> list[Point]:
    """Points (epsilon, delta) of the plan's profile, from which pictures are drawn: by the accountant that set its price."""
    highest = 1.5 * plan.epsilon if math.isfinite(plan.epsilon) else 1.0
    at = [highest * place / _POINTS for place in range(_POINTS + 1)]
    guarantee, spec = plan.guarantee, plan.spec
    chosen = guarantee.accountant.explained_by(guarantee.state, delta=plan.delta)
    if chosen is not guarantee.accountant:
        guarantee = account(plan.event, chosen, guarantee.neighbours, spec.registry, accept=spec.budget.accept)
    return [(epsilon, guarantee.delta(epsilon=epsilon)) for epsilon in at]


def tradeoff_picture(plan: Plan) -> Markup:
    """The trade-off curve of a plan, on its own."""
    return _tradeoff(_table(plan), plan)


def _profile(table: Sequence[Point]) -> Markup:
    """delta against epsilon, for the plan."""
    points = [(epsilon, math.log10(delta)) for epsilon, delta in table if delta > 0.0]
    return curves([("profile", points)], title="privacy profile", across="epsilon", up="log10 delta")


def _tradeoff(table: Sequence[Point], plan: Plan) -> Markup:
    """The power of the best attack against its false alarms: by the whole profile, by the one pair, and of a mere guess.

    Each point of the profile bounds the power, so what is drawn is on the safe side, however few points there are.
    """
    rates = [(place / _RATES) ** 2 for place in range(_RATES + 1)]
    whole = [(rate, least_power(table, rate)) for rate in rates]
    alone = [(rate, pair_power(plan.epsilon, plan.delta, rate)) for rate in rates]
    guess = [(rate, rate) for rate in rates]
    series = [
        ("any attack on what is released", whole),
        ("as epsilon and delta alone say", alone),
        ("a mere guess", guess),
    ]
    return curves(series, title="trade-off curve", across="false-alarm rate", up="true-positive rate", height=300.0)


def _convergence_figures(result: Result) -> Figures:
    """How released values moved over iterations, for steps that release the same query again and again."""
    figures = []
    for step in result.plan.steps:
        moves: dict[str, list[float]] = {}
        before: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
        for release in result.releases:
            if release.key.split("/", 1)[0] != step.id:
                continue
            for query, value in zip(release.queries, release.values, strict=True):
                array = np.asarray(value, dtype=np.float64)
                if query in before and before[query].shape == array.shape:
                    moves.setdefault(query, []).append(float(np.linalg.norm(array - before[query])))
                before[query] = array
        series = [
            (query, [(float(n), move) for n, move in enumerate(path, start=2)])
            for query, path in moves.items()
            if len(path) > 1
        ]
        if series:
            shown = curves(series, title=f"convergence of {step.id}", across="iteration", up="change")
            figures.append((f"{step.id}: how far each released value is from the one before it", shown))
    return figures


def write_audit(found: AnalysisAudit, spec: Spec) -> tuple[Path, ...]:
    """Write the audit beside the report; reports of this very analysis that are there show it from now on.

    The fingerprint says which analysis it is of: no other report shows it.
    """
    path = audit_place(spec)
    check_outputs(spec, {AUDIT_KIND: path})
    write_output(path, json.dumps({"dpkit-analysis-audit": 1, "analysis": spec.fingerprint, **found.as_json()}, indent=2))
    section = str(render("analysis/showing/pieces.html", "audit", found=audit_beside(spec)))
    filled = []
    for report in sorted(spec.report.parent.glob(f"*{spec.report.suffix}")):
        page = report.read_text(encoding="utf-8", errors="replace") if report.is_file() else ""
        if kind_of_text(page.encode()) == "report" and f"analysis {spec.fingerprint}" in page and _SECTION.search(page):
            write_output(report, _SECTION.sub(lambda _: section, page, count=1))
            filled.append(report)
    return path, *filled


def audit_beside(spec: Spec) -> FoundAudit:
    """The audit beside the report of this analysis, or that there is none."""
    path = audit_place(spec)
    path = path if path.is_file() else path.with_name(AUDIT)  # as earlier versions called it
    if not path.is_file():
        return FoundAudit(
            note=f"No audit belongs to this run. `dpkit audit {spec.path.name}` tries to falsify what it relies on."
        )
    found = read_audit(path)
    if found.analysis not in ("", spec.fingerprint):
        return FoundAudit(note=f"{path.name} belongs to another analysis. `dpkit audit {spec.path.name}` audits this one.")
    return found
