"""The report of a run: one self-contained page of public facts and released values. This file says what is shown, the template
report.html how; it escapes every value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from markupsafe import Markup

from dpkit._version import __version__
from dpkit.analysis.outputs import check_outputs, write_output
from dpkit.analysis.plan import Plan
from dpkit.analysis.reading.read_yaml import written_yaml
from dpkit.analysis.reading.spec import Spec
from dpkit.analysis.run_plan import Result
from dpkit.analysis.showing.documents import Coefficient, is_number, jsonable, split_coefficients
from dpkit.analysis.showing.html import rendered
from dpkit.analysis.showing.text import at_most, factor_text, odds, relied_rows
from dpkit.auditing.algorithms.audit_analysis import AnalysisAudit
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.contracts.mechanism import Scaled
from dpkit.errors import SerialisationError
from dpkit.numerics.rounding import in_full, percent_up, round_up
from dpkit.pricing.serialise import strict_json
from dpkit.privacy.neighbours import Neighbours
from dpkit.report.pictures import bars, curves, intervals

AUDIT = "audit.json"
"""The file beside a report that `dpkit audit FILE.yaml` writes, of the kind `AUDIT_KIND`."""
AUDIT_KIND = "audit of an analysis"

_POINTS = 25
_MOST = 30
_SECTION = re.compile(r'<section id="audit">.*?</section>', flags=re.DOTALL)

Figures = list[tuple[str, Markup]]
"""Captions with their pictures."""


def write_report(result: Result, path: Path) -> Path:
    """Write the report; `OutputError` where it cannot be written, or where something else stands."""
    check_outputs(result.plan.spec, {"report": path})
    write_output(path, report_html(result))
    return path


def report_html(result: Result) -> str:
    """The whole page."""
    plan, explained = result.plan, result.plan.explanation
    charged = sorted(((explained.accountant, explained.epsilon), *explained.others), key=lambda row: row[1])
    caption = f"epsilon at delta = {in_full(plan.delta)}, as each accountant would have charged it"
    accountants = bars([row for row in charged if math.isfinite(row[1])], title="epsilon by accountant", shown=at_most)
    page = rendered(
        "report/report.html",
        result=result,
        plan=plan,
        version=__version__,
        replaced=plan.guarantee.neighbours is Neighbours.REPLACE_ONE,
        power=percent_up(most_power(plan.epsilon, plan.delta)),
        factor=factor_text(plan.epsilon),
        errors=errors_figures(result),
        coefficients=coefficients_figures(result),
        signal=_signal_figures(result),
        steps=bars([(step.id, 100.0 * step.part) for step in plan.steps], title="part of the price by step", unit="%"),
        accountants=[(caption, accountants)],
        profile=_profile(plan),
        convergence=_convergence_figures(result),
        relied=relied_rows(plan),
        audit=audit_beside(plan.spec),
        plugins=[plugin for plugin in plan.spec.installed.plugins if plugin.healthy],
        document=written_yaml(plan.spec.document),
    )
    return str(page)


def most_power(epsilon: float, delta: float, *, false_alarms: Fraction = Fraction(5, 100)) -> float:
    """A bound on the power of any test at this false-alarm rate, rounded up (Wasserman and Zhou 2010; KOV17)."""
    factor = odds(epsilon)
    if math.isinf(factor):
        return 1.0
    grown = Fraction(factor)
    return round_up(min(Fraction(1), grown * false_alarms + Fraction(delta), 1 - (1 - false_alarms - Fraction(delta)) / grown))


def errors_figures(result: Result) -> Figures:
    """Answers with the errors that were expected of them at 95%, where the algorithm knew them before it saw data."""
    figures = []
    for step in result.plan.steps:
        outcome = result.outcomes.get(step.id)
        answer = jsonable(outcome.result) if outcome is not None else None
        rows = list(_with_errors(answer, step.errors, step.id))[:_MOST]
        if rows:
            figures.append((f"{step.id}: answers with their errors at 95%", intervals(rows, title=step.id)))
    return figures


def _with_errors(answer: object, errors: Mapping[str, float], step: str) -> Iterator[tuple[str, float, float, float]]:
    """Answers that state an error (`estimate` or `estimates` with `error`), and those whose error was foretold by name."""
    if not isinstance(answer, Mapping):
        return
    found = [(name, answer.get(name), foretold) for name, foretold in errors.items()]
    error, cells, values = answer.get("error"), answer.get("cells"), answer.get("estimates")
    if is_number(error):
        found.append((step, answer.get("estimate"), error))
        if isinstance(cells, list) and isinstance(values, list) and len(cells) == len(values):
            found += [(str(name), value, error) for name, value in zip(cells, values, strict=True)]
    for name, value, reach in found:
        if is_number(value):
            yield name, value, value - reach, value + reach


def coefficients_figures(result: Result) -> Figures:
    """Coefficients with their intervals; one picture for those of a like size: the slope of a mile and that of a level do not
    share a scale.
    """
    figures = []
    for name, outcome in result.outcomes.items():
        found, _ = split_coefficients(jsonable(outcome.result))
        for group in _alike(found[:_MOST]):
            rows = [(one.name, one.value, *one.ends) for one in group]
            figures.append((f"{name}: coefficients", intervals(rows, title=f"coefficients of {name}")))
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
    """How many times its noise each released value is: below 2 or so, it says little."""
    scales = {
        (step.id, query.name, repr(mechanism)): mechanism.scale if isinstance(mechanism, Scaled) else None
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


def _profile(plan: Plan) -> Markup:
    """delta against epsilon, for the plan."""
    highest = 1.5 * plan.epsilon if math.isfinite(plan.epsilon) else 1.0
    at = [highest * place / _POINTS for place in range(_POINTS + 1)]
    points = [(epsilon, math.log10(delta)) for epsilon in at if (delta := plan.guarantee.delta(epsilon=epsilon)) > 0.0]
    return curves([("profile", points)], title="privacy profile", across="epsilon", up="log10 delta")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAudit:
    """What the audit beside a report found; or the `note` that says why nothing is shown."""

    note: str = ""
    certificates: tuple[AuditCertificate, ...] = ()
    queries: tuple[str, ...] = ()
    wrong: frozenset[str] = frozenset()

    @property
    def is_refuted(self) -> bool:
        """Whether anything that the analysis relies on is false."""
        return bool(self.wrong) or any(one.refuted for one in self.certificates)


def write_audit(found: AnalysisAudit, spec: Spec) -> tuple[Path, ...]:
    """Write the audit beside the report; a report of this very analysis that is there shows it from now on.

    The fingerprint says which analysis it is of: no other report shows it.
    """
    path = spec.report.parent / AUDIT
    check_outputs(spec, {AUDIT_KIND: path})
    write_output(path, json.dumps({"dpkit-analysis-audit": 1, "analysis": spec.fingerprint, **found.as_json()}, indent=2))
    page = spec.report.read_text(encoding="utf-8") if spec.report.is_file() else ""
    if f"analysis {spec.fingerprint}" not in page or not _SECTION.search(page):
        return (path,)
    section = str(rendered("analysis/showing/pieces.html", "audit", found=audit_beside(spec)))
    write_output(spec.report, _SECTION.sub(lambda _: section, page, count=1))
    return path, spec.report


def audit_beside(spec: Spec) -> FoundAudit:
    """The audit beside the report of this analysis, or that there is none."""
    path = spec.report.parent / AUDIT
    if not path.is_file():
        return FoundAudit(
            note=f"No audit belongs to this run. `dpkit audit {spec.path.name}` tries to falsify what it relies on."
        )
    try:
        document = strict_json(path.read_bytes())
        if document["analysis"] != spec.fingerprint:
            return FoundAudit(note=f"{AUDIT} belongs to another analysis. `dpkit audit {spec.path.name}` audits this one.")
        return FoundAudit(
            certificates=tuple(AuditCertificate.from_json(json.dumps(one)) for one in document["certificates"]),
            queries=tuple(map(str, document["queries"])),
            wrong=frozenset(str(one["query"]) for one in document["excesses"]),
        )
    except SerialisationError as error:
        return FoundAudit(note=f"{AUDIT} is not shown: {error}")
    except (OSError, ValueError, KeyError, TypeError):
        return FoundAudit(note=f"{AUDIT} is not shown: it is not the audit of an analysis.")
