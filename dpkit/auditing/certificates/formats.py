"""Certificates for people (text, one HTML page) and for continuous integration (JUnit, SARIF)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree

from dpkit._version import __version__
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.errors import visible
from dpkit.numerics.rounding import format_down, format_up, in_full

TITLES = {
    "real arithmetic": "the claim, in real arithmetic",
    "floating point": "the claim, of what runs in floating point",
    "declared law": "that the samples follow the declared law",
    "records": "that what was recorded adds up and is covered",
}


def power_in_words(certificate: AuditCertificate) -> str:
    """The violation, and the kind of event it is stated for: through rarer events only larger ones are found."""
    if certificate.power is None or certificate.power == math.inf:
        return "none"
    event = (
        ""
        if certificate.power_event is None
        else f", through an event of probability {format_up(certificate.power_event, digits=2)}"
    )
    return f"epsilon = {format_up(certificate.power, digits=4)} at that delta{event}"


def evidence_in_words(certificate: AuditCertificate) -> str:
    """The e-value, rounded down, and the one that refutes, rounded up."""
    proved = certificate.log_e_value == math.inf
    evidence = "proof" if proved else f"e-value {format_down(certificate.e_value, digits=4)}"
    return f"{evidence} from {certificate.samples} samples; refuted at {format_up(1.0 / certificate.level, digits=4)}"


def lower_bound_in_words(certificate: AuditCertificate) -> str:
    """What epsilon is at least, rounded down."""
    return f"epsilon >= {format_down(certificate.epsilon_lower)} at delta = {in_full(certificate.delta)}"


def as_text(certificate: AuditCertificate) -> str:
    """A dozen lines: verdict first, then why, then how to check it."""
    witness = certificate.witness
    lines = [
        f"{certificate.verdict.upper()}: {certificate.target}",
        f"  claim       {certificate.claim.loss} under {certificate.claim.neighbours} ({certificate.claim.because})",
        f"  tested      {TITLES[certificate.hypothesis]}, by: {', '.join(certificate.tried)}",
        f"  datasets    {witness.pair[0]}  against  {witness.pair[1]}",
    ]
    if witness.event:
        lines += [f"  event       {witness.event}", f"  as code     {witness.code}"]
    if witness.output:
        lines.append(f"  output      {list(witness.output)}")
    if witness.hits is not None:
        lines.append(f"  counted     {witness.hits[0]} against {witness.hits[1]} of {witness.trials} fresh samples each")
    lines.append(f"  evidence    {evidence_in_words(certificate)}")
    lines.append(f"  lower bound {lower_bound_in_words(certificate)}")
    if certificate.power is not None:
        lines.append(
            f"  power       smallest violation found with probability 0.95 (approximately): {power_in_words(certificate)}"
        )
    if certificate.note:
        lines.append(f"  note        {certificate.note}")
    software = ", ".join(f"{name} {version}" for name, version in certificate.software)
    lines.append(f"  confidence  {in_full(certificate.confidence)} over the whole audit; seed {certificate.seed}; {software}")
    return visible("\n".join(lines))


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;padding:0 1em;color:#222}"
    "article{border:1px solid #ccc;border-left:.5em solid #888;padding:0 1em 1em;margin:2em 0}"
    "article.refuted{border-left-color:#b00020}article.not-refuted{border-left-color:#2e7d32}"
    "th{text-align:left;vertical-align:top;padding-right:1em;font-weight:600;white-space:nowrap}"
    "td{overflow-wrap:anywhere}pre{overflow-x:auto;background:#f6f6f6;padding:.5em}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def as_html(certificates: Sequence[AuditCertificate]) -> str:
    """A page with a table for each certificate, and the sealed JSON beneath it, from which it can be replayed.

    Nothing is loaded from elsewhere, nothing runs, and every word from outside is escaped.
    """
    refuted = sum(one.refuted for one in certificates)
    body = "".join(map(_article, certificates))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>dpkit audit: {refuted} of {len(certificates)} refuted</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>Audit: {refuted} of {len(certificates)} hypotheses refuted</h1>\n"
        "<p>Refuted: the claim is false, or something of probability at most 1 - confidence happened. "
        "Not refuted is no proof.</p>\n"
        f"{body}</body></html>\n"
    )


def _article(one: AuditCertificate) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>\n" for name, value in _rows(one) if value)
    return (
        f'<article class="{escape(one.verdict.replace(" ", "-"))}"><h2>{escape(one.verdict)}: {escape(one.target)}</h2>\n'
        f"<table>{rows}</table>\n<details><summary>Certificate as JSON</summary><pre>{escape(one.to_json())}</pre></details>"
        "</article>\n"
    )


def _rows(one: AuditCertificate) -> list[tuple[str, str]]:
    witness = one.witness
    power = "" if one.power is None else power_in_words(one)
    counted = "" if witness.hits is None else f"{witness.hits[0]} against {witness.hits[1]} of {witness.trials} each"
    return [
        ("claim", f"{one.claim.loss} under {one.claim.neighbours}"),
        ("because", str(one.claim.because)),
        ("assuming", ", ".join(one.claim.assuming)),
        ("tested", TITLES[one.hypothesis]),
        ("falsifiers", ", ".join(one.tried)),
        ("datasets", f"{witness.pair[0]} against {witness.pair[1]}"),
        ("event", witness.event),
        ("as code", witness.code),
        ("output", ", ".join(map(repr, witness.output))),
        ("counted", counted),
        ("evidence", evidence_in_words(one)),
        ("lower bound", lower_bound_in_words(one)),
        ("power", power and f"smallest violation found with probability 0.95 (approximately): {power}"),
        ("confidence", f"{in_full(one.confidence)} over the whole audit"),
        ("seed", str(one.seed)),
        ("software", ", ".join(f"{name} {version}" for name, version in one.software)),
        ("note", one.note),
        ("digest", one.digest),
    ]


def as_junit(certificates: Sequence[AuditCertificate]) -> str:
    """One test case a certificate: refuted is a failure, inconclusive is skipped."""
    suite = ElementTree.Element(
        "testsuite",
        name="dpkit audit",
        tests=str(len(certificates)),
        failures=str(sum(one.refuted for one in certificates)),
        skipped=str(sum(one.verdict == "inconclusive" for one in certificates)),
    )
    for one in certificates:
        case = ElementTree.SubElement(suite, "testcase", classname=one.target, name=f"{one.claim.loss}, {one.hypothesis}")
        if one.refuted:
            failure = ElementTree.SubElement(case, "failure", message=f"refuted by {one.falsifier}", type="refuted")
            failure.text = str(one)
        elif one.verdict == "inconclusive":
            ElementTree.SubElement(case, "skipped", message="inconclusive: too few samples to find any violation")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def as_sarif(certificates: Sequence[AuditCertificate]) -> str:
    """SARIF 2.1.0: one rule a falsifier, one result a refuted claim."""
    refuted = [one for one in certificates if one.refuted]
    rules = sorted({one.falsifier for one in refuted})
    results = [
        {
            "ruleId": one.falsifier,
            "level": "error",
            "message": {"text": str(one)},
            "locations": [{"logicalLocations": [{"fullyQualifiedName": one.target}]}],
            "fingerprints": {"dpkitAudit/v1": one.digest},
        }
        for one in refuted
    ]
    driver = {"name": "dpkit audit", "version": __version__, "rules": [{"id": name} for name in rules]}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=2)
