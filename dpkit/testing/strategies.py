"""Strategies for the values of the core: losses, events, relations, and the deltas and counts that laws quantify over."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.privacy.claims import STATUSES, Citation, Claim
from dpkit.privacy.events import ApproxEvent, Compose, Event, Parallel, PureEvent, Repeat, Subsample, ZCDPEvent
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, Loss, MeanCDP, PureDP
from dpkit.privacy.neighbours import Distance, Neighbours


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


def leaves() -> st.SearchStrategy[Event]:
    """Single releases that every relation can price."""
    return st.one_of(
        st.builds(LaplaceEvent, ratio=epsilons()),
        st.builds(GaussianEvent, ratio=epsilons()),
        st.builds(PureEvent, epsilon=epsilons()),
        st.builds(ApproxEvent, epsilon=epsilons(), delta=small_deltas()),
        st.builds(ZCDPEvent, rho=epsilons()),
    )


def pure_leaves() -> st.SearchStrategy[Event]:
    """Single releases that are pure."""
    return st.one_of(st.builds(LaplaceEvent, ratio=epsilons()), st.builds(PureEvent, epsilon=epsilons()))


def events(base: st.SearchStrategy[Event] | None = None) -> st.SearchStrategy[Event]:
    """Trees of repetition, composition and partition over leaves."""
    return st.recursive(
        leaves() if base is None else base,
        lambda inner: st.one_of(
            st.builds(Repeat, event=inner, times=counts(50)),
            st.builds(Compose, events=st.lists(inner, max_size=4).map(tuple)),
            st.builds(Parallel, events=st.lists(inner, max_size=3).map(tuple)),
        ),
        max_leaves=6,
    )


def any_events() -> st.SearchStrategy[Event]:
    """Every kind of tree, sampling included; not every accountant can price every one."""
    sampled = st.builds(Subsample, rate=st.floats(0.0, 1.0), event=leaves())
    return events(st.one_of(leaves(), sampled))


def claims() -> st.SearchStrategy[Claim]:
    """Claims of every notion and status."""
    words = st.text(st.characters(codec="utf-8", min_codepoint=33), min_size=1, max_size=12).filter(str.strip)
    return st.builds(
        Claim,
        loss=losses(),
        neighbours=relations(),
        because=st.builds(Citation, key=words, locator=words),
        assuming=st.lists(words, max_size=2).map(tuple),
        status=st.sampled_from(STATUSES),
    )


def distances() -> st.SearchStrategy[Distance]:
    """Distances in the built-in metrics."""
    metrics = st.sampled_from(["l1", "l2", "linf", "frobenius", "rank_one"])
    return st.builds(Distance, metric=metrics, value=epsilons())
