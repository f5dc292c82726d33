"""What notebooks show of guarantees, certificates and ledgers: a few figures, and a picture. Every value is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from dpkit.analysis.showing.html import render
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_up, in_full, percent_up
from dpkit.report.pictures import curves, gauge

if TYPE_CHECKING:
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
    """The verdict and what it rests on, and evidence against what refutes."""
    from dpkit.auditing.certificates.formats import rows_of, verdict_of

    rows = [(verdict_of(certificate).upper(), certificate.target)]
    rows += [(name, value) for name, value in rows_of(certificate) if value]
    return _shown(rows, Markup(""))


def ledger_html(ledger: Ledger) -> Markup:
    """Budget, spent, held and left, with the gauge; no released value."""
    from dpkit.release.ledger.balance_in_epsilon import purse_of

    purse = purse_of(ledger)
    rows = [("dataset", ledger.terms.dataset), ("ledger", str(ledger.path)), *purse.lines()]
    bar = Markup("{}<p>{}</p>").format(gauge(purse.part_spent, purse.part_held), purse.adding(bar=True))
    return _shown(rows, bar)


def _shown(rows: Sequence[tuple[str, str]], picture: Markup) -> Markup:
    table = render("analysis/showing/pieces.html", "table", head=("", ""), rows=rows)
    return Markup('<div style="max-width: 36rem">{}{}</div>').format(table, picture)
