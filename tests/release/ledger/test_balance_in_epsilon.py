"""A ledger's balance in epsilon: read at its delta, spent rounded up, left rounded down, held told apart."""

import pytest

import dpkit
from dpkit.release.ledger.balance_in_epsilon import READ_AT, in_words, purse_of

BUDGETS = {
    "zcdp": (dpkit.ApproxDP(epsilon=1.0, delta=1e-6), "zcdp", 1e-6),
    "rho": (dpkit.ZCDP(rho=0.5), "zcdp", READ_AT),
    "pure": (dpkit.PureDP(epsilon=1.0), "pure", 0.0),
    "gdp": (dpkit.GDP(mu=1.0), "gdp", READ_AT),
    "rdp": (dpkit.ApproxDP(epsilon=1.0, delta=1e-6), "rdp", 1e-6),
    "advanced": (dpkit.ApproxDP(epsilon=1.0, delta=1e-6), "advanced", 1e-6),
}


@pytest.fixture(params=BUDGETS)
def ledger(request, tmp_path):
    budget, accountant, delta = BUDGETS[request.param]
    with dpkit.Ledger.create(tmp_path / "a.ledger", budget=budget, dataset="a", accountant=accountant) as made:
        yield made, delta


def release(ledger):
    kind = ledger.terms.accountant.name
    return dpkit.GaussianEvent(ratio=0.02) if kind == "gdp" else dpkit.LaplaceEvent(ratio=0.01)


def test_one_sentence_says_what_is_added_and_what_the_bar_shows(ledger):
    opened, _ = ledger
    found = purse_of(opened)
    added = {"pure": "", "gdp": "the square of mu", "rdp": "divergences"}.get(opened.terms.accountant.name, "rho")
    if not added:
        assert (found.adding(), found.adding(bar=True)) == ("", "The ledger adds epsilons. The bar shows them.")
        return
    assert found.adding() == f"The ledger adds {added}, not epsilons: spent and left need not add up to the budget."
    assert found.adding(bar=True) == f"{found.adding()} The bar shows {added}."


def test_an_empty_ledger_has_spent_nothing_and_its_whole_budget_is_left(ledger):
    opened, delta = ledger
    found = purse_of(opened)
    assert found.delta == delta
    assert found.spent[0] == found.held[0] == 0.0
    assert found.budget[0] > 0.0
    assert found.left[0] is None or found.left[0] > 0.0
    assert found.more_runs is None
    assert found.parts == (0.0, 0.0)
    assert dict(found.lines())["held"] == "nothing"


def test_held_is_what_was_reserved_and_not_spent(ledger):
    opened, _ = ledger
    event = release(opened)
    opened.reserve("one", dpkit.Repeat(event=event, times=10))
    before = purse_of(opened)
    assert before.spent[0] == 0.0
    assert before.held[0] > 0.0
    assert "not spent" in dict(before.lines())["held"]
    opened.released(opened.charge("one", event, key="a"), 1.0)
    during = purse_of(opened)
    assert 0.0 < during.spent[0] <= during.held[0] <= before.held[0]
    assert 0.0 < during.parts[0] < during.parts[1]
    opened.close_run("one")
    after = purse_of(opened)
    assert after.held[0] == 0.0
    assert after.spent[0] == during.spent[0]


def test_as_many_runs_fit_as_are_said(ledger):
    opened, _ = ledger
    plan = dpkit.Repeat(event=release(opened), times=12)
    said = opened.more_runs(plan)
    assert said > 1
    opened.reserve("first", plan)
    assert opened.more_runs(plan) == purse_of(opened).more_runs == said - 1
    for number in range(said - 1):
        opened.reserve(f"run {number}", plan)
    assert purse_of(opened, like=plan).more_runs == 0
    assert "no more run like this one" in dict(purse_of(opened, like=plan).lines())["left"]
    with pytest.raises(dpkit.BudgetExceededError, match=r"epsilon .* held by open runs"):
        opened.reserve("one too many", plan)


def test_words_begin_with_epsilon(ledger):
    opened, _ = ledger
    for name, words in purse_of(opened, like=release(opened)).lines():
        assert name == "held" or words.startswith(("epsilon", "divergence")), words
    assert in_words(opened.price(release(opened)), opened).startswith(("epsilon", "divergence"))


def test_rho_stands_beside_epsilon(tmp_path):
    budget = dpkit.ApproxDP(epsilon=1.0, delta=1e-6)
    with dpkit.Ledger.create(tmp_path / "a.ledger", budget=budget, dataset="a") as opened:
        lines = dict(purse_of(opened).lines())
        assert lines["budget"] == "epsilon 1 at delta 1e-06"
        assert lines["spent"] == "epsilon 0 (rho 0)"
        assert lines["left"].startswith("epsilon ")
        assert "(rho 0.0" in lines["left"]
        assert 0.99 < purse_of(opened).left[0] <= 1.0 + 1e-9
