"""Where a plan stands with its ledger: what is left, the nearest plan that fits, and ledgers of other data."""

import pytest

import dpkit
from dpkit.analysis.ledger_standing import rounded_down
from dpkit.errors import LedgerDisagreementError, PlanRefusedError, SourceError


def make_ledger(folder, epsilon=1.0, **terms):
    given = {"dataset": "people", "budget": dpkit.ApproxDP(epsilon=epsilon, delta=1e-6), **terms}
    dpkit.Ledger.create(folder / "people.ledger", **given).close()
    return ("accountant: zcdp", "accountant: zcdp\n  ledger: people.ledger")


def test_the_ledger_s_balance_is_in_the_plan(loaded, folder):
    plan = loaded(make_ledger(folder, epsilon=2.0)).plan()
    assert not plan.ledger.is_paid
    assert plan.ledger.price.rho < plan.ledger.balance.remaining.rho
    assert "left" in str(plan)


def test_a_plan_over_budget_is_refused_with_the_nearest_that_fits(loaded, folder):
    change = make_ledger(folder, epsilon=0.5)
    with pytest.raises(PlanRefusedError, match=r"asked .* spent .* left ") as caught:
        loaded(change).plan()
    offered = float(caught.value.nearest.rstrip(".").split()[-1])
    assert 0.45 < offered <= 0.5
    loaded(change, ("epsilon: 1.0", f"epsilon: {offered}")).plan()


def test_an_empty_ledger_offers_nothing(loaded, folder):
    change = make_ledger(folder, epsilon=0.5)
    with dpkit.Ledger.open(folder / "people.ledger") as ledger:
        ledger.reserve("all", dpkit.ZCDPEvent(rho=ledger.remaining().rho))
    with pytest.raises(PlanRefusedError, match="Nothing is left"):
        loaded(change).plan()


PRIVATE_KEYS = """
dpkit: 1
data: {source: people.csv, name: people, columns: {city: text}}
budget: {epsilon: 1, delta: 1e-7, ledger: keys.ledger}
steps:
  - {id: cities, run: count, by: {column: city, keys: private}}
"""


@pytest.mark.parametrize(("slack", "left"), [(0.0, "0"), (2.0**-30, "9.31322e-10"), (2e-7, None)])
def test_a_ledger_without_delta_for_private_keys_says_how_to_make_one_that_has_it(tmp_path, slack, left):
    terms = {"dataset": "people", "budget": dpkit.ApproxDP(epsilon=20.0, delta=1e-6), "slack": slack}
    dpkit.Ledger.create(tmp_path / "keys.ledger", **terms).close()
    (tmp_path / "keys.yaml").write_text(PRIVATE_KEYS, encoding="utf-8")
    if left is None:
        assert dpkit.load(tmp_path / "keys.yaml").plan().ledger.price.delta > 0.0
        return
    with pytest.raises(PlanRefusedError, match=rf"; {left} is left for such\. `dpkit ledger create --slack DELTA`"):
        dpkit.load(tmp_path / "keys.yaml").plan()


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"dataset": "flights"}, "dataset"),
        ({"neighbours": dpkit.Neighbours.REPLACE_ONE}, "neighbours"),
        ({"unit": {"column": "id", "at_most": 2}}, "unit"),
        ({"schema": "0" * 64}, "schema"),
    ],
)
def test_the_ledger_of_another_dataset_is_refused(loaded, folder, terms, field):
    with pytest.raises(LedgerDisagreementError) as caught:
        loaded(make_ledger(folder, epsilon=2.0, **terms)).plan()
    assert caught.value.field == field


def test_a_mistyped_file_is_called_a_file_that_is_not_there(loaded, folder):
    change = make_ledger(folder, epsilon=2.0)
    with pytest.raises(SourceError, match=r"peple\.csv: there is no such file\. Did you mean 'people\.csv'\?"):
        loaded(change, ("people.csv", "peple.csv")).plan()
    with pytest.raises(SourceError, match="no file matches"):
        loaded(change, ("people.csv", "peple*.csv")).plan()


def test_a_file_of_another_name_is_told_how_to_say_what_it_is(loaded, folder):
    change = make_ledger(folder, epsilon=2.0)
    (folder / "people.csv").rename(folder / "wages.csv")
    with pytest.raises(LedgerDisagreementError, match=r"read off `data\.source`.*`name: people` under `data`"):
        loaded(change, ("people.csv", "wages.csv")).plan()
    assert loaded(change, ("people.csv", "wages.csv\n  name: people")).plan().ledger is not None
    with pytest.raises(LedgerDisagreementError, match=r"Use the ledger of this dataset\."):
        loaded(change, ("people.csv", "wages.csv\n  name: wages")).plan()


def test_offers_are_rounded_down():
    for value in (0.49999, 0.5, 0.123456, 12.3499, 1e-5, 0.9999):
        assert value * 0.98 < rounded_down(value) <= value
