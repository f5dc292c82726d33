"""What the laws of pricing share: the callables that they judge, how many examples they draw, and what may be unpriced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.contracts.registry import Registry
from dpkit.errors import UnpricedEventError
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.privacy.events import Event
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.strategies import epsilons, leaves, pure_leaves

CLOSE = 1.0 + 1e-9
"""What rounding and the search for an order may move a reading by, relatively, between two proofs of one thing."""


class Account(Protocol):
    """The signature of `dpkit.account`."""

    def __call__(
        self,
        event_or_events: Event | Iterable[Event],
        accountant: str | AnyAccountant = ...,
        neighbours: Neighbours = ...,
        registry: Registry | None = ...,
        *,
        accept: Iterable[str] = ...,
    ) -> Guarantee:
        """Price an event, or the composition of several."""


class Calibrate(Protocol):
    """The signature of `dpkit.calibrate`."""

    def __call__(
        self,
        event_of_scale: Callable[[float], Event | Iterable[Event]],
        budget: Loss,
        accountant: str | AnyAccountant = ...,
        neighbours: Neighbours = ...,
        registry: Registry | None = ...,
        *,
        accept: Iterable[str] = ...,
    ) -> float:
        """The smallest noise scale within a budget."""


class FromJson(Protocol):
    """The signature of `dpkit.from_json`."""

    def __call__(self, text: str, *, registry: Registry | None = ...) -> object:
        """The value that was written."""


PricingLaw = Callable[[Account, str], None]
"""A law judges an `account` under the accountant of this name, and raises AssertionError where it is broken."""


def examples(count: int) -> settings:
    """A number of examples, the same ones in every run. What it leaves open, the caller's hypothesis profile decides."""
    return settings(max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def epsilon_or_none(
    account: Account,
    event_or_events: Event | Iterable[Event],
    accountant: str | AnyAccountant,
    delta: float,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> float | None:
    """The reported epsilon; None where the accountant has no theorem for the event."""
    try:
        return account(event_or_events, accountant, neighbours).epsilon(delta=delta)
    except UnpricedEventError:
        return None


def epsilon_of(account: Account, event: Event, accountant: str, delta: float) -> float:
    """The reported epsilon of an event that the accountant must be able to price."""
    epsilon = epsilon_or_none(account, event, accountant, delta)
    assert epsilon is not None, f"{accountant} does not price {event}, so the law says nothing of it"
    return epsilon


def gaussians() -> st.SearchStrategy[Event]:
    """Gaussian noise."""
    return st.builds(GaussianEvent, ratio=epsilons())


def kinds_of_leaves() -> list[st.SearchStrategy[Event]]:
    """Every leaf, pure ones alone and Gaussian ones alone: a law over mixtures would say nothing of `pure` and `gdp`."""
    return [leaves(), pure_leaves(), gaussians()]


def lists_of_leaves(*, min_size: int = 0, max_size: int) -> st.SearchStrategy[list[Event]]:
    """Several releases of one such kind."""
    return st.one_of([st.lists(leaves, min_size=min_size, max_size=max_size) for leaves in kinds_of_leaves()])
