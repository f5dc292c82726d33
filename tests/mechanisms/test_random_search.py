"""Random search: density and sampler agree, the claims hold and smaller ones fall, plans, ledgers and texts know it."""

import math

import numpy as np
import pytest

import dpkit
from dpkit import Neighbours, PureDP, RandomSearch, RepeatAndSelect

SCORES = np.array([0.0, 1.0, 3.0])
SEARCHES = [
    RandomSearch(scale=1.5, mean=4.0),
    RandomSearch(scale=1.0, noise="gaussian", mean=6.0, shape=0.0),
    RandomSearch(scale=1.0, noise="gaussian", mean=2.0, shape=math.inf),
    RandomSearch(scale=1.0, mean=1.0),
]


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_the_density_integrates_to_one_and_is_the_sampler_s(search):
    line = np.linspace(-30.0, 40.0, 70_001)
    densities = [np.exp(search.log_density(np.stack([np.full(line.size, i), line], axis=1), SCORES)) for i in range(3)]
    masses = np.array([density.sum() * (line[1] - line[0]) for density in densities])
    nothing = float(np.exp(search.log_density(np.array([-1.0, 0.0]), SCORES)))
    assert math.isclose(masses.sum() + nothing, 1.0, rel_tol=1e-6)
    n = 4000
    drawn = search.release_many(SCORES, n, np.random.default_rng(5))
    shares = np.append(masses, nothing)
    counts = np.array([np.sum(drawn[:, 0] == place) for place in (0, 1, 2, -1)])
    assert np.all(np.abs(counts - n * shares) <= 6.0 * np.sqrt(n * shares * (1 - shares)) + 1e-9)
    below = sum(float(np.sum(density[line <= 2.5])) for density in densities) * (line[1] - line[0])
    found = np.sum((drawn[:, 0] >= 0) & (drawn[:, 1] <= 2.5))
    assert abs(found - n * below) <= 6.0 * math.sqrt(n * below * (1 - below)) + 2.0


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_claims_are_what_accountants_read_and_hold_at_the_worst_scores(search):
    claims = search.claims(at=dpkit.linf(1.0))
    assert claims
    line = np.linspace(-40.0, 40.0, 20_001)
    outputs = np.concatenate([np.stack([np.full(line.size, i), line], axis=1) for i in range(2)])
    guarantee = dpkit.account(search.event(at=dpkit.linf(1.0)), "pld")
    for one, other in (((0.0, 0.0), (1.0, 1.0)), ((0.0, 3.0), (1.0, 2.0)), ((1.0, 5.0), (0.0, 6.0))):
        first, second = (np.exp(search.log_density(outputs, np.array(scores))) * (line[1] - line[0]) for scores in (one, other))
        for epsilon in (0.0, 0.5, 1.5):
            lost = max(np.sum(np.maximum(a - math.exp(epsilon) * b, 0.0)) for a, b in ((first, second), (second, first)))
            assert lost <= guarantee.delta(epsilon=epsilon) + 1e-4


def test_an_audit_refutes_the_cost_of_one_run_and_not_the_claim():
    search, pair = RandomSearch(scale=1.0, mean=20.0), (np.array([0.0, 0.0]), np.array([1.0, 1.0]))
    claimed = dpkit.account(search.event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0)
    for epsilon, refuted in ((1.0, True), (claimed, False)):
        claim = dpkit.Claim(
            loss=PureDP(epsilon=epsilon), neighbours=Neighbours.ADD_REMOVE, because=dpkit.Citation(key="caller", locator="test")
        )
        found = dpkit.audit(search, claim=claim, pair=pair, rng=1, samples=20_000)
        assert any(certificate.refuted for certificate in found) is refuted


def test_a_ledger_pays_for_a_search_and_knows_it_again(tmp_path):
    budget = dpkit.ApproxDP(epsilon=3.0, delta=1e-6)
    event = RandomSearch(scale=8.0, noise="gaussian", mean=5.0).event(at=dpkit.linf(1.0))
    with dpkit.Ledger.create(tmp_path / "l.ledger", budget=budget, dataset="d", accountant="rdp") as ledger:
        ledger.reserve("run")
        ledger.charge("run", event, key="search")
        assert ledger.spent().epsilons[0] > 0.0
    with dpkit.Ledger.create(tmp_path / "z.ledger", budget=budget, dataset="d", accountant="zcdp") as ledger:
        ledger.reserve("run")
        with pytest.raises(dpkit.UnpricedEventError, match="rdp"):
            ledger.charge("run", event, key="search")
    assert dpkit.from_json(dpkit.to_json(event)) == event
    text = "repeat-and-select(event=gaussian(ratio=0.125), mean=5.0, shape=1.0)"
    assert dpkit.interchange.read(text).event == event
    assert dpkit.interchange.read("repeat-and-select(event=pure(epsilon=1.0), mean=5.0, shape=inf)").event.shape == math.inf


def test_noise_is_calibrated_for_a_search():
    scale = dpkit.calibrate(
        lambda scale: RandomSearch(scale=scale, mean=4.0).event(at=dpkit.linf(1.0)),
        dpkit.ApproxDP(epsilon=1.0, delta=1e-6),
        "best",
    )
    found = dpkit.account(RandomSearch(scale=scale, mean=4.0).event(at=dpkit.linf(1.0)), "best").epsilon(delta=1e-6)
    assert 0.98 <= found <= 1.0


@pytest.mark.parametrize("wrong", [{"noise": "gumbel"}, {"mean": 0.9}, {"shape": -1.0}, {"scale": 0.0}])
def test_what_is_no_search_is_refused(wrong):
    with pytest.raises(dpkit.InvalidValueError):
        RandomSearch(**{"scale": 1.0, **wrong})


def test_tuned_training_is_never_dearer_than_the_peer_s():
    """dp-accounting's Rényi figures over laws of repetitions."""
    peers = pytest.importorskip("dp_accounting.dp_event")
    from dp_accounting.rdp import RdpAccountant

    for sigma, mean, shape in ((5.0, 1.5, 0.0), (1.0, 10.0, 1.0), (20.0, 300.0, 0.5), (2.0, 10.0, math.inf), (1.0, 300.0, 5.0)):
        ours = dpkit.account(RepeatAndSelect(event=dpkit.GaussianEvent(ratio=1.0 / sigma), mean=mean, shape=shape), "best")
        theirs = RdpAccountant()
        theirs.compose(peers.RepeatAndSelectDpEvent(peers.GaussianDpEvent(sigma), mean, shape))
        assert ours.epsilon(delta=1e-6) <= theirs.get_epsilon(1e-6)
