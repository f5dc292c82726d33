"""The audit of an analysis beside its report: `audit.json`, which `dpkit audit FILE.yaml` writes, and the section it fills."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

from dpkit.analysis.outputs import check_outputs, write_output
from dpkit.analysis.reading.spec import Spec
from dpkit.analysis.showing.pieces import Markup, element, html_table, joined
from dpkit.auditing.algorithms.audit_analysis import AnalysisAudit
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.errors import SerialisationError
from dpkit.numerics.rounding import format_down, format_up, in_full
from dpkit.pricing.serialise import strict_json

FILE = "audit.json"
KIND = "audit of an analysis"
_SECTION = re.compile(r'<section id="audit">.*?</section>', flags=re.DOTALL)


def write_audit(found: AnalysisAudit, spec: Spec) -> tuple[Path, ...]:
    """Write the audit beside the report; a report of this very analysis that is there shows it from now on.

    The fingerprint says which analysis it is of: no other report shows it.
    """
    path = spec.report.parent / FILE
    check_outputs(spec, {KIND: path})
    write_output(path, json.dumps({"dpkit-analysis-audit": 1, "analysis": spec.fingerprint, **found.as_json()}, indent=2))
    page = spec.report.read_text(encoding="utf-8") if spec.report.is_file() else ""
    if f"analysis {spec.fingerprint}" not in page or not _SECTION.search(page):
        return (path,)
    section = str(element("section", element("h2", "Audit"), audit_piece(spec), id="audit"))
    write_output(spec.report, _SECTION.sub(lambda _: section, page, count=1))
    return path, spec.report


def audit_piece(spec: Spec) -> Markup:
    """The verdicts of the audit beside the report, or that there is none for this analysis."""
    path = spec.report.parent / FILE
    if not path.is_file():
        return _soft(f"No audit belongs to this run. `dpkit audit {spec.path.name}` tries to falsify what it relies on.")
    try:
        document = strict_json(path.read_bytes())
        if document["analysis"] != spec.fingerprint:
            return _soft(f"{FILE} is of another analysis. `dpkit audit {spec.path.name}` audits this one.")
        certificates = [AuditCertificate.from_json(json.dumps(one)) for one in document["certificates"]]
        return _verdicts(document, certificates)
    except SerialisationError as error:
        return _soft(f"{FILE} is not shown: {error}")
    except (OSError, ValueError, KeyError, TypeError):
        return _soft(f"{FILE} is not shown: it is not the audit of an analysis.")


def _verdicts(document: Mapping[str, object], certificates: list[AuditCertificate]) -> Markup:
    queries, excesses = document["queries"], document["excesses"]
    assert isinstance(queries, list)
    assert isinstance(excesses, list)
    wrong = {one["query"] for one in excesses}
    refuted = bool(wrong) or any(one.refuted for one in certificates)
    verdict = (
        "REFUTED: something that this analysis relies on is false."
        if refuted
        else f"Nothing that this analysis relies on was refuted, by {len(certificates)} audits of its noise at its own "
        f"parameters and searches for neighbours on {len(queries)} queries. That is no proof; the theorems are above."
    )
    rows = [
        (
            one.target,
            one.verdict,
            one.hypothesis,
            f"{one.samples:,}",
            f"{format_down(one.epsilon_lower, digits=3)} at {in_full(one.delta)}",
            _power(one),
        )
        for one in certificates
    ]
    head = ("noise", "verdict", "tested", "samples", "epsilon is at least", "would have found")
    sums = [(name, "refuted" if name in wrong else "not refuted") for name in queries]
    return joined(
        [
            element("p", verdict, cls="stamp" if refuted else "lead"),
            html_table(head, rows),
            html_table(("query: does it move further than it claims?", "verdict"), sums),
        ]
    )


def _power(one: AuditCertificate) -> str:
    return "-" if one.power is None or not math.isfinite(one.power) else f"epsilon {format_up(one.power, digits=3)}"


def _soft(text: str) -> Markup:
    return element("p", text, cls="soft")
