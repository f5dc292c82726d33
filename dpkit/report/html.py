"""The report of a run: one self-contained page. It carries public facts and released values, all of them escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from dpkit._version import __version__
from dpkit.analysis.outputs import check_outputs, write_output
from dpkit.analysis.plan import Plan
from dpkit.analysis.reading.read_yaml import written_yaml
from dpkit.analysis.run_plan import Result
from dpkit.analysis.showing.documents import plugins_document
from dpkit.analysis.showing.pieces import Markup, answers, element, html_table, joined, releases_table, steps_table, trusted
from dpkit.analysis.showing.text import factor_text, odds, relied_rows
from dpkit.numerics.rounding import in_full, percent_up, round_up
from dpkit.privacy.neighbours import Neighbours
from dpkit.report.audits import audit_piece
from dpkit.report.figures import (
    accountants_figure,
    coefficients_figure,
    convergence_figure,
    errors_figure,
    profile_figure,
    signal_figure,
    steps_figure,
)

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5c6675; --page: #fff; --card: #f5f7fa; --rule: #d9dfe7;
  --warn: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #a0abba; --page: #12161d; --card: #1b212b; --rule: #323b49; --warn: #ff8a80 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.2rem; max-width: 52rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--page) }
h1 { font-size: 1.5rem; margin: .2em 0 } h2 { font-size: 1.15rem; margin: 2em 0 .5em; border-bottom: 1px solid var(--rule) }
h3 { font-size: 1rem; margin: 1em 0 .3em }
h1, p, li, pre { overflow-wrap: anywhere } td, th { overflow-wrap: break-word }
.lead { background: var(--card); border-left: 4px solid #3b6fd4; padding: .8rem 1rem; border-radius: 4px }
.stamp { border: 2px solid var(--warn); color: var(--warn); padding: .6rem 1rem; font-weight: 600; border-radius: 4px }
.soft { color: var(--soft); font-size: .92em }
.scroll { overflow-x: auto; max-width: 100% }
table { border-collapse: collapse; width: 100%; font-size: .92em }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--rule); vertical-align: top }
svg { width: 100%; max-width: 36rem; height: auto; display: block; margin: .6rem 0 }
pre { background: var(--card); padding: .8rem; border-radius: 4px; white-space: pre-wrap; font-size: .85em }
@media (max-width: 34rem) { body { padding: .8rem; font-size: 15px } }
@media print { body { max-width: none } h2, h3 { break-after: avoid } svg, tr { break-inside: avoid } }
"""


def write_report(result: Result, path: Path) -> Path:
    """Write the report; `OutputError` where it cannot be written, or where something else stands."""
    check_outputs(result.plan.spec, {"report": path})
    write_output(path, report_html(result))
    return path


def report_html(result: Result) -> str:
    """The whole page."""
    plan = result.plan
    title = f"{plan.spec.path.stem}: a private analysis of {plan.spec.data.name}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="generator", content=f"dpkit {__version__}"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        element("title", title),
        element("style", trusted(STYLE)),
    )
    sections = [
        ("The guarantee", _guarantee(plan)),
        ("Results", joined([answers(result), errors_figure(result), coefficients_figure(result)])),
        ("Noise against signal", joined([releases_table(plan), signal_figure(result)])),
        ("Where epsilon went", joined([steps_table(plan), steps_figure(plan), accountants_figure(plan)])),
        ("Privacy profile", joined([profile_figure(plan), _soft("delta against epsilon: every point on the curve holds.")])),
        ("Convergence", convergence_figure(result)),
        ("What this relies on", _claims(plan)),
        ("Audit", audit_piece(plan.spec)),
        ("Plugins and versions", _versions(plan)),
        ("How to reproduce", _reproduction(result)),
    ]
    body = [element("h1", title), *_stamps(result)]
    body += [
        element("section", element("h2", name), content, id=name.split()[0].lower())
        for name, content in sections
        if str(content)
    ]
    page = element("html", head, element("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _soft(text: str) -> Markup:
    return element("p", text, cls="soft")


def _stamps(result: Result) -> list[Markup]:
    stamps = []
    if result.earlier:
        stamps.append(element("p", result.earlier, cls="stamp"))
    if result.simulation:
        stamps.append(element("p", "SIMULATION: made-up data or seeded noise. These are no answers.", cls="stamp"))
    if not result.plan.guarantee.holds:
        stamps.append(element("p", "NO GUARANTEE: the price rests on rules that were accepted by name.", cls="stamp"))
    if not result.is_complete:
        stamps.append(element("p", "Not every step came to its end. The price is the whole plan's.", cls="stamp"))
    return stamps


def _guarantee(plan: Plan) -> Markup:
    """The guarantee, and what it means: for an attacker's odds, and for the power of any test."""
    epsilon, delta = plan.epsilon, plan.delta
    unit = plan.spec.data.unit
    who = "row" if unit.column is None else "person"
    replaced = plan.guarantee.neighbours is Neighbours.REPLACE_ONE
    change = f"one {who} replaced by any other" if replaced else f"one {who} more or less"
    power = most_power(epsilon, delta)
    means = [
        f"Take two datasets that differ in {change}. No test, by anybody, with any knowledge and any computer, tells which of "
        f"them was used with power above {percent_up(power)} at a false-alarm rate of 5%.",
        f"Whatever has probability p with one of them has at most {factor_text(epsilon)} p + {in_full(delta)} with the other: "
        f"so it goes for everything that could ever happen to one {who} because of what is released.",
        "It does not say that nothing can be learnt about groups: what holds for many is what an analysis is for.",
    ]
    return joined([element("p", plan.sentence, cls="lead"), element("ul", *(element("li", text) for text in means))])


def most_power(epsilon: float, delta: float, *, false_alarms: Fraction = Fraction(5, 100)) -> float:
    """A bound on the power of any test at this false-alarm rate, rounded up (Wasserman and Zhou 2010; KOV17)."""
    factor = odds(epsilon)
    if math.isinf(factor):
        return 1.0
    grown = Fraction(factor)
    return round_up(min(Fraction(1), grown * false_alarms + Fraction(delta), 1 - (1 - false_alarms - Fraction(delta)) / grown))


def _claims(plan: Plan) -> Markup:
    rows: list[Sequence[object]] = [("reading", plan.explanation.accountant, plan.explanation.because, "proved", "")]
    for share, times, event, line in relied_rows(plan):
        via = f" via {line.conversion}" if line.conversion else ""
        cited = "; ".join(map(str, line.because))
        rows.append(("price", f"{line.rule}{via}", cited, line.status, f"{times} x {event}: {share:.1%}"))
    for claim in plan.claims:
        rows.append(("mechanism", type(claim.loss).__name__, claim.because, claim.status, ", ".join(claim.assuming)))
    return html_table(("kind", "theorem", "source", "status", "used for, or assuming"), rows)


def _versions(plan: Plan) -> Markup:
    rows = [(item["name"], item["distribution"] or "-", item["version"] or "-") for item in plugins_document(plan.spec)]
    return html_table(("plugin", "distribution", "version"), rows)


def _reproduction(result: Result) -> Markup:
    spec = result.plan.spec
    lines = [
        f"dpkit {__version__}",
        f"analysis {spec.fingerprint}",
        f"run {result.run}",
        *([f"ledger digest {result.digest}"] if result.digest else []),
        f"dpkit run {spec.path.name}",
        "",
        written_yaml(spec.document),
    ]
    return joined(
        [_soft("Noise is fresh in every run; the price and the noise's scale are the same."), element("pre", "\n".join(lines))]
    )
