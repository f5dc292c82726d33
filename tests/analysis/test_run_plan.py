"""Running a plan: answers, traces and files hold released values alone; nothing is paid twice; simulations are stamped."""

import json
import os

import pytest

import dpkit
from dpkit.analysis.run_plan import check_writable, write_whole
from dpkit.errors import OutputError, SourceError

CANARY = "41.7093817261"
LEDGER = ("accountant: zcdp", "accountant: zcdp\n  ledger: people.ledger")


@pytest.fixture
def ledger(folder):
    path = folder / "people.ledger"
    dpkit.Ledger.create(path, dataset="people", budget=dpkit.ApproxDP(epsilon=3.0, delta=1e-6)).close()
    return path


def spent(path):
    with dpkit.Ledger.open(path) as opened:
        return opened.spent().rho


def test_a_run_answers_and_writes_what_it_released(loaded, folder):
    result = loaded().plan().run()
    assert result.is_complete
    assert not result.simulation
    assert abs(result["ages"]["total"] - 8800) < 5000
    result.write(folder / "out")
    written = json.loads((folder / "out" / "analysis-result.json").read_text())
    assert written["answers"]["ages"]["total"] == result["ages"]["total"]
    trace = json.loads((folder / "out" / "analysis-trace.json").read_text())
    events = [dpkit.from_json(json.dumps(item["event"])) for item in trace["releases"]]
    assert dpkit.account(events).epsilon(delta=1e-6) == result.plan.epsilon
    assert "differentially private" in str(result)
    assert result.frame("ages").iloc[0]["name"] == "total"  # of a form that is not known
    with pytest.raises(dpkit.UnknownNameError, match="ages"):
        result["age"]


def test_no_output_shows_a_cell(loaded, folder):
    result = loaded().plan().run()
    result.write(folder / "out")
    shown = [str(result), result._repr_html_(), repr(result), str(result.plan), result.trace()]
    shown += [path.read_text() for path in (folder / "out").iterdir()]
    assert all(CANARY not in text for text in shown)


def test_the_same_analysis_is_paid_once(loaded, ledger):
    plan = loaded(LEDGER).plan()
    first = plan.run()
    paid = spent(ledger)
    assert paid > 0
    again = loaded(LEDGER).plan()
    assert again.ledger.is_paid
    assert again.run()["ages"] == first["ages"]
    assert spent(ledger) == paid
    fresh = again.run(again=True)
    assert fresh["ages"] != first["ages"]
    assert spent(ledger) == pytest.approx(2 * paid)


def test_what_fails_before_the_data_is_read_costs_nothing(loaded, ledger, folder):
    (folder / "people.csv").unlink()
    with pytest.raises(SourceError, match=r"no such file|No such file"):
        loaded(LEDGER).plan().run()
    (folder / "people.csv").write_text("aage,sex\n1,f\n")
    with pytest.raises(SourceError, match="no column named 'age'"):
        loaded(LEDGER).plan().run()
    assert spent(ledger) == 0.0


def test_an_unreadable_parquet_file_is_a_message(loaded, folder):
    (folder / "people.parquet").write_bytes(b"PAR1 nothing of the kind")
    with pytest.raises(SourceError):
        loaded(("people.csv", "people.parquet")).plan().run()


def test_a_public_number_of_rows_is_held_against_the_data(loaded):
    change = ("add-remove", "replace-one")
    assert loaded(change).plan().run().is_complete
    with pytest.raises(SourceError, match=r"200 rows.*says 100"):
        loaded(change, ("rows: 200", "rows: 100")).plan().run()
    assert loaded(("rows: 200", "rows: 100")).plan().run().is_complete  # a guess, where the number is private


def test_simulations_read_no_data_touch_no_ledger_and_are_stamped(loaded, ledger, folder):
    (folder / "people.csv").unlink()
    plan = loaded(LEDGER, ("rows: 200", "unit: row")).plan()
    result = plan.simulate(seed=3)
    assert result.simulation
    assert spent(ledger) == 0.0
    for text in (str(result), result._repr_html_(), json.dumps(result.as_json()), result.sentence):
        assert "SIMULATION" in text
    assert json.loads(result.trace())["simulation"] is True
    assert plan.simulate(seed=3)["ages"] == result["ages"]


def test_simulations_make_persons_and_categories(loaded):
    plan = loaded(("rows: 200", "unit: {column: id, at_most: 3}"), ("{levels: [f, m]}", "boolean")).plan()
    assert plan.simulate().is_complete


def test_data_may_be_given_from_python(loaded):
    columns = {"age": [1.0, 2.0], "sex": ["f", "m"]}
    assert loaded().plan().run(data=columns).is_complete


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for path in (blocked / "report.html", tmp_path):
        with pytest.raises(OutputError):
            check_writable(path)
    check_writable(tmp_path / "out" / "report.html")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="No space left"):
        write_whole(path, "new")
    assert [item.name for item in tmp_path.iterdir()] == ["result.json"]
    assert path.read_text() == "old"
