"""Accountants beside each other on one plan: a number for each, or why there is none."""

import json
import math

import dpkit
from dpkit.analysis.showing.comparison import compare_accountants

ANALYSIS = """\
dpkit: 1
data: {source: people.csv, neighbours: replace-one, rows: 100, columns: {age: [0, 100]}}
budget: {epsilon: 1, delta: 1e-6, accountant: zcdp}
steps: [{id: average, run: mean, with: {column: age}}]
"""


def test_every_accountant_is_asked_and_the_chosen_one_needs_the_noise_of_the_plan(tmp_path):
    (tmp_path / "a.yaml").write_text(ANALYSIS)
    plan = dpkit.load(tmp_path / "a.yaml").plan()
    told = []
    found = compare_accountants(plan, progress=lambda *what: told.append(what))
    rows = {row.accountant: row for row in found.rows}
    assert set(rows) == set(dpkit.default_registry().accountant_names)
    assert len(told) == len(rows)
    assert rows["zcdp"].noise == 1.0
    assert rows["best"].noise < 1.0
    assert rows["best"].epsilons[found.deltas.index(1e-6)] <= plan.epsilon
    for row in found.rows:
        assert bool(row.why) == (row.noise is None)
        assert list(row.epsilons) == sorted(row.epsilons)  # deltas fall
    assert rows["pure"].epsilons[-1] == math.inf
    assert json.loads(json.dumps(found.as_json()))["chosen"] == "zcdp"
