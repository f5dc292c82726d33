"""Answers that were paid for earlier say so, in every form; data that changed is noticed, and paying anew is one word away."""

import json
import os

import pytest

import dpkit
from dpkit.errors import LedgerDisagreementError, PlanRefusedError, SourceError
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify, verify_file
from dpkit.report.html import report_html

LEDGER = ("  accountant: zcdp", "  accountant: zcdp\n  ledger: people.ledger")


@pytest.fixture
def ledger(folder):
    path = folder / "people.ledger"
    Ledger.create(path, budget=dpkit.ApproxDP(epsilon=10.0, delta=1e-5), dataset="people").close()
    return path


def change(folder):
    """Other rows, at another time."""
    path = folder / "people.csv"
    path.write_text("age,sex\n" + "90,f\n" * 200, encoding="utf-8")
    os.utime(path, ns=(10**18, os.stat(path).st_mtime_ns + 10**9))


def runs(path):
    with Ledger.open(path) as found:
        return [entry.run for entry in found.entries() if entry.kind == "reserve"]


def test_an_earlier_release_says_so_in_every_form(loaded, ledger):
    spec = loaded(LEDGER)
    first = spec.plan().run()
    assert not first.earlier
    again = spec.plan().run()
    assert again["ages"] == first["ages"]
    for text in (str(again), again._repr_html_(), json.dumps(again.as_json()), again.sentence, report_html(again)):
        assert "EARLIER RELEASE" in text
        assert "--again" in text
        assert "CHANGED" not in text


def test_every_run_keeps_the_digest_of_its_ledger(loaded, ledger):
    spec = loaded(LEDGER)
    first = spec.plan().run()
    with Ledger.open(ledger) as found:
        assert first.digest == found.head().hash
        assert verify(found, since=first.digest).ok
    for text in (str(first), json.dumps(first.as_json()), report_html(first)):
        assert first.digest in text
    assert spec.plan().run().digest == first.digest  # given back, nothing was written
    fresh = spec.plan().run(again=True)
    assert fresh.digest != first.digest
    assert verify_file(ledger, since=first.digest).since < verify_file(ledger, since=fresh.digest).since


def test_a_run_without_a_ledger_has_no_digest(loaded):
    result = loaded().plan().run()
    assert result.digest == ""
    assert result.as_json()["ledger_digest"] is None
    assert "digest" not in str(result)


def test_changed_files_are_noticed_and_a_new_run_is_paid_by_name(loaded, ledger, folder):
    spec = loaded(LEDGER)
    first = spec.plan().run()
    change(folder)
    stale = spec.plan().run()
    assert stale["ages"] == first["ages"]
    assert "THE DATA FILES HAVE CHANGED SINCE" in str(stale)
    fresh = spec.plan().run(again=True)
    assert not fresh.earlier
    assert fresh["ages"] != first["ages"]
    latest = spec.plan().run()  # from now on the new answers are given back
    assert latest["ages"] == fresh["ages"]
    assert "CHANGED" not in latest.earlier
    assert len(runs(ledger)) == 2


def test_a_new_draw_that_does_not_fit_any_more_is_refused_as_a_plan_is(loaded, ledger):
    spec = loaded(LEDGER)
    Ledger.create(ledger.with_name("small.ledger"), budget=dpkit.ApproxDP(epsilon=1.5, delta=1e-5), dataset="people").close()
    spec = loaded(LEDGER, ("people.ledger", "small.ledger"))
    spec.plan().run()
    said = r"asked epsilon .*; budget epsilon 1.5 .*; left epsilon .* earlier answers are in the ledger"
    rows = {"age": [1.0, 2.0], "sex": ["f", "m"]}

    def draw_until_nothing_is_left():
        for _ in range(50):
            spec.plan().run(again=True)

    with pytest.raises(PlanRefusedError, match=said):
        draw_until_nothing_is_left()
    with pytest.raises(PlanRefusedError, match=r"does not fit into the ledger .*; left epsilon .*Nothing was spent"):
        spec.plan().run(data=rows)  # what is in memory is another run
    assert "EARLIER RELEASE" in str(spec.plan().run())


def test_an_interrupted_run_does_not_go_on_with_other_data(loaded, ledger, folder, monkeypatch):
    spec = loaded(LEDGER)
    released = Ledger.released
    calls = []

    def crash(self, charge, value):
        calls.append(charge)
        if len(calls) == 2:
            raise MemoryError
        return released(self, charge, value)

    monkeypatch.setattr(Ledger, "released", crash)
    with pytest.raises(MemoryError):
        spec.plan().run()
    monkeypatch.setattr(Ledger, "released", released)
    before = os.stat(folder / "people.csv").st_mtime_ns
    rows = (folder / "people.csv").read_bytes()
    change(folder)
    with pytest.raises(LedgerDisagreementError, match=r"names and times of change.*--again"):
        spec.plan().run()
    (folder / "people.csv").write_bytes(rows)
    os.utime(folder / "people.csv", ns=(before, before))
    whole = spec.plan().run()
    assert whole.is_complete
    assert "was interrupted" in whole.earlier


def test_the_stamp_holds_no_size_and_no_content(folder):
    path = folder / "people.csv"
    schema = dpkit.Schema(columns=(dpkit.Number(name="age", lower=0, upper=100),))
    before = dpkit.open_source(path, schema).stamp
    times = os.stat(path)
    path.write_text("age,sex\n1,f\n", encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert dpkit.open_source(path, schema).stamp == before
    assert dpkit.open_source({"age": [1.0]}, schema).stamp == ""


def test_a_file_that_is_gone_is_said_before_anything_is_given_back(loaded, ledger, folder):
    spec = loaded(LEDGER)
    spec.plan().run()
    (folder / "people.csv").unlink()
    with pytest.raises(SourceError):
        spec.plan().run()
