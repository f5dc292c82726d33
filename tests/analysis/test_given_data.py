"""Data given in place of the declared source: runs on it are told apart, and nothing of its rows is written down."""

import numpy as np
import pandas as pd
import pytest

import dpkit
from dpkit.data.tables.source import DataSource
from dpkit.release.ledger.ledger import Ledger

LEDGER = ("  accountant: zcdp", "  accountant: zcdp\n  ledger: people.ledger")


@pytest.fixture
def ledger(folder):
    path = folder / "people.ledger"
    Ledger.create(path, budget=dpkit.ApproxDP(epsilon=20.0, delta=1e-5), dataset="people").close()
    return path


def runs(path):
    with Ledger.open(path) as found:
        return [entry.run for entry in found.entries() if entry.kind == "reserve"]


def people(age, rows=200):
    return pd.DataFrame({"age": np.full(rows, float(age)), "sex": ["f"] * rows})


FORMS = {
    "a frame": lambda frame: frame,
    "columns": lambda frame: {name: frame[name].tolist() for name in frame},
    "records": lambda frame: frame.to_records(index=False),
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "arrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_group_of_a_frame_gets_its_own_answers(loaded, ledger, form):
    plan = loaded(LEDGER).plan()
    shown = FORMS[form]
    answers = [plan.run(data=shown(people(age)))["ages"] for age in (0, 60, 120)]
    assert answers[0] != answers[1] != answers[2]
    assert answers[2]["total"] - answers[0]["total"] > 100 * 100
    assert len(set(runs(ledger))) == 3


def test_the_same_rows_are_not_paid_twice(loaded, ledger):
    plan = loaded(LEDGER).plan()
    first = plan.run(data=people(40))
    second = plan.run(data=people(40))  # another object
    assert second["ages"] == first["ages"]
    assert "EARLIER RELEASE" in second.sentence
    assert len(runs(ledger)) == 1
    fresh = plan.run(data=people(40), again=True)
    assert fresh["ages"] != first["ages"]
    assert plan.run(data=people(40))["ages"] == fresh["ages"]


def test_a_frame_that_was_changed_in_place_is_other_data(loaded, ledger):
    plan, frame = loaded(LEDGER).plan(), people(0)
    first = plan.run(data=frame)["ages"]
    frame.loc[:, "age"] = 120.0
    assert plan.run(data=frame)["ages"]["total"] - first["total"] > 100 * 100


def test_one_row_more_is_other_data_and_the_declared_file_is_another_run(loaded, ledger):
    plan = loaded(LEDGER).plan()
    plan.run()
    plan.run(data=people(40))
    plan.run(data=people(40, rows=201))
    assert len(set(runs(ledger))) == 3


def test_persons_tell_data_apart(loaded, ledger, folder):
    ledger.unlink()
    unit = {"column": "id", "at_most": 2}
    Ledger.create(ledger, budget=dpkit.ApproxDP(epsilon=20.0, delta=1e-5), dataset="people", unit=unit).close()
    plan = loaded(LEDGER, ("rows: 200", "unit: {column: id, at_most: 2}")).plan()
    one = people(50).assign(id="same")
    many = people(50).assign(id=[str(place) for place in range(200)])
    assert plan.run(data=many)["ages"]["total"] - plan.run(data=one)["ages"]["total"] > 50 * 100
    assert len(set(runs(ledger))) == 2


def test_other_files_are_other_data_and_the_declared_one_is_not(loaded, ledger, folder):
    plan = loaded(LEDGER).plan()
    first = plan.run()
    assert plan.run(data=str(folder / "people.csv"))["ages"] == first["ages"]
    (folder / "old.csv").write_text("age,sex\n" + "120,f\n" * 200, encoding="utf-8")
    assert plan.run(data=folder / "old.csv")["ages"] != first["ages"]
    assert plan.run(data=[folder / "old.csv", folder / "people.csv"])["ages"] != first["ages"]
    assert plan.run(data=folder / "old.csv").earlier
    assert len(set(runs(ledger))) == 3


def test_no_digest_of_rows_is_written(loaded, ledger, folder, monkeypatch):
    """Who knows all rows but one could guess that one from a digest."""
    seen, real = [], DataSource.contents
    monkeypatch.setattr(DataSource, "contents", lambda source: seen.append(real(source)) or seen[-1])
    result = loaded(LEDGER).plan().run(data=people(40))
    result.write(folder)
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert seen
    assert all(one[:6] not in written and one.hex()[:12].encode() not in written for one in seen)
