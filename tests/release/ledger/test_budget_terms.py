"""The terms of a ledger are held against whoever opens it."""

import pytest

import dpkit
from dpkit import ZCDP, Neighbours
from dpkit.release.ledger.budget_terms import ExpectedTerms, fingerprint
from dpkit.release.ledger.ledger import Ledger


@pytest.mark.parametrize(
    ("field", "wrong", "both"),
    [
        ("budget", ZCDP(rho=2.0), ("rho=1.0", "rho=2.0")),
        ("accountant", "gdp", ("ZCDPAccountant", "GaussianDPAccountant")),
        ("neighbours", Neighbours.REPLACE_ONE, ("add-remove", "replace-one")),
        ("unit", {"column": "who", "at_most": 4}, ("'at_most': 3", "'at_most': 4")),
        ("unit", "row", ("'at_most': 3", "'row'")),
        ("dataset", "trains", ("flights", "trains")),
        ("schema", fingerprint({"a": "float"}), (fingerprint({"a": "int"}), fingerprint({"a": "float"}))),
    ],
)
def test_a_run_that_disagrees_is_refused_with_both_values(tmp_path, field, wrong, both):
    right = {
        "budget": ZCDP(rho=1.0),
        "accountant": "zcdp",
        "neighbours": Neighbours.ADD_REMOVE,
        "unit": {"column": "who", "at_most": 3},
        "dataset": "flights",
        "schema": fingerprint({"a": "int"}),
    }
    Ledger.create(tmp_path / "l", **right).close()
    Ledger.open(tmp_path / "l", expect=ExpectedTerms(**right)).close()
    Ledger.open(tmp_path / "l", expect=ExpectedTerms()).close()
    with pytest.raises(dpkit.LedgerDisagreementError) as caught:
        Ledger.open(tmp_path / "l", expect=ExpectedTerms(**{**right, field: wrong}))
    assert caught.value.field == field
    for value in both:
        assert value in str(caught.value)


@pytest.mark.parametrize("unit", ["person", {"column": "a"}, {"column": "", "at_most": 1}, {"column": "a", "at_most": 0}, None])
def test_a_unit_is_a_row_or_a_column_with_a_bound(tmp_path, unit):
    with pytest.raises(dpkit.InvalidValueError, match="unit"):
        Ledger.create(tmp_path / "l", budget=ZCDP(rho=1.0), dataset="d", unit=unit)
