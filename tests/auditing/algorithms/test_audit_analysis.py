"""The audit of an analysis: what it relies on is tried at its own parameters, and a broken query is found."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

import dpkit
from dpkit.analysis.reading.load import load
from dpkit.auditing.algorithms.audit_analysis import _charged, _is_charged, audit_plan
from dpkit.hooks.manager import load_plugins
from dpkit.mechanisms.exponential import BoundedRangeEvent
from dpkit.privacy.neighbours import Neighbours

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


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_an_analysis_with_quantiles_is_audited_and_stands(neighbours, tmp_path):
    """Its noise is a composition that no rule prices whole; pairs of counts are the mechanism's own."""
    rows = "  rows: 500\n" if neighbours == "replace-one" else ""
    text = YAML.replace("  columns:", f"  neighbours: {neighbours}\n{rows}  columns:")
    text = text.replace("run: total, with: {column: age}", "run: quantiles, with: {column: age, probabilities: [0.5, 0.9]}")
    (tmp_path / "analysis.yaml").write_text(text, encoding="utf-8")
    found = audit_plan(load(tmp_path / "analysis.yaml").plan(), samples=200, seed=1)
    assert not found.refuted, str(found)
    assert any("ExponentialQuantiles" in certificate.target for certificate in found.certificates)


def test_a_composition_that_is_charged_less_than_its_noise_claims_is_seen():
    registry = load_plugins(discover=False).registry
    event = dpkit.Compose(events=(BoundedRangeEvent(range=0.3), BoundedRangeEvent(range=0.2)))
    charged = _charged(event, Neighbours.ADD_REMOVE, registry)
    assert _is_charged(dpkit.PureDP(epsilon=0.5), charged)
    assert not _is_charged(dpkit.PureDP(epsilon=0.6), charged)
    mixed = dpkit.Compose(events=(BoundedRangeEvent(range=0.3), dpkit.GaussianEvent(ratio=0.1)))
    assert not _is_charged(dpkit.PureDP(epsilon=0.3), _charged(mixed, Neighbours.ADD_REMOVE, registry))
