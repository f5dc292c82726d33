"""The audit of an analysis finds what a wrong algorithm of a plugin does in a step, and leaves a right one alone."""

import numpy as np
import pytest

import dpkit
from dpkit.analysis.reading.load import load
from dpkit.auditing.algorithms.audit_analysis import audit_plan, step_faults
from dpkit.auditing.algorithms.check_queries import query_faults
from dpkit.hooks.manager import load_plugins
from tests.mutants.little import module_of

YAML = """\
dpkit: 1
data:
  source: people.csv
  columns:
    x: [0, 1]
    y: [-3, 10]
budget: {{epsilon: 1.0, delta: 1e-6, accountant: {accountant}}}
steps:
  - {{id: ages, run: {run}, with: {{column: y, passes: 2}}}}
"""


def plan_of(tmp_path, name, accountant="zcdp"):
    module = module_of(name)
    run = module.dpkit_algorithms()[0].name
    (tmp_path / "analysis.yaml").write_text(YAML.format(run=run, accountant=accountant), encoding="utf-8")
    return load(tmp_path / "analysis.yaml", installed=load_plugins(discover=False, extra={"little": module})).plan()


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("fast_path_unclipped", "the_fast_sum_is_the_sum"),
        ("bounds_from_the_block", "a_row_contributes_by_itself"),
        ("training_loss_in_the_result", "equal_answers_give_equal_runs"),
        ("stops_early_by_the_data", "equal_answers_give_equal_runs"),
        ("gain_from_the_last_answer", "no_neighbours_exceed_the_sensitivity"),
    ],
)
def test_a_wrong_step_is_found(tmp_path, name, law):
    assert law in {fault.law for fault in step_faults(plan_of(tmp_path, name))}


@pytest.mark.parametrize("name", ["totals_with_a_fast_path", "noise_of_its_own", "chooses_an_index"])
def test_a_right_step_is_left_alone(tmp_path, name):
    assert list(step_faults(plan_of(tmp_path, name))) == []


def test_a_sample_that_nobody_draws_is_refuted(tmp_path):
    plan = plan_of(tmp_path, "sample_by_a_hash_of_the_row", "rdp")
    found = audit_plan(plan, samples=1000, seed=1)
    assert found.refuted
    assert "REFUTED" in str(found)
    assert found.as_json()["faults"]


def test_a_wrong_step_makes_the_audit_refuted(tmp_path):
    found = audit_plan(plan_of(tmp_path, "training_loss_in_the_result"), samples=1000, seed=1)
    assert found.refuted
    assert "step ages is REFUTED by the law equal_answers_give_equal_runs" in str(found)


@pytest.mark.parametrize("seed", range(6))
def test_a_block_in_units_of_its_largest_row_is_found_whichever_rows_are_made_up(seed):
    """Many made-up rows are ends of ranges, beside which such a query looks right."""

    def rows(block):
        return np.trunc(block[:, 0] / np.max(block[:, 0], initial=1e-9) * 2.0**20) * 2.0**-20

    query = dpkit.Query(
        name="shares",
        columns=("age",),
        rows=rows,
        shape=(),
        grid=2.0**-20,
        bound=1.0,
        sensitivity=lambda neighbours: (dpkit.l1(1.0),),
        because=dpkit.Citation(key="DMNS06", locator="Definition 5"),
    )
    schema = dpkit.Schema(columns=(dpkit.Number(name="age", lower=0.0, upper=120.0),))
    setting = dpkit.DeclaredSetting(schema=schema, neighbours=dpkit.Neighbours.ADD_REMOVE)
    assert "a_row_contributes_by_itself" in {fault.law for fault in query_faults(query, setting, seed=seed)}
