"""Certificates as one HTML page: nothing is loaded from elsewhere, nothing runs, and every word from outside is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.text import TITLES, evidence_in_words, lower_bound_in_words, power_in_words
from dpkit.numerics.rounding import in_full

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;padding:0 1em;color:#222}"
    "article{border:1px solid #ccc;border-left:.5em solid #888;padding:0 1em 1em;margin:2em 0}"
    "article.refuted{border-left-color:#b00020}article.not-refuted{border-left-color:#2e7d32}"
    "th{text-align:left;vertical-align:top;padding-right:1em;font-weight:600;white-space:nowrap}"
    "td{overflow-wrap:anywhere}pre{overflow-x:auto;background:#f6f6f6;padding:.5em}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def as_html(certificates: Sequence[AuditCertificate]) -> str:
    """A page with a table for each certificate, and the sealed JSON beneath it, from which it can be replayed."""
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
