"""What notebooks show of guarantees, certificates and ledgers, and pictures of plans and results. Every value is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from dpkit.analysis.showing.html import render
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down, format_up, in_full, percent_up
from dpkit.report.html import coefficients_figures, errors_figures, tradeoff_picture
from dpkit.report.pictures import bars, curves, gauge

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan
    from dpkit.analysis.run_plan import Result
    from dpkit.auditing.certificates.certificate import AuditCertificate
    from dpkit.contracts.guarantee import Guarantee
    from dpkit.release.ledger.ledger import Ledger

_DELTAS = (1e-4, 1e-6, 1e-9)
_RATES = 20


def guarantee_html(guarantee: Guarantee) -> Markup:
    """Epsilon at three deltas, the power of the best attack, and the trade-off curve where one is known."""
    rows = [("accountant", guarantee.accountant.name), ("neighbours", str(guarantee.neighbours))]
    if not guarantee.holds:
        rows.insert(0, ("NO GUARANTEE", f"rules were accepted by name: {', '.join(guarantee.unsound)}"))
    for delta in _DELTAS:
        rows.append((f"epsilon at delta {in_full(delta)}", format_up(guarantee.epsilon(delta=delta))))
    picture = Markup("")
    try:
        rates = [(place / _RATES) ** 2 for place in range(_RATES + 1)]
        whole = [(rate, guarantee.power(rate)) for rate in rates]
        rows.append(("power at 5% false alarms", percent_up(guarantee.power(0.05))))
        series = [("any attack", whole), ("a mere guess", [(rate, rate) for rate in rates])]
        picture = curves(series, title="trade-off curve", across="false-alarm rate", up="true-positive rate", height=240.0)
    except DpkitError:
        rows.append(("trade-off curve", "not known of this accountant"))
    return _shown(rows, picture)


def certificate_html(certificate: AuditCertificate) -> Markup:
    """The verdict and what it rests on; the evidence beside what refutes, and what was shown of epsilon beside the claim."""
    from dpkit.auditing.certificates.formats import rows_of, verdict_of

    rows = [(verdict_of(certificate).upper(), certificate.target)]
    rows += [(name, value) for name, value in rows_of(certificate) if value]
    return _shown(rows, _figures([*_evidence(certificate), *_epsilons(certificate)]))


def plan_figures(plan: Plan) -> Markup:
    """How the price is divided among the steps, and what the best attack could do."""
    parts = [(step.id, 100.0 * step.part) for step in plan.steps]
    return _figures(
        [
            ("Part of the price of each step, in percent.", bars(parts, title="parts of the price", unit="%")),
            ("The power of the best attack against its false alarms.", tradeoff_picture(plan)),
        ]
    )


def result_figures(result: Result) -> Markup:
    """Answers with their intervals, and coefficients with theirs, step by step."""
    found = [*errors_figures(result).values(), *coefficients_figures(result).values()]
    return _figures([figure for figures in found for figure in figures])


def _figures(figures: Iterable[tuple[str, Markup]]) -> Markup:
    """Pictures with their captions; those with nothing to show are left out."""
    one = Markup('<figure style="max-width: 36rem; margin: 1rem 0">{}<figcaption>{}</figcaption></figure>')
    return Markup("").join(one.format(picture, words) for words, picture in figures if picture)


def _evidence(certificate: AuditCertificate) -> Iterator[tuple[str, Markup]]:
    """The logarithm of the e-value, and where a claim is refuted; nothing for a proof, which needs none."""
    found, needed = certificate.log_e_value / math.log(10.0), -math.log10(certificate.level)
    if math.isfinite(found):
        both = [("found", max(found, 0.0)), ("refutes from", needed)]
        yield "Evidence against the claim: log10 of the e-value.", bars(both, title="evidence", shown=format_down)


def _epsilons(certificate: AuditCertificate) -> Iterator[tuple[str, Markup]]:
    """Epsilon as claimed and as shown, where samples showed one at a delta that the claim has."""
    from dpkit.auditing.betting.profile import points_of

    claimed = [point.epsilon for point in points_of(certificate.claim.loss) if point.delta == certificate.delta]
    if claimed and 0.0 < certificate.epsilon_lower < math.inf:
        both = [("claimed", min(claimed)), ("shown, at least", certificate.epsilon_lower)]
        yield f"Epsilon at delta {in_full(certificate.delta)}.", bars(both, title="epsilon", shown=format_down)


def ledger_html(ledger: Ledger) -> Markup:
    """Budget, spent, held and left, with the gauge; no released value."""
    from dpkit.release.ledger.balance_in_epsilon import purse_of

    purse = purse_of(ledger)
    rows = [("dataset", ledger.terms.dataset), ("ledger", str(ledger.path)), *purse.lines()]
    bar = Markup("{}<p>{}</p>").format(gauge(*purse.parts), purse.adding(bar=True))
    return _shown(rows, bar)


def _shown(rows: Sequence[tuple[str, str]], picture: Markup) -> Markup:
    table = render("analysis/showing/pieces.html", "table", head=("", ""), rows=rows)
    return Markup('<div style="max-width: 36rem">{}{}</div>').format(table, picture)
