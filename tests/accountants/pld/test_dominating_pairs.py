"""What joins `pld`, and how: directions, plugins' own pairs, refusals, explanations, peers, and extremes."""

import itertools
import math
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from laws import loss_laws as laws
from scipy.special import gammainc, gammaincc

from dpkit import Compose, GaussianEvent, LaplaceEvent, Neighbours, PureEvent, Repeat, Subsample, account
from dpkit.accountants.pld.accountant import LossDistributionAccountant
from dpkit.errors import UnpricedLossError
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.privacy.loss_table import PLD
from dpkit.privacy.losses import RDP, ZCDP, ApproxDP

PLD_ACCOUNTANT = LossDistributionAccountant()
SKEWED = PLD(losses=(-0.2, 0.1, 1.3), masses=tuple(np.linalg.solve(
    [[1.0, 1.0, 1.0], np.exp([0.2, -0.1, -1.3]), [0.0, 0.0, 1.0]], [1.0, 1.0, 0.06]
).tolist()))  # fmt: skip


def composed(pair, times, neighbours=Neighbours.ADD_REMOVE):
    return PLD_ACCOUNTANT.repeat(attained(pair, neighbours), times)


def attained(pair, neighbours=Neighbours.ADD_REMOVE):
    return PLD_ACCOUNTANT.marked(PLD_ACCOUNTANT.lift_under(pair, neighbours), attained=True)


def profile_of_mixture(turned, times):
    tables = [(laws.table_of(SKEWED, turned=False), times - turned), (laws.table_of(SKEWED, turned=True), turned)]
    return laws.enumerated([(table, count) for table, count in tables if count])


@pytest.mark.parametrize("times", [1, 2, 4])
def test_replace_one_covers_every_mixture_of_directions(times):
    state = composed(SKEWED, times, Neighbours.REPLACE_ONE)
    for delta, turned in itertools.product((0.3, 0.05, 1e-3), range(times + 1)):
        epsilon = PLD_ACCOUNTANT.reading(state, delta=delta).epsilon
        assert profile_of_mixture(turned, times)(epsilon) <= delta * (1.0 + 1e-12)


@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3])
def test_add_remove_is_the_larger_of_the_two_directions(delta):
    lower, upper = PLD_ACCOUNTANT.interval(composed(SKEWED, 3), delta=delta)
    exact = [profile_of_mixture(turned, 3) for turned in (0, 3)]
    assert max(profile(upper) for profile in exact) <= delta * (1.0 + 1e-12)
    assert lower == 0.0 or max(profile(lower) for profile in exact) >= delta * (1.0 - 1e-12)
    assert upper - lower <= 1e-6


def test_a_pair_with_a_lopsided_infinity_is_bounded_from_above_alone():
    pair = PLD(losses=(0.0, 2.0), masses=(0.5, 0.5))
    missing = 1.0 - 0.5 - 0.5 * math.exp(-2.0)
    state = attained(pair)
    for delta in (0.435, 0.45, 0.6):
        # forward: 0.5 (1 - e^(epsilon - 2)); backward: the missing mass, then 0.5 (1 - e^epsilon) and less
        ahead = 2.0 + math.log1p(-2.0 * delta) if delta < 0.5 * -math.expm1(-2.0) else 0.0
        assert delta >= missing
        assert PLD_ACCOUNTANT.interval(state, delta=delta) is None
        assert ahead <= PLD_ACCOUNTANT.epsilon(state, delta=delta) * (1.0 + 1e-12)


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaPair(LossPair):
    """A plugin's pair: Gamma(a, 1) against tau + Gamma(a, 1), known by its profiles alone."""

    shape: float
    tau: float

    def forward(self):
        return GammaDirection(shape=self.shape, tau=self.tau, turned=False)

    def backward(self):
        return GammaDirection(shape=self.shape, tau=self.tau, turned=True)

    @property
    def infinity(self):
        return float(gammainc(self.shape, self.tau)) * (1.0 + 1e-12)


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaDirection(LossDirection):
    """Forward the law given that Q has mass there; x is where the loss is epsilon."""

    shape: float
    tau: float
    turned: bool

    def edge(self, epsilons):
        sign = self.tau - epsilons if self.turned else self.tau + epsilons
        with np.errstate(all="ignore"):
            return np.where(sign > 0.0, self.tau / -np.expm1(-np.maximum(sign, 1e-300) / (self.shape - 1.0)), np.inf)

    def profile(self, epsilons):
        x = self.edge(epsilons)
        shifted = np.where(np.isinf(x), np.inf, x - self.tau)
        if self.turned:
            value = gammaincc(self.shape, shifted) - np.exp(epsilons) * gammaincc(self.shape, x)
            value = np.where(epsilons < self.tau, value, 0.0)
        else:
            infinity = gammainc(self.shape, self.tau)
            whole = gammainc(self.shape, x) - np.exp(epsilons) * gammainc(self.shape, shifted)
            value = (whole - infinity) / (1.0 - infinity)
        return np.maximum(value, 0.0), 1e-14 * (1.0 + np.exp(np.minimum(epsilons, 30.0))) * np.ones_like(value)

    def slope(self, epsilons):
        x = self.edge(epsilons)
        if self.turned:
            return np.where(epsilons < self.tau, gammaincc(self.shape, x), 0.0)
        shifted = np.where(np.isinf(x), np.inf, x - self.tau)
        return gammainc(self.shape, shifted) / (1.0 - gammainc(self.shape, self.tau))

    def reach(self, tail):
        return (-14.0, self.tau) if self.turned else (-self.tau, 14.0)

    def top(self):
        return self.tau if self.turned else math.inf


def test_a_plugins_own_pair_joins_in_both_directions():
    pair = GammaPair(shape=10.5, tau=1.0)
    state = PLD_ACCOUNTANT.lift(pair)
    for epsilon, published in ((0.5, 0.0311), (1.0, 8.3e-3), (2.0, 9.6e-4)):  # math of the Wishart noise, tau = 1, k - d = 20
        x = 1.0 / -math.expm1(-(epsilon + 1.0) / 9.5)
        exact = float(gammainc(10.5, x) - math.exp(epsilon) * gammainc(10.5, x - 1.0))
        assert exact == pytest.approx(published, rel=2e-2)
        reported = PLD_ACCOUNTANT.delta(state, epsilon=epsilon)
        assert exact * (1.0 - 1e-9) <= reported <= exact * (1.0 + 1e-4)
    many = PLD_ACCOUNTANT.combine(PLD_ACCOUNTANT.repeat(state, 5), PLD_ACCOUNTANT.lift(GammaPair(shape=50.5, tau=0.5)))
    assert PLD_ACCOUNTANT.interval(many, delta=1e-3) is None
    assert 0.0 <= PLD_ACCOUNTANT.epsilon(many, delta=1e-3) < 8.0


@pytest.mark.parametrize("loss", [ZCDP(rho=0.1), RDP(orders=(2.0, 4.0), epsilons=(0.1, 0.2))])
def test_losses_without_a_worst_pair_are_refused_with_the_reason(loss):
    with pytest.raises(UnpricedLossError, match="no one worst pair"):
        PLD_ACCOUNTANT.lift(loss)


@pytest.mark.parametrize(
    ("event", "route"),
    [
        (Repeat(event=GaussianEvent(ratio=0.1), times=9), "closed form"),
        (Compose(events=(LaplaceEvent(ratio=0.1), GaussianEvent(ratio=0.1))), "contour"),
        (Compose(events=(LaplaceEvent(ratio=0.1), PureEvent(epsilon=0.2))), "smoothed"),
    ],
)
def test_explain_names_the_route_the_errors_and_the_shares(event, route):
    explanation = str(account(event, "pld").explain(delta=1e-3))
    assert route in explanation
    assert "%" in explanation
    if route != "closed form":
        assert "rounding" in explanation


@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "subsampled", "pure"])
def test_a_pessimistic_peer_is_never_below_us(kind, times):
    grid = {"value_discretization_interval": 1e-4}
    event, theirs = {
        "laplace": (LaplaceEvent(ratio=0.25), lambda: peer.from_laplace_mechanism(4.0, **grid)),
        "gaussian": (GaussianEvent(ratio=0.25), lambda: peer.from_gaussian_mechanism(4.0, **grid)),
        "subsampled": (
            Subsample(rate=0.125, event=GaussianEvent(ratio=1.0)),
            lambda: peer.from_gaussian_mechanism(1.0, sampling_prob=0.125, **grid),
        ),
        "pure": (PureEvent(epsilon=0.25), lambda: peer.from_randomized_response(2.0 / (1.0 + math.exp(0.25)), 2, **grid)),
    }[kind]
    reported = theirs().self_compose(times).get_epsilon_for_delta(1e-6)
    lower, upper = account(Repeat(event=event, times=times), "pld").interval(delta=1e-6)
    assert upper <= reported + 1e-6
    assert lower >= reported - 1e-3


def test_approximate_losses_join_with_their_slack():
    state = PLD_ACCOUNTANT.repeat(PLD_ACCOUNTANT.lift(ApproxDP(epsilon=0.1, delta=1e-8)), 100)
    assert PLD_ACCOUNTANT.reading(state, delta=0.9e-6).epsilon == math.inf
    assert 0.0 < PLD_ACCOUNTANT.reading(state, delta=1.1e-6).epsilon < 10.0


EXTREMES = """
import math, resource, sys, warnings
import numpy as np
warnings.simplefilter("error")
from dpkit import Compose, GaussianEvent, LaplaceEvent, PureEvent, Repeat, Subsample, account
rng = np.random.default_rng(0)
spread = rng.uniform(1e-3, 0.1, 10_000).tolist()
workloads = {workloads}
for event in workloads:
    guarantee = account(event, "pld")
    for delta in (1e-30, 1e-6, 0.5):
        lower, upper = guarantee.interval(delta=delta) if guarantee.state.attained else (0.0, guarantee.epsilon(delta=delta))
        assert 0.0 <= lower <= upper < math.inf, (str(event)[:80], delta, lower, upper)
    assert 0.0 <= guarantee.delta(epsilon=1.0) <= 1.0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
MANY = {
    "small and large ratios": """[Repeat(event=kind, times=k) for k in (1, 10**6) for x in (1e-8, 1e3)
        for kind in (LaplaceEvent(ratio=x), GaussianEvent(ratio=x), PureEvent(epsilon=x))]""",
    "subsampled": """[Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=x)), times=10) for x in (1e-8, 30.0, 1e3)]""",
    "mixtures of scales": """[Compose(events=(LaplaceEvent(ratio=1e-8), other))
        for other in (PureEvent(epsilon=1.0), LaplaceEvent(ratio=1e3), GaussianEvent(ratio=1e3))]""",
    "a hundred pure": "[Compose(events=tuple(PureEvent(epsilon=x) for x in spread[:100]))]",
    "two thousand Laplace": "[Compose(events=tuple(LaplaceEvent(ratio=x) for x in spread[:2000]))]",
    "two thousand pure": "[Compose(events=tuple(PureEvent(epsilon=x) for x in spread[:2000]))]",
    "ten thousand Laplace": "[Compose(events=tuple(LaplaceEvent(ratio=x) for x in spread))]",
    "ten thousand pure": "[Compose(events=tuple(PureEvent(epsilon=x) for x in spread))]",
}


LONG = ("two thousand pure", "ten thousand Laplace", "ten thousand pure")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in MANY])
def test_extremes_stay_finite_silent_and_small(name):
    script = EXTREMES.replace("{workloads}", MANY[name])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-600:]
    assert float(done.stdout) < 1000.0
