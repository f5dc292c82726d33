"""Strategies for what the laws of the kit quantify over: losses, relations, deltas and counts."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, Loss, MeanCDP, PureDP
from dpkit.privacy.neighbours import Neighbours


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers spread over orders of magnitude."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(high, max(low, math.exp(x))))


def deltas() -> st.SearchStrategy[float]:
    """Failure probabilities from 1e-30 to one half."""
    return log_uniform(1e-30, 0.5)


def small_deltas() -> st.SearchStrategy[float]:
    """Failure probabilities of one release, zero included."""
    return st.one_of(st.just(0.0), log_uniform(1e-15, 1e-3))


def epsilons() -> st.SearchStrategy[float]:
    """Losses from negligible to useless, zero included."""
    return st.one_of(st.just(0.0), log_uniform(1e-6, 5.0))


def counts(largest: int = 1000) -> st.SearchStrategy[int]:
    """How often something happens, small numbers preferred."""
    return st.one_of(st.integers(0, 8), st.integers(0, largest))


def relations() -> st.SearchStrategy[Neighbours]:
    """Both neighbour relations."""
    return st.sampled_from(Neighbours)


def losses() -> st.SearchStrategy[Loss]:
    """Losses of every notion."""
    return st.one_of(
        st.builds(PureDP, epsilon=epsilons()),
        st.builds(ApproxDP, epsilon=epsilons(), delta=small_deltas()),
        st.builds(MeanCDP, mu=epsilons(), tau=epsilons()),
        st.builds(ZCDP, rho=epsilons(), delta=small_deltas()),
        st.builds(GDP, mu=epsilons()),
        _tabulated_curves(),
    )


@st.composite
def _tabulated_curves(draw: st.DrawFn) -> RDP:
    excesses = sorted(draw(st.sets(log_uniform(0.01, 1e4), min_size=1, max_size=6)))
    orders = sorted({1.0 + excess for excess in excesses})
    slope = draw(epsilons())
    return RDP(orders=tuple(orders), epsilons=tuple(slope * order for order in orders), delta=draw(small_deltas()))


def examples(count: int) -> settings:
    """A number of examples, the same ones in every run. What it leaves open, the caller's hypothesis profile decides."""
    return settings(max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
