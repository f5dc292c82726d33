"""The audit of an analysis: what it relies on is tried at its own parameters, and a broken query is found."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

import dpkit
from dpkit.analysis.reading.load import load
from dpkit.auditing.algorithms.audit_analysis import audit_plan
from dpkit.hooks.manager import load_plugins

LITTLE = Path(__file__).parents[2] / "analysis" / "little.py"
YAML = """\
dpkit: 1
data:
  source: people.csv
  columns:
    age: [0, 100]
budget: {epsilon: 1.0, delta: 1e-6, accountant: zcdp}
steps:
  - {id: ages, run: total, with: {column: age}}
"""


@pytest.fixture
def plan(tmp_path):
    spec = importlib.util.spec_from_file_location("little_plugin_of_audits", LITTLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "analysis.yaml").write_text(YAML, encoding="utf-8")
    return load(tmp_path / "analysis.yaml", installed=load_plugins(discover=False, extra={"little": module})).plan()


def test_what_is_right_stands(plan):
    found = audit_plan(plan, samples=4000, seed=1)
    assert not found.refuted
    assert found.queries == ("ages/total",)
    assert found.certificates
    assert all("ages/total: Gaussian" in certificate.target for certificate in found.certificates)
    assert "not refuted" in str(found)
    assert json.dumps(found.as_json())


def test_a_query_that_moves_further_than_it_claims_is_refuted(plan):
    step = plan.steps[0]
    ((query, mechanism),) = step.asked
    wrong = replace(query, sensitivity=lambda neighbours: (dpkit.l1(0.5), dpkit.l2(0.5)))
    broken = replace(plan, steps=(replace(step, asked=((wrong, mechanism),)),))
    found = audit_plan(broken, samples=1000, seed=1)
    assert found.refuted
    assert found.excesses[0].query == "ages/total"
    assert "REFUTED" in str(found)
