"""Targets beside peers' own programs: their losses are right, the limit is what it says, and what is missing is said."""

import math

import numpy as np
import pytest
from dpkit_bench.audit_programs import ProgramRow, measure_programs, programs_as_markdown
from dpkit_bench.audit_versus import NEVER, Needed
from dpkit_bench.held_out import HELD_OUT, Target
from dpkit_bench.information_limit import divergence_from_claim, samples_at_least
from dpkit_bench.peer_programs import Served, StatDPProgram, _missing

from dpkit import ApproxDP, PureDP


@pytest.mark.parametrize("target", HELD_OUT, ids=lambda target: target.name)
def test_the_loss_of_a_target_is_the_ratio_of_its_laws(target):
    rng = np.random.default_rng(3)
    one, two = (np.asarray(target.sampler(side, 60_000, rng)).reshape(60_000, -1) for side in target.pair)
    weights = np.exp(np.clip(target.loss(two), -50.0, 3.0))
    for event in (lambda rows: rows[:, 0] <= 0.0, lambda rows: rows[:, 0] > 0.6, lambda rows: rows.sum(axis=1) > 1.2):
        # P(S and finite loss) = E_Q[1_S e^loss], both by samples
        finite = (target.loss(one) < 3.0) & (target.loss(one) > -50.0)
        assert np.mean(event(one) & finite) == pytest.approx(
            np.mean(np.where(event(two) & (target.loss(two) < 3.0), weights, 0.0)), abs=0.02
        )


def response(true, claimed, delta=0.0):
    chance = 1.0 / (1.0 + math.exp(-true))

    def sampler(value, n, rng):
        return np.where(rng.random(n) < chance, value, 1 - value).astype(float)

    claim = PureDP(epsilon=claimed) if delta == 0.0 else ApproxDP(epsilon=claimed, delta=delta)
    return Target(
        name="response", sampler=sampler, pair=(0, 1), claim=claim, loss=lambda rows: np.where(rows[:, 0] == 0.0, true, -true)
    )


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_limit_of_two_answers_is_that_of_a_search_over_all_that_keeps_the_claim(delta):
    target = response(1.5, 1.0, delta)
    p = 1.0 / (1.0 + math.exp(-1.5))
    grid = np.linspace(0.02, 0.98, 481)
    one, two = np.meshgrid(grid, grid)
    ratio = math.exp(1.0)
    kept = (one <= ratio * two + delta) & (two <= ratio * one + delta)
    kept &= (1 - one <= ratio * (1 - two) + delta) & (1 - two <= ratio * (1 - one) + delta)

    def divergence(true, other):
        return true * np.log(true / other) + (1 - true) * np.log((1 - true) / (1 - other))

    least = np.where(kept, divergence(p, one) + divergence(1 - p, two), np.inf).min()
    assert divergence_from_claim(target, draws=40_000) == pytest.approx(least, rel=0.08)
    assert samples_at_least(target, alpha=1e-3, draws=40_000) == pytest.approx(2.0 * math.log(1e3) / least, rel=0.08)


def test_a_program_is_given_each_output_once():
    served = Served((np.arange(4.0).reshape(4, 1), np.zeros((4, 1))))
    assert served.m(0, 2).tolist() == [[0.0], [1.0]]
    assert served.m(0, 2).tolist() == [[2.0], [3.0]]
    with pytest.raises(RuntimeError, match="more outputs than its budget"):
        served.m(0, 1)


def test_a_program_that_is_not_there_says_what_it_lacks(tmp_path):
    class Absent(StatDPProgram):
        place, modules = "clone", ("a_program_of_nobody",)

    assert "a_program_of_nobody" in _missing(Absent, tmp_path)
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "a_program_of_nobody.py").write_text("", encoding="utf-8")
    assert _missing(Absent, tmp_path) == ""


def test_a_table_says_by_how_much_the_best_program_needs_more():
    needed = {"quarter": 900, "half": 1_000, "three_quarters": 1_200}
    row = ProgramRow(
        name="t", median=200.0, quarter=150.0, three_quarters=250.0, limit=100.0,
        programs=(Needed(peer="a", **needed), Needed(peer="b", quarter=NEVER, half=NEVER, three_quarters=NEVER)),
    )  # fmt: skip
    table = programs_as_markdown([row], ["a", "b"])
    assert "| t | 100 | 200 (150 to 250) | 1,000 (900 to 1,200) | > 262,144 | 5.0 | 10 |" in table
    assert "at the median 5.0, at least 5.0.\n3 times fewer on 1 of 1 (no test could on 0); 5 times fewer on 1 of 1" in table


def test_a_target_is_measured_without_any_program():
    (row,) = measure_programs([], seeds=1, first_seed=5, targets=[response(2.5, 0.5)])
    assert row.limit < row.median < 1_000
    assert row.ratio is None
