"""A training loop pays each step before it is taken, stops before it overspends, and remembers what it paid."""

import os
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import ApproxDP, BudgetExceededError, GaussianEvent, InvalidValueError, Ledger, Neighbours, Subsample, Training
from dpkit.testing.strategies import examples

BUDGET = ApproxDP(epsilon=1.0, delta=1e-6)


def step_until_refused(training, **step):
    for _ in range(100_000):
        try:
            training.step(**step)
        except BudgetExceededError:
            return training.steps
    raise AssertionError("no step was refused")


def test_the_step_that_would_overspend_is_refused_and_not_paid(tmp_path):
    training = Training(ledger=tmp_path / "run.ledger", budget=BUDGET)
    taken = step_until_refused(training, noise_multiplier=2.0, rate=0.05, steps=10)
    guarantee = dpkit.account(training.event, "rdp")
    assert 0.9 <= guarantee.epsilon(delta=1e-6) <= 1.0
    before = training.ledger.spent()
    assert not training.fits(noise_multiplier=2.0, rate=0.05, steps=10)
    assert training.steps == taken
    assert training.ledger.spent() == before
    assert training.fits(noise_multiplier=1e4, rate=0.01)
    assert training.step(noise_multiplier=1e4, rate=0.01) == taken + 1  # what is cheap enough still fits


def test_a_resumed_run_remembers_what_it_paid_and_pays_nothing_for_it(tmp_path):
    path = tmp_path / "run.ledger"
    first = Training(ledger=path, budget=BUDGET)
    first.step(noise_multiplier=2.0, rate=0.05, steps=40)
    first.step(noise_multiplier=4.0, rate=0.05)
    spent = first.ledger.spent()
    again = Training(ledger=path, budget=BUDGET)
    assert again.steps == 41
    assert again.history == first.history == [(2.0, 0.05, 40), (4.0, 0.05, 1)]
    assert again.ledger.spent() == spent == first.spent()
    both = step_until_refused(again, noise_multiplier=2.0, rate=0.05, steps=5)
    alone = step_until_refused(Training(budget=BUDGET), noise_multiplier=2.0, rate=0.05, steps=5)
    assert both <= alone + 41


def test_a_process_that_is_killed_loses_at_most_the_step_it_paid(tmp_path):
    program = textwrap.dedent("""
        import os, sys
        from dpkit import ApproxDP, Training
        training = Training(ledger=sys.argv[1], budget=ApproxDP(epsilon=1.0, delta=1e-6))
        for _ in range(7):
            training.step(noise_multiplier=2.0, rate=0.05)
        os._exit(9)
    """)
    path = tmp_path / "run.ledger"
    for expected in (7, 14):
        done = subprocess.run([sys.executable, "-c", program, str(path)], env=dict(os.environ), timeout=120, check=False)
        assert done.returncode == 9
        assert Training(ledger=path, budget=BUDGET).steps == expected


def test_a_run_on_a_shared_ledger_keeps_within_both_budgets(tmp_path):
    path = tmp_path / "all.ledger"
    shared = Ledger.create(path, budget=ApproxDP(epsilon=2.0, delta=1e-6), dataset="d", accountant="rdp", order=12.0)
    mine = Training(ledger=shared, budget=ApproxDP(epsilon=0.7, delta=1e-7), run="mine")
    step_until_refused(mine, noise_multiplier=2.0, rate=0.05)
    assert dpkit.account(mine.event, "rdp").epsilon(delta=1e-7) <= 0.7
    other = Training(ledger=path, run="other")
    assert other.budget == ApproxDP(epsilon=2.0, delta=1e-6)
    step_until_refused(other, noise_multiplier=2.0, rate=0.05)
    whole = dpkit.account([mine.event, other.event], "rdp")
    assert 1.5 < whole.epsilon(delta=1e-6) <= 2.0
    resumed = Training(ledger=path, budget=ApproxDP(epsilon=0.7, delta=1e-7), run="mine")
    with pytest.raises(BudgetExceededError):
        resumed.step(noise_multiplier=2.0, rate=0.05)


def test_two_objects_of_one_run_see_what_the_other_paid(tmp_path):
    path = tmp_path / "run.ledger"
    one = Training(ledger=path, budget=BUDGET)
    one.step(noise_multiplier=2.0, rate=0.05)
    two = Training(ledger=path, budget=BUDGET)
    for _ in range(3):
        one.step(noise_multiplier=2.0, rate=0.05)
        two.step(noise_multiplier=2.0, rate=0.05)
    assert two.steps == 7
    assert len([entry for entry in two.ledger.entries() if entry.kind == "charge"]) == 7


@examples(25)
@given(st.lists(st.tuples(st.floats(0.8, 5.0), st.floats(0.001, 0.2), st.integers(1, 50)), min_size=1, max_size=12))
def test_whatever_is_asked_in_whatever_order_the_budget_holds(asked):
    training = Training(budget=BUDGET)
    for noise, rate, steps in asked:
        try:
            training.step(noise_multiplier=noise, rate=rate, steps=steps)
        except BudgetExceededError:
            assert not training.fits(noise_multiplier=noise, rate=rate, steps=steps)
    assert dpkit.account(training.event, "rdp").epsilon(delta=1e-6) <= 1.0


def test_a_filter_that_forgets_a_count_is_caught(monkeypatch):
    monkeypatch.setattr(Training, "_count", lambda self, event: self._counts.update({event: 1}))
    training = Training(budget=BUDGET)
    event = Subsample(rate=0.05, event=GaussianEvent(ratio=0.5))
    for _ in range(400):
        training.step(noise_multiplier=2.0, rate=0.05)
    assert dpkit.account(dpkit.Repeat(event=event, times=400), "rdp").epsilon(delta=1e-6) > 1.0


@pytest.mark.parametrize(
    "step",
    [
        {"noise_multiplier": 0.0, "rate": 0.1},
        {"noise_multiplier": -1.0, "rate": 0.1},
        {"noise_multiplier": float("nan"), "rate": 0.1},
        {"noise_multiplier": 1.0, "rate": 1.1},
        {"noise_multiplier": 1.0, "rate": "0.1"},
        {"noise_multiplier": 1.0, "rate": 0.1, "steps": 0},
        {"noise_multiplier": 1.0, "rate": 0.1, "steps": 1.5},
    ],
)
def test_what_is_no_step_is_refused_and_costs_nothing(tmp_path, step):
    training = Training(ledger=tmp_path / "run.ledger", budget=BUDGET)
    with pytest.raises(InvalidValueError):
        training.step(**step)
    assert training.steps == 0
    assert not (tmp_path / "run.ledger").exists()


def test_wrong_terms_are_refused(tmp_path):
    with pytest.raises(InvalidValueError, match="a budget"):
        Training()
    with pytest.raises(InvalidValueError):
        Training(budget=1.0)
    with pytest.raises(dpkit.LedgerError):
        Training(ledger=tmp_path / "missing.ledger")
    Ledger.create(tmp_path / "z.ledger", budget=BUDGET, dataset="d", accountant="zcdp").close()
    with pytest.raises(InvalidValueError, match="add-remove"):
        Training(ledger=tmp_path / "z.ledger", neighbours=Neighbours.REPLACE_ONE)
    full = Training(ledger=tmp_path / "z.ledger")
    assert full.step(noise_multiplier=20.0, rate=1.0) == 1
    with pytest.raises(dpkit.UnpricedEventError):  # no rho bounds a sample at every order
        full.step(noise_multiplier=20.0, rate=0.5)
    assert full.steps == 1


def test_under_replace_one_a_step_costs_twice_the_clipping_norm():
    replaced, joining = (
        Training(budget=BUDGET, neighbours=relation) for relation in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE)
    )
    replaced.step(noise_multiplier=16.0, rate=1.0, steps=2)
    joining.step(noise_multiplier=8.0, rate=1.0, steps=2)
    assert replaced.spent() == joining.spent()
    assert replaced.history == [(16.0, 1.0, 2)]


def test_a_closed_run_takes_no_step(tmp_path):
    with Training(ledger=tmp_path / "run.ledger", budget=BUDGET) as training:
        training.step(noise_multiplier=2.0, rate=0.05)
        training.close()
    with pytest.raises(dpkit.RunStateError):
        Training(ledger=tmp_path / "run.ledger", budget=BUDGET).step(noise_multiplier=2.0, rate=0.05)
