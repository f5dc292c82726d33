"""Wishart noise: the exact profile against quadrature, Monte Carlo and known values; the published claim falls."""

import itertools
import math

import dpkit_irls
import numpy as np
import pytest
from dpkit_irls.paper.published_noise import WishartAsPublished
from dpkit_irls.wishart import zoo
from dpkit_irls.wishart.gamma_pair import EVALUATION, Absent, GammaPair, Present, floor
from dpkit_irls.wishart.swap_pair import Swapped
from dpkit_irls.wishart.wishart import Wishart, swap
from scipy import integrate, special, stats

import dpkit

REGISTRY = dpkit.load_plugins(discover=False, extra={"irls": dpkit_irls}).registry


def absent(a, tau, epsilon):
    lost = floor(a, tau)
    return lost + (1.0 - lost) * float(Absent(a=a, tau=tau).profile(np.array([epsilon]))[0][0])


def present(a, tau, epsilon):
    return float(Present(a=a, tau=tau).profile(np.array([epsilon]))[0][0])


@pytest.mark.parametrize(
    ("extra", "epsilon", "expected"), [(20, 0.5, 0.0311), (20, 1.0, 8.3e-3), (20, 2.0, 9.6e-4), (50, 1.0, 1.5e-4)]
)
def test_the_profile_has_the_known_values(extra, epsilon, expected):
    assert absent((extra + 1) / 2, 1.0, epsilon) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("a", [1.5, 3.0, 10.5, 60.0])
@pytest.mark.parametrize("tau", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [-0.05, 0.3, 1.0])
def test_the_profile_is_the_integral_of_the_two_densities(a, tau, epsilon):
    law = stats.gamma(a)
    top = tau + law.isf(1e-14)
    near, far = law.pdf, lambda g: law.pdf(g - tau)
    for mine, other, found in ((near, far, absent(a, tau, epsilon)), (far, near, present(a, tau, epsilon))):
        excess = lambda g, mine=mine, other=other: max(mine(g) - math.exp(epsilon) * other(g), 0.0)  # noqa: E731
        points = sorted({tau, tau * 1.01, tau + a / 4, tau + a, tau + 2 * a})
        cuts = [0.0, *[point for point in points if point < top], top]
        value = sum(integrate.quad(excess, low, high, limit=400)[0] for low, high in itertools.pairwise(cuts))
        assert found == pytest.approx(value, abs=2e-6)


def test_the_scalar_pair_is_that_of_whole_matrices():
    """Full-matrix Monte Carlo: 40,000 draws, within 4.5 standard errors."""
    rng = np.random.default_rng(5)
    noise, size = Wishart(extra=20, scale=0.5), 4
    direction = np.ones(size) / 2.0
    there = np.outer(direction, direction)
    for truth, other, expected in ((0, 1, absent(10.5, 1.0, 0.5)), (1, 0, present(10.5, 1.0, 0.5))):
        outputs = np.asarray(noise.release_many(truth * there, 40_000, rng))
        losses = noise.log_density(outputs, truth * there) - noise.log_density(outputs, other * there)
        terms = np.maximum(-np.expm1(0.5 - losses), 0.0)
        assert abs(terms.mean() - expected) < 4.5 * terms.std() / 200.0


def test_the_evaluation_keeps_its_margin():
    """Both tails, within eight standard deviations, from the smallest `a` to beyond the largest that `moments` uses."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(8)
    shapes = [1.0, 1.5, 3.0, 10.5, 160.5, 500.0, 5000.0, 50_000.5, *np.exp(rng.uniform(0.0, math.log(5e4), size=20))]
    with mpmath.workdps(50):
        for a in shapes:
            for deviations in rng.uniform(-8.0, 8.0, size=12):
                x = a + deviations * math.sqrt(a)
                if x <= 0.0:
                    continue
                exact = mpmath.gammainc(a, 0, x, regularized=True)
                assert abs(float(mpmath.mpf(float(special.gammainc(a, x))) / exact - 1)) < EVALUATION / 2
                assert abs(float(mpmath.mpf(float(special.gammaincc(a, x))) / (1 - exact) - 1)) < EVALUATION / 2


@pytest.mark.parametrize("extra", [1, 2, 20, 400])
def test_no_epsilon_goes_below_the_floor_and_nothing_is_pure(extra):
    noise = Wishart(extra=extra, scale=0.5)
    event = noise.event(dpkit.rank_one(1.0))
    lost = floor((extra + 1) / 2, 1.0)
    assert lost > 0.0
    if extra == 1:
        assert lost == pytest.approx(1.0 - math.exp(-1.0))
    guarantee = dpkit.account(event, "pld", registry=REGISTRY)
    assert guarantee.delta(epsilon=50.0) >= lost
    assert guarantee.epsilon(delta=lost / 2.0) == math.inf
    assert all(not isinstance(claim.loss, dpkit.PureDP) for claim in noise.claims(dpkit.rank_one(1.0)))
    assert any("real arithmetic" in text for claim in noise.claims(dpkit.rank_one(1.0)) for text in claim.assuming)


def test_replacing_costs_at_most_the_simple_bound_and_at_least_known_pairs():
    # math.md, section 4: the exact supremum at a = 3, tau = epsilon = 0.3 is at least 0.0358
    lost = floor(3.0, 0.3)
    found = lost + (1 - lost) * float(Swapped(a=3.0, tau=0.3).profile(np.array([0.3]))[0][0])
    assert 0.0358 <= found <= absent(3.0, 0.3, 0.0)


@pytest.mark.parametrize("a", [2.0, 10.5, 80.0])
def test_the_swap_profile_is_convex_and_its_slope_is_its_own(a):
    tau = 0.3 * math.sqrt(a)
    direction = Swapped(a=a, tau=tau)
    x = np.exp(np.linspace(-1.0, 1.5, 400))
    values = direction.profile(np.log(x))[0]
    chords = np.diff(values) / np.diff(x)
    assert (np.diff(chords) > -1e-7).all()
    slopes = direction.slope(np.log(x))
    assert (-chords <= slopes[:-1] + 1e-9).all()
    assert (-chords >= slopes[1:] - 1e-9).all()


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_density_is_that_of_scipy_and_zero_beyond_the_cone(size):
    rng = np.random.default_rng(size)
    noise, start = Wishart(extra=3, scale=0.25), np.diag(np.linspace(-1.0, 1.0, size))
    outputs = np.asarray(noise.release_many(start, 50, rng))
    law = stats.wishart(df=size + 3, scale=0.25 * np.eye(size))
    expected = [float(np.ravel(law.logpdf(output - start))[0]) for output in outputs]
    np.testing.assert_allclose(noise.log_density(outputs, start), expected, rtol=1e-9, atol=1e-9)
    for place in range(size):  # not positive definite, whichever direction it is that lacks
        beyond = outputs - start
        vector = np.linalg.eigh(beyond)[1][..., place]
        beyond -= 1e6 * vector[..., :, None] * vector[..., None, :]
        beyond = (beyond + np.swapaxes(beyond, -1, -2)) / 2.0
        assert (noise.log_density(beyond, np.zeros((size, size))) == -math.inf).all()
    for wrong in (math.nan, math.inf):
        outputs[0, 0, 0] = wrong
        assert noise.log_density(outputs, start)[0] == -math.inf


def test_a_swap_of_two_orthogonal_records_stays_within_its_price():
    """White-box: the realised profile of one hard pair, 60,000 draws, never above the claim by 4.5 standard errors."""
    rng = np.random.default_rng(6)
    noise = Wishart(extra=20, scale=0.5)
    one, other = np.diag([1.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.0])
    outputs = np.asarray(noise.release_many(one, 60_000, rng))
    losses = noise.log_density(outputs, one) - noise.log_density(outputs, other)
    guarantee = dpkit.account(noise.event(swap(1.0)), "pld", dpkit.Neighbours.REPLACE_ONE, REGISTRY)
    for epsilon in (0.2, 0.5, 1.0, 1.5):
        terms = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
        assert terms.mean() - 4.5 * terms.std() / math.sqrt(60_000) <= guarantee.delta(epsilon=epsilon)


def test_the_loss_distribution_composes_wishart_with_gaussian_noise():
    noise = Wishart(extra=60, scale=0.5)
    events = [noise.event(dpkit.rank_one(0.3)), dpkit.Gaussian(scale=4.0).event(dpkit.l2(1.0))]
    alone = [dpkit.account(event, "pld", registry=REGISTRY).epsilon(delta=1e-6) for event in events]
    together = dpkit.account(events, "pld", registry=REGISTRY).epsilon(delta=2e-6)
    assert max(alone) * 0.9 < together < sum(alone)
    assert GammaPair(a=10.0, tau=0.0).strength == 0.0


def impossible(outputs, neighbour):
    """Outputs that the neighbour cannot give: output - B' is not positive semidefinite."""
    return np.linalg.eigvalsh(outputs - neighbour)[:, 0] < -1e-9


@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_the_published_wishart_shows_an_absence_as_often_as_the_theory_says(size, epsilon):
    rng = np.random.default_rng([size, int(100 * epsilon)])
    noise = WishartAsPublished(scale=1.0 / (2.0 * epsilon))
    record = np.zeros((size, size))
    record[0, 0] = 1.0
    draws = 4_000
    hits = int(np.sum(impossible(np.asarray(noise.release_many(np.zeros((size, size)), draws, rng)), record)))
    expected = -math.expm1(-epsilon)
    assert abs(hits / draws - expected) < 4.5 * math.sqrt(expected * (1 - expected) / draws) + 1e-5


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.9])
def test_the_published_wishart_is_refuted_within_its_number_of_draws_with_a_witness_that_replays(epsilon):
    noise = WishartAsPublished(scale=1.0 / (2.0 * epsilon))
    record = np.diag([1.0, 0.0, 0.0])
    draws = math.ceil(14.0 / epsilon)  # misses with probability e^-14
    outputs = np.asarray(noise.release_many(np.zeros((3, 3)), draws, np.random.default_rng(3)))
    hits = np.flatnonzero(impossible(outputs, record))
    assert hits.size
    witness = outputs[hits[0]]
    again = np.asarray(noise.release_many(np.zeros((3, 3)), draws, np.random.default_rng(3)))[hits[0]]
    assert np.array_equal(witness, again)
    assert noise.log_density(witness, record) == -math.inf
    assert np.isfinite(noise.log_density(witness, np.zeros((3, 3))))


def test_the_published_claim_is_refuted_and_prices_only_by_name():
    noise = WishartAsPublished(scale=1.0)
    at = dpkit.rank_one(0.5)
    statuses = {type(claim.loss).__name__: claim.status for claim in noise.claims(at)}
    assert statuses == {"PureDP": "refuted", "ApproxDP": "proved"}
    assert dpkit.account(noise.event(at), "pure", registry=REGISTRY).epsilon(delta=0.0) == math.inf
    accepted = dpkit.account(noise.event(at), "pure", registry=REGISTRY, accept=["wishart-as-published"])
    assert accepted.epsilon(delta=0.0) == 0.25
    honest = dpkit.account(noise.event(at), "pld", registry=REGISTRY)
    assert honest.delta(epsilon=20.0) >= -math.expm1(-0.25)


@pytest.mark.parametrize(("a", "tau"), [(2.0, 0.5), (41.0, 5.0), (641.5, 30.0)])
def test_splits_of_many_epsilons_are_as_good_as_those_of_one(a, tau):
    direction = Swapped(a=a, tau=tau)
    epsilons = np.linspace(*direction.reach(1e-6), 1500)
    many = direction.profile(epsilons)[0]
    few = np.concatenate([direction.profile(part)[0] for part in np.array_split(epsilons, 10)])
    heavy = few > 1e-12
    assert heavy.sum() > 300
    np.testing.assert_allclose(many[heavy], few[heavy], rtol=1e-9)


def test_the_claim_of_the_repaired_zoo_entry_is_that_of_the_exact_profile():
    (entry,) = [entry for entry in zoo.entries() if entry.name == "wishart, repaired"]
    pair = GammaPair(a=10.5, tau=1.0)
    value, _ = Absent(a=pair.a, tau=pair.tau).profile(np.array([1.0]))
    exact = pair.infinity + (1.0 - pair.infinity) * float(value[0])
    assert exact <= entry.claim.delta <= exact * (1.0 + 2e-9)


@pytest.mark.parametrize(("a", "x"), [(0.5, 0.3), (1.5, 7.0), (10.5, 5.5), (20.5, 15.0)])
def test_half_integer_gamma_is_the_incomplete_gamma_function(a, x):
    assert zoo.half_integer_gamma(a, x) == pytest.approx(float(special.gammainc(a, x)), rel=1e-12)
