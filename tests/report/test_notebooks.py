"""What notebooks show of guarantees, certificates and ledgers."""

import pytest
from report.balance import Balance

from dpkit import ApproxDP, ApproxEvent, Gaussian, GaussianEvent, Ledger, PureDP, PureEvent, account, l2
from dpkit.auditing.audit import audit

HOSTILE = "<script>alert(1)</script>"


def balanced(text):
    parser = Balance()
    parser.feed(text)
    assert parser.open == parser.links == []
    assert "script" not in parser.tags
    return text


@pytest.mark.parametrize(
    ("event", "accountant"),
    [
        (GaussianEvent(ratio=0.5), "gdp"),
        (GaussianEvent(ratio=0.5), "zcdp"),
        (PureEvent(epsilon=1.0), "pure"),
        (ApproxEvent(epsilon=1.0, delta=1e-9), "advanced"),
    ],
)
def test_a_guarantee_shows_itself(event, accountant):
    shown = balanced(account(event, accountant)._repr_html_())
    assert "epsilon at delta 1e-06" in shown
    assert "<svg" in shown or "not known" in shown


def test_a_certificate_shows_itself():
    shown = balanced(audit(Gaussian(scale=2.0), samples=2000, rng=3, at=l2(1.0))[0]._repr_html_())
    assert "NOT REFUTED" in shown
    assert "refutes from" in shown
    assert "<svg" in shown


def test_a_refutation_shows_what_was_claimed_beside_what_was_shown():
    def careless(value, n, rng):
        return value + rng.laplace(0.0, 0.5, n)

    certificate = audit(careless, claim=PureDP(epsilon=1.0), pair=(0.0, 1.0), rng=1)[0]
    shown = balanced(certificate._repr_html_())
    assert certificate.refuted
    assert "shown, at least" in shown
    assert shown.count("<svg") >= 1


def test_a_proof_needs_no_bar_of_evidence():
    certificate = audit(lambda value, n, rng: [value] * n, claim=PureDP(epsilon=1.0), pair=(0.0, 1.0), rng=1)[0]
    assert balanced(certificate._repr_html_())


def test_a_ledger_shows_itself_and_no_value(tmp_path):
    with Ledger.create(tmp_path / "l", budget=ApproxDP(epsilon=3, delta=1e-6), dataset=HOSTILE) as ledger:
        ledger.reserve("run")
        ledger.released(ledger.charge("run", GaussianEvent(ratio=0.1), key="0"), 4815162342.0)
        shown = balanced(ledger._repr_html_())
    assert "spent" in shown
    assert "The bar shows rho." in shown
    assert "<svg" in shown
    assert "4815162342" not in shown
