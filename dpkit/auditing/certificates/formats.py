"""Certificates for people (text, one HTML page) and for continuous integration (JUnit, SARIF)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from urllib.parse import quote
from xml.etree import ElementTree

from dpkit._version import __version__
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.recipe import read_recipe
from dpkit.errors import visible
from dpkit.numerics.rounding import format_down, format_up, in_full

TITLES = {
    "real arithmetic": "the claim, in real arithmetic",
    "floating point": "the claim, of what runs in floating point",
    "declared law": "that the samples follow the declared law",
    "records": "that what was recorded adds up and is covered",
}


_CODE = 400
"""Characters of an event's code that a text shows."""

LOOKED_FOR = {
    "black box": (
        "tails of entries, norms, spectra and learned ratios, values that repeat, ties with numbers of the datasets, narrow "
        "intervals of an entry"
    ),
    "white box": "tails of the declared privacy loss",
    "support": "outputs that the declared density excludes",
    "floating point": "last bits of entries",
}
"""By falsifier, the events that it bets on."""


def rows_of(one: AuditCertificate) -> list[tuple[str, str]]:
    """What a certificate says, by name: why, then how to check it. Bounds are rounded to their safe sides."""
    witness, power = one.witness, one.power
    counted = "" if witness.hits is None else f"{witness.hits[0]} against {witness.hits[1]}"
    evidence = "proof" if one.log_e_value == math.inf else f"e-value {format_down(one.e_value, digits=4)}"
    found = ""
    if power is not None:
        # through rarer events only larger violations are found, so the kind of event is named
        event = "" if one.power_event is None else f", through an event of probability {format_up(one.power_event, digits=2)}"
        smallest = "none" if power == math.inf else f"epsilon = {format_up(power, digits=4)} at that delta{event}"
        found = f"smallest violation found with probability 0.95 (approximately): {smallest}. {looked_for(one)}"
    if one.fresh_log_e_value is not None:
        again = format_down(one.fresh_log_e_value, digits=4)
        counted = f"ln of the e-value of the fixed alternative on {one.bound_samples} fresh samples: {again}"
    elif counted:
        counted += f" of {witness.trials} fresh samples each"
    pilots = f" ({one.pilot_samples} of them pilots)" if one.pilot_samples else ""
    software = ", ".join(f"{name} {version}" for name, version in one.software)
    return [
        ("claim", f"{one.claim.loss}{'' if one.relation else f' under {one.claim.neighbours}'} ({one.claim.because})"),
        ("neighbours", one.relation),
        ("tested", f"{TITLES[one.hypothesis]}, by: {', '.join(one.tried)}"),
        ("datasets", ("\nagainst\n" if "\n" in "".join(witness.pair) else "  against  ").join(map(_dataset, witness.pair))),
        ("event", witness.event),
        ("as code", witness.code if witness.event else ""),
        ("output", str(list(witness.output)) if witness.output else ""),
        ("counted", counted),
        ("evidence", f"{evidence} from {one.samples} samples{pilots}; refuted at {format_up(1.0 / one.level, digits=4)}"),
        ("lower bound", "" if one.hypothesis in ("declared law", "records") else _bound(one)),
        ("power", found),
        ("note", one.note),
        ("signed by", one.signer),
        ("confidence", f"{in_full(one.confidence)} over the whole audit; seed {one.seed}; {software}"),
    ]


def _dataset(text: str) -> str:
    """A dataset as a witness holds it; a file by its path alone."""
    return re.sub(r"^(?:Posix|Windows)Path\('(.*)'\)$", r"\1", text)


def _bound(one: AuditCertificate) -> str:
    """What is known of epsilon; a refutation that fresh samples do not support says no number that it does not have."""
    at = f"at delta = {in_full(one.delta)}"
    if one.refuted and not one.confirmed:
        counts = (
            "no fresh samples were counted"
            if one.witness.hits is None
            else f"fresh counts give {format_down(one.epsilon_lower)}"
        )
        return f"refuted by the process, not confirmed ({counts} {at}, which the claim allows)"
    if one.refuted and not one.epsilon_lower:
        return f"the claim is broken {at}; by how much was not computed"
    return f"epsilon >= {format_down(one.epsilon_lower)} {at}"


def verdict_of(one: AuditCertificate) -> str:
    """The verdict, and whether a refutation was confirmed on fresh samples."""
    return "refuted by the process, not confirmed" if one.refuted and not one.confirmed else one.verdict


def looked_for(one: AuditCertificate) -> str:
    """What the power of a certificate is about: nothing else is excluded by it."""
    kinds = "; ".join(LOOKED_FOR[name] for name in one.tried if name in LOOKED_FOR)
    seen = kinds or "what its falsifiers see"
    return f"Looked for, at these datasets alone: {seen}. Rarer events, and events of other kinds, are not excluded"


def as_text(certificate: AuditCertificate) -> str:
    """A dozen lines: verdict first. Long code is cut, tables among the datasets stand under each other."""
    rows = [(name, _in_short(value) if name == "as code" else value) for name, value in rows_of(certificate) if value]
    lines = [f"  {name:11} {_indented(value)}" for name, value in rows]
    return visible("\n".join([f"{verdict_of(certificate).upper()}: {certificate.target}", *lines]))


def _in_short(code: str) -> str:
    if len(code) <= _CODE:
        return code
    return f"{code[:_CODE]}… ({len(code):,} characters; whole in the JSON of the certificate)"


def _indented(value: str) -> str:
    """A value of several lines, each where the first begins."""
    if "\n" not in value:
        return value
    return ("\n" + value).replace("\n", "\n" + " " * 14)


def as_html(certificates: Sequence[AuditCertificate]) -> str:
    """A page with a table for each certificate, and the sealed JSON beneath it, from which it can be replayed.

    Nothing is loaded from elsewhere, nothing runs, and every word from outside is escaped.
    """
    from dpkit.analysis.showing.html import render

    return str(render("auditing/certificates/page.html", certificates=certificates, rows_of=rows_of, verdict_of=verdict_of))


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
            message = f"{verdict_of(one)}, by {one.falsifier}"
            failure = ElementTree.SubElement(case, "failure", message=message, type="refuted")
            failure.text = str(one)
        elif one.verdict == "inconclusive":
            ElementTree.SubElement(
                case, "skipped", message=f"inconclusive: {one.note or 'too few samples to find any violation'}"
            )
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


_BADGES = {"refuted": "#b00020", "inconclusive": "#666", "not refuted": "#2e7d32"}


def as_badge(certificates: Sequence[AuditCertificate]) -> str:
    """A picture of two words for a page about the target: the worst verdict of all. Not refuted is no proof."""
    order = ("refuted", "inconclusive", "not refuted")
    worst = min((one.verdict for one in certificates), key=order.index, default="inconclusive")
    words = "refuted, not confirmed" if worst == "refuted" and not any(one.confirmed for one in certificates) else worst
    left, right = 76, 14 + 7 * len(words)
    title = f"<title>dpkit audit: {words}</title>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">{title}'
        f'<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{_BADGES[worst]}"/>'
        f'<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left // 2}" y="14">dpkit audit</text><text x="{left + right // 2}" y="14">{words}</text></g></svg>\n'
    )


def as_sarif(certificates: Sequence[AuditCertificate]) -> str:
    """SARIF 2.1.0: one rule a falsifier, one result a refuted claim, at the file and line of what was audited."""
    refuted = [one for one in certificates if one.refuted]
    rules = sorted({one.falsifier for one in refuted})
    results = [
        {
            "ruleId": one.falsifier,
            "level": "error",
            "message": {"text": str(one)},
            "locations": [_location(one)],
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


def _location(one: AuditCertificate) -> dict[str, object]:
    """Where the target is written, as its recipe says; by its name alone where it has no file."""
    found: dict[str, object] = {"logicalLocations": [{"fullyQualifiedName": one.target}]}
    place = read_recipe(one.recipe).get("place")
    if isinstance(place, dict) and isinstance(place.get("file"), str):
        line = place.get("line")
        region = {"region": {"startLine": line}} if isinstance(line, int) and line > 0 else {}
        found["physicalLocation"] = {"artifactLocation": {"uri": quote(place["file"])}, **region}
    return found
