"""Strategies for events, claims and distances, over which the laws of the core quantify."""

from __future__ import annotations

from hypothesis import strategies as st

from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.privacy.claims import STATUSES, Citation, Claim
from dpkit.privacy.events import ApproxEvent, Compose, Event, Parallel, PureEvent, Repeat, Subsample, ZCDPEvent
from dpkit.privacy.neighbours import Distance
from dpkit.testing.strategies import counts, epsilons, losses, relations, small_deltas


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


def gaussians() -> st.SearchStrategy[Event]:
    """Gaussian noise."""
    return st.builds(GaussianEvent, ratio=epsilons())


def kinds_of_leaves() -> list[st.SearchStrategy[Event]]:
    """Every leaf, pure ones alone and Gaussian ones alone: a law over mixtures would say nothing of `pure` and `gdp`."""
    return [leaves(), pure_leaves(), gaussians()]


def lists_of_leaves(*, min_size: int = 0, max_size: int) -> st.SearchStrategy[list[Event]]:
    """Several releases of one such kind."""
    return st.one_of([st.lists(leaves, min_size=min_size, max_size=max_size) for leaves in kinds_of_leaves()])
