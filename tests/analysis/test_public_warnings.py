"""What `check` warns of: budgets that hide little, data with a ledger that is not used, levels that look alike."""

import pytest

import dpkit
from dpkit.analysis.public_warnings import check_files, public_warnings
from dpkit.errors import SourceError


def ledger(folder, name="people.ledger", dataset="people"):
    dpkit.Ledger.create(folder / name, budget=dpkit.ApproxDP(epsilon=2.0, delta=1e-6), dataset=dataset).close()


def test_a_usual_analysis_has_no_warning(loaded, folder):
    ledger(folder, dataset="flights")
    (folder / "no.db").write_bytes(b"SQLite format 3\0 and nothing more")
    assert public_warnings(loaded()) == ()
    check_files(loaded())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("epsilon: 1.0", "epsilon: 10.5"), "`budget.epsilon` is 10.5"),
        (("delta: 1e-6", "delta: 0.0051"), "above 1 / rows = 0.005: "),
        (("levels: [f, m]", "levels: [North, north]"), "'North' and 'north'"),
        (("levels: [f, m]", 'levels: ["10", "10.0", "1", "01"]'), "'10' and '10.0'"),
        (("levels: [f, m]", 'levels: ["a b", "a  b"]'), "'a b' and 'a  b'"),
        (("levels: [f, m]", 'levels: ["\\u00e9", "e\\u0301", x]'), "can hardly be told apart"),
        (("levels: [f, m]", 'levels: ["f", "f\\u200b"]'), r"'f' and 'f\u200b'"),
    ],
)
def test_what_looks_like_a_mistake_is_said(loaded, change, said):
    (found,) = public_warnings(loaded(change))
    assert said in found


def test_a_ledger_that_is_not_there_or_of_other_data_is_said(loaded, folder):
    change = ("accountant: zcdp", "accountant: zcdp\n  ledger: people.ledger")
    (found,) = public_warnings(loaded(change))
    assert "people.ledger': there is no such file. Make it with `dpkit ledger create`" in found
    budget = dpkit.ApproxDP(epsilon=2.0, delta=1e-6)
    dpkit.Ledger.create(folder / "people.ledger", dataset="flights", budget=budget).close()
    (found,) = public_warnings(loaded(change))
    assert "its `dataset` is 'flights', and 'people' was given" in found
    (folder / "people.ledger").unlink()
    dpkit.Ledger.create(folder / "people.ledger", dataset="people", budget=budget).close()
    assert public_warnings(loaded(change)) == ()


def test_a_text_that_no_level_is_like_is_said_once(loaded):
    (found,) = public_warnings(loaded(("budget:", "  where: sex = 'x' or age > 3\nbudget:")))
    assert "`sex = 'x' or age > 3`" in found
    assert "with 'x', which it can never be. It can be 'f', 'm'." in found
    assert public_warnings(loaded(("budget:", "  where: sex = 'f' or age > 3\nbudget:"))) == ()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("sex in ('f', 'x')", "with 'x', which"),
        ("sex not in ('x', 'f', 'y')", "with 'x', 'y', which"),
        ("sex <> 'x'", "with 'x', which"),
        ("not sex = 'x'", "with 'x', which"),
        ("case sex when 'x' then age > 3 else true end", "with 'x', which"),
        ("case when sex = 'f' then age > 3 when sex in ('x', 'm') then false end", "with 'x', which"),
        ("nullif(sex, 'x') is null", "with 'x', which"),
        ("upper(sex) = 'f'", "with 'f', which it can never be. It can be 'F', 'M'"),
        ("sex like 'x%'", "with 'x%', which"),
        ("age > 100", "a number from 0 to 100 > 100"),
        ("130 <= age", "a number from 0 to 100 >= 130"),
        ("age in (20, 130)", "a number from 0 to 100 = 130"),
        ("age between 130 and 140", "a number from 0 to 100 >= 130"),
        ("age = null", "with NULL, which is never true. Write IS NULL"),
        ("null <> sex", "with NULL, which"),
        ("age in (20, null)", "with NULL, which"),
        ("year(date '2020-01-01') = age", None),
        ("age >= 100 or age in (0, 7.5) or not age < 0.5", None),
        ("sex in ('f', 'm') or sex like '%m%' or age is null", None),
    ],
)
def test_a_comparison_that_can_never_be_true_is_said(loaded, where, said):
    found = public_warnings(loaded(("budget:", f'  where: "{where}"\nbudget:')))
    assert [said is not None and said in one for one in found] == ([] if said is None else [True])


def test_the_limits_themselves_are_fine(loaded):
    assert public_warnings(loaded(("epsilon: 1.0", "epsilon: 10"), ("delta: 1e-6", "delta: 0.005"))) == ()


def test_a_run_beside_the_ledger_of_its_data_is_warned_of(loaded, folder):
    ledger(folder, "budget.of.people")
    (found,) = public_warnings(loaded())
    assert "'budget.of.people'" in found
    assert "`ledger: budget.of.people`" in found
    with_it = ("  accountant: zcdp", "  accountant: zcdp\n  ledger: budget.of.people")
    assert public_warnings(loaded(with_it)) == ()


def test_files_and_columns_that_are_not_there_are_refused(loaded, folder):
    with pytest.raises(SourceError, match=r"peple\.csv: there is no such file\. Did you mean 'people\.csv'"):
        check_files(loaded(("people.csv", "peple.csv")))
    with pytest.raises(SourceError, match="no column named 'wage'"):
        check_files(loaded(("    sex:", "    wage: [0, 1]\n    sex:")))
