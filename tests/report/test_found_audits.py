"""Audits that were written: read by their analysis, refuted where anything in them is, never shown after a change."""

import json

import pytest

from dpkit import Gaussian, InvalidValueError, l2
from dpkit.auditing.algorithms.audit_analysis import AnalysisAudit
from dpkit.auditing.algorithms.check_queries import Fault
from dpkit.auditing.audit import audit
from dpkit.report.found_audits import audits_of, read_audit


@pytest.fixture(scope="module")
def certificates():
    return tuple(audit(Gaussian(scale=2.0), samples=2000, rng=3, at=l2(1.0)))


def written(path, analysis, found):
    path.write_text(json.dumps({"dpkit-analysis-audit": 1, "analysis": analysis, **found.as_json()}), encoding="utf-8")
    return path


def test_an_audit_is_read_with_its_certificates(tmp_path, certificates):
    found = read_audit(written(tmp_path / "a", "f1", AnalysisAudit(certificates=certificates, excesses=(), queries=("q",))))
    assert found.analysis == "f1"
    assert found.certificates == certificates
    assert not found.is_refuted
    assert not found.note


def test_a_broken_law_alone_refutes(tmp_path, certificates):
    fault = Fault(subject="query q", law="answers are finite", detail="nan")
    found = read_audit(
        written(tmp_path / "a", "f1", AnalysisAudit(certificates=certificates, excesses=(), queries=("q",), faults=(fault,)))
    )
    assert found.is_refuted
    assert found.faults == ("query q: answers are finite",)


def test_a_changed_certificate_is_not_shown(tmp_path, certificates):
    path = written(tmp_path / "a", "f1", AnalysisAudit(certificates=certificates, excesses=(), queries=()))
    path.write_text(path.read_text().replace('"samples": ', '"samples": 9'), encoding="utf-8")
    assert "not shown" in read_audit(path).note
    assert not read_audit(path).certificates


def test_a_folder_gives_what_it_has_and_a_refuted_audit_goes_first(tmp_path, certificates):
    fault = Fault(subject="query q", law="law", detail="")
    stands = AnalysisAudit(certificates=certificates, excesses=(), queries=())
    written(tmp_path / "a-audit.json", "f1", AnalysisAudit(certificates=(), excesses=(), queries=(), faults=(fault,)))
    written(tmp_path / "b-audit.json", "f1", stands)
    written(tmp_path / "c-audit.json", "f2", stands)
    (tmp_path / "d-audit.json").write_text("[]")
    found = audits_of([tmp_path])
    assert set(found) == {"f1", "f2"}
    assert found["f1"].is_refuted
    assert not found["f2"].is_refuted


def test_a_named_file_that_is_no_audit_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"secret": 1}')
    with pytest.raises(InvalidValueError, match="audits of analyses"):
        audits_of([path])
