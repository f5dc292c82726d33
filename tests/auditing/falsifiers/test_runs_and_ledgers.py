"""What was recorded is held against what was planned and against the budget."""

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from release.algorithms import Averaging

import dpkit
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.replay import replay
from dpkit.auditing.falsifiers.runs_and_ledgers import audit_file, audit_ledger, audit_run, audit_trace
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import SerialisationError
from dpkit.release.run_algorithms import run_algorithms, trace_json

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
SETTING = DeclaredSetting(schema=SCHEMA)
RELATION = dpkit.Neighbours.ADD_REMOVE


def ran(ledger=None):
    engine = dpkit.BlockEngine(dpkit.open_source({"x": [0.5] * 10}, SCHEMA))
    algorithms = {"mean": (Averaging(SETTING, passes=3), 2.0)}
    return run_algorithms(algorithms, engine=engine, setting=SETTING, ledger=ledger, rng=np.random.default_rng(1))


def test_a_plan_covers_what_its_run_charged():
    certificate = audit_run(ran(), neighbours=RELATION)
    assert (certificate.verdict, certificate.falsifier, certificate.samples) == ("not refuted", "plan coverage", 0)
    assert AuditCertificate.from_json(certificate.to_json()) == certificate


def test_one_release_too_many_is_found():
    result = ran()
    certificate = audit_run(replace(result, releases=(*result.releases, result.releases[0])), neighbours=RELATION)
    assert certificate.refuted
    assert "mean/0" in certificate.witness.event


def test_a_dearer_release_than_planned_is_found():
    result = ran()
    first = result.releases[0]
    dearer = replace(first, event=dpkit.Gaussian(scale=1.0).event(dpkit.l2(1.0)))
    assert audit_run(replace(result, releases=(dearer, *result.releases[1:])), neighbours=RELATION).refuted
    cheaper = replace(first, event=dpkit.Gaussian(scale=9.0).event(dpkit.l2(1.0)))
    assert not audit_run(replace(result, releases=(cheaper, *result.releases[1:])), neighbours=RELATION).refuted


def test_a_trace_file_is_audited_and_replayed(tmp_path):
    result = ran()
    path = tmp_path / "run.trace.json"
    text = trace_json(result.releases, plan=result.plan, neighbours=RELATION, accountant="zcdp")
    path.write_text(text, encoding="utf-8")
    certificate = audit_trace(path)
    assert not certificate.refuted
    assert replay(certificate).confirmed
    body = json.loads(text)
    body["releases"].append(body["releases"][0])
    path.write_text(json.dumps(body), encoding="utf-8")
    assert audit_file(path).refuted
    assert not replay(certificate).confirmed
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(SerialisationError, match="not the trace of a run"):
        audit_trace(path)


def made_ledger(path, budget):
    with dpkit.Ledger.create(path, budget=budget, dataset="tests") as ledger:
        ran(ledger)
    return path


@pytest.mark.parametrize("budget", [dpkit.ZCDP(rho=1.0), dpkit.ApproxDP(epsilon=8.0, delta=1e-6)])
def test_a_ledger_that_adds_up_is_not_refuted(tmp_path, budget):
    certificate = audit_ledger(made_ledger(tmp_path / "a.ledger", budget))
    assert (certificate.verdict, certificate.claim.loss) == ("not refuted", budget)
    assert "not priced" not in certificate.note
    assert "rollback" in certificate.note  # it says what it could not have seen
    assert replay(certificate).confirmed


def test_a_changed_ledger_is_refuted(tmp_path):
    path = made_ledger(tmp_path / "a.ledger", dpkit.ZCDP(rho=1.0))
    with sqlite3.connect(path) as raw:
        triggers = raw.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("UPDATE entries SET body = replace(body, 'tests', 'tasts') WHERE seq = 2")
        raw.execute("UPDATE entries SET body = replace(body, 'mean', 'maen') WHERE seq = 2")
        for _, guard in triggers:  # without its guards the file would not be opened at all
            raw.execute(guard)
    raw.close()
    certificate = audit_file(path)
    assert certificate.refuted
    assert "entry 2" in certificate.witness.event


def test_everything_charged_is_priced_again_against_the_budget():
    from dpkit.auditing.falsifiers.runs_and_ledgers import _beyond

    events = [dpkit.Gaussian(scale=1.0).event(dpkit.l2(1.0))] * 4
    known = dpkit.default_registry()
    assert _beyond(events, dpkit.GDP(mu=2.0), RELATION, known) == ("", "")
    words, _ = _beyond(events, dpkit.GDP(mu=1.9), RELATION, known)
    assert "the budget says" in words
