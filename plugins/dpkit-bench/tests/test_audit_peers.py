"""The peers of the black box do what their descriptions say, and the search over budgets finds the smallest."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from dpkit_bench import audit_versus
from dpkit_bench.audit_peers import DPSniper, HistogramTester, HockeyStick, Peer, logistic, prepared
from dpkit_bench.audit_samples import measure_audit
from dpkit_bench.audit_versus import GRID, NEVER, TAILS, measure_peers, versus_as_markdown
from dpkit_bench.networks import _forward, _slopes, logit_networks
from dpkit_bench.tables import as_json_text

from dpkit.auditing.betting.profile import Point
from dpkit.auditing.draw_outputs import PairOutputs
from dpkit.auditing.zoo import entry_named

ONE = Point(epsilon=1.0, delta=0.0)
PEERS = (DPSniper(0.01), DPSniper(0.1), HockeyStick(steps=60), HistogramTester())


def drawn(name, n, seeds):
    entry = entry_named(name)
    pairs = [PairOutputs(entry.sampler, entry.pair, np.random.SeedSequence(seed)).draw(n) for seed in range(seeds)]
    return [(prepared(one, ()), prepared(two, ())) for one, two in pairs]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_no_peer_refutes_what_is_right(peer):
    runs = drawn("laplace", peer.sizes(6_000), 10)
    assert sum(peer.refuted(runs, ONE, alpha=1e-3, seed=1)) == 0


@pytest.mark.parametrize(
    ("peer", "budget"),
    [(DPSniper(0.01), 20_000), (DPSniper(0.1), 4_000), (HockeyStick(), 8_000), (HistogramTester(), 120_000)],
    ids=lambda item: getattr(item, "name", str(item)),
)  # fmt: skip
def test_every_peer_refutes_half_of_the_scale(peer, budget):
    runs = drawn("laplace half", peer.sizes(budget), 3)
    assert peer.refuted(runs, ONE, alpha=1e-3, seed=1) == [True] * 3
    turned = [(two, one) for one, two in runs]
    assert peer.refuted(turned, ONE, alpha=1e-3, seed=1) == [True] * 3


def test_the_tail_of_dp_sniper_has_the_probability_asked_for_even_with_ties():
    rng = np.random.default_rng(0)
    bits = [(rng.random((3_000, 1)) < p).astype(float) for p in (0.9, 0.1)]
    # of the neighbour's outputs a tenth is 1; half of those ties count, so the event has 0.05 there and 0.45 here: ln 9
    bound = DPSniper(0.05)._bound(bits[0][:, 0], bits[1][:, 0], 1_000, 0.0, 1e-3)
    assert 1.2 < bound < np.log(9.0)


def test_logistic_regression_is_at_its_optimum():
    rng = np.random.default_rng(1)
    one, two = rng.normal(0.5, 1.0, (400, 3)), rng.normal(0.0, 2.0, (400, 3))
    weights, means, spreads = logistic(one, two)
    design = np.column_stack([(np.concatenate([one, two]) - means) / spreads, np.ones(800)])
    labels = np.repeat([1.0, 0.0], 400)

    def loss(w):
        z = design @ w
        return np.sum(np.logaddexp(0.0, z) - labels * z) + 0.5 * 0.8 * np.sum(w[:-1] ** 2)

    assert all(loss(weights) <= loss(weights + step) for step in 0.01 * rng.normal(size=(50, 4)))


def test_slopes_of_the_networks_are_their_derivatives():
    rng = np.random.default_rng(2)
    shapes = [(2, 3, 4), (2, 1, 4), (2, 4, 1), (2, 1, 1)]
    layers = [rng.normal(size=shape) for shape in shapes]
    rows, truth = rng.normal(size=(2, 7, 3)), (rng.random((2, 7)) < 0.5).astype(float)

    def loss():
        z = _forward(layers, rows)[-1][..., 0]
        return np.mean(np.logaddexp(0.0, z) - truth * z, axis=1).sum()

    for layer, slope in zip(layers, _slopes(layers, rows, truth), strict=True):
        place = tuple(rng.integers(size) for size in layer.shape)
        layer[place] += 1e-6
        above = loss()
        layer[place] -= 2e-6
        below = loss()
        layer[place] += 1e-6
        assert (above - below) / 2e-6 == pytest.approx(slope[place], abs=1e-7)


def test_networks_learn_what_is_not_linear():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(2, 2_000, 2))
    labels = (rows[..., 0] * rows[..., 1] > 0).astype(float)
    predict = logit_networks(rows[:, :1_000], labels[:, :1_000], steps=600, seed=1)
    assert np.all(np.mean((predict(rows[:, 1_000:]) > 0) == (labels[:, 1_000:] > 0.5), axis=1) > 0.9)


class Threshold(Peer):
    """Refutes for more and more seeds as the budget grows: all of them from 900 samples, each a hundred earlier."""

    name = "threshold"

    def sizes(self, budget):
        return budget

    def refuted(self, runs, point, *, alpha, seed):
        return [runs[0][0].shape[0] >= 900 - 100 * i for i in range(len(runs))]


def test_the_search_finds_the_smallest_budgets_of_the_grid():
    needed = audit_versus.budget_needed(Threshold(), entry_named("laplace half"), range(4), 1e-3, GRID)
    assert (needed.quarter, needed.half, needed.three_quarters) == tuple(
        min(budget for budget in GRID if budget >= least) for least in (600, 700, 800)
    )
    small = audit_versus.budget_needed(Threshold(), entry_named("laplace half"), range(4), 1e-3, GRID[:3])
    assert small.half == NEVER
    assert all(b / a < 1.5 for a, b in itertools.pairwise(GRID))


def test_the_histogram_is_for_one_number_only():
    assert HistogramTester().suits(np.zeros((1, 1)), ONE)
    assert not HistogramTester().suits(np.zeros((1, 2)), ONE)
    assert audit_versus.budgets(None) == "-"


def test_flags_stand_in_for_special_values():
    rows = prepared(np.array([[-1.0, 2.0], [3.0, -1.0]]), (-1.0,))
    assert rows.tolist() == [[0.0, 2.0, 1.0, 0.0], [3.0, 0.0, 0.0, 1.0]]


def test_the_table_holds_medians_quartiles_and_ratios():
    entries = [entry_named("laplace half"), entry_named("numpy laplace")]
    rows = measure_audit(seeds=2, entries=entries, first_seed=5)
    peers = (*(DPSniper(c) for c in TAILS), HockeyStick(steps=20), HistogramTester())
    (versus,) = measure_peers(rows, seeds=2, first_seed=5, grid=GRID[:13:3], peers=peers)
    assert versus.name == "laplace half"  # what rounding decides is not for these peers
    assert versus.best(hindsight=True).half <= versus.best(hindsight=False).half
    table = versus_as_markdown([versus])
    assert table.count("\n") == 2
    assert f"> {GRID[-1]:,}" in table
    assert json.loads(as_json_text([*rows, versus]))["rows"][2]["ours"]["name"] == "laplace half"
    never = dataclasses.replace(
        versus, peers=tuple(dataclasses.replace(p, quarter=NEVER, half=NEVER, three_quarters=NEVER) for p in versus.peers)
    )
    assert versus_as_markdown([never]).rpartition("\n")[2].count(f"| > {GRID[-1] / versus.ours.median:,.0f} |") == 1
