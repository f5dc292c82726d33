"""The laws of sampling: what a secret Poisson sample may cost, and never less than the truth in either direction."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

from hypothesis import example, given
from hypothesis import strategies as st

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.contracts.registry import Registry
from dpkit.errors import UnpricedEventError
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.privacy.events import Event, PureEvent, Repeat, Subsample
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.known_truths import sampled_gaussian_deltas
from dpkit.testing.strategies import deltas, examples, log_uniform

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


def sampling_never_costs_more_than_not_sampling(account: Account, accountant: str) -> None:
    """A sample costs at most the whole, the more of it the more, at rate 0 nothing and at rate 1 the whole."""

    @examples(30)
    @given(epsilon=log_uniform(1e-3, 3.0), one=st.floats(0.0, 1.0), other=st.floats(0.0, 1.0), delta=deltas())
    @example(epsilon=1.0, one=0.01, other=0.1, delta=1e-6)
    def law(epsilon: float, one: float, other: float, delta: float) -> None:
        def reading(event: Event) -> float:
            return epsilon_of(account, event, accountant, delta)

        def sampled(rate: float) -> float:
            return reading(Subsample(rate=rate, event=LaplaceEvent(ratio=epsilon)))

        whole = reading(LaplaceEvent(ratio=epsilon))
        # amplification knows the epsilon of the noise alone, which some accountants can undercut
        assert sampled(max(one, other)) <= max(whole, reading(PureEvent(epsilon=epsilon))) * CLOSE
        assert sampled(min(one, other)) <= sampled(max(one, other)) * CLOSE
        assert sampled(0.0) == 0.0
        assert sampled(1.0) == whole

    law()


def sampled_gaussian_lies_between_nothing_and_the_whole(account: Account, accountant: str) -> None:
    """Gaussian noise on a sample, however often, costs at most the noise on everybody, read by the same theorem.

    Not a law of `best`, which reads the whole exactly and the sample by its Rényi curve.
    """

    @examples(30)
    @given(ratio=log_uniform(0.05, 4.0), rate=log_uniform(1e-4, 1.0), times=st.integers(1, 100), delta=deltas())
    @example(ratio=1.0, rate=0.01, times=100, delta=1e-6)
    def law(ratio: float, rate: float, times: int, delta: float) -> None:
        event = GaussianEvent(ratio=ratio)
        whole = epsilon_of(account, Repeat(event=event, times=times), accountant, delta)
        sampled = epsilon_of(account, Repeat(event=Subsample(rate=rate, event=event), times=times), accountant, delta)
        assert 0.0 <= sampled <= whole * CLOSE

    law()


def sampled_gaussian_is_never_below_the_truth(account: Account, accountant: str) -> None:
    """At the reported epsilon, neither a record that comes nor one that goes is told with more than delta."""

    @examples(30)
    @given(ratio=log_uniform(0.05, 4.0), rate=log_uniform(1e-4, 0.999), delta=deltas())
    @example(ratio=1.0, rate=0.01, delta=1e-6)
    def law(ratio: float, rate: float, delta: float) -> None:
        epsilon = epsilon_of(account, Subsample(rate=rate, event=GaussianEvent(ratio=ratio)), accountant, delta)
        for true_delta in sampled_gaussian_deltas(rate, ratio, epsilon=epsilon):
            assert true_delta <= delta * (1.0 + 2e-3), f"delta is {true_delta} at epsilon {epsilon}, not {delta}"

    law()


def two_samples_are_one_sample(account: Account, accountant: str) -> None:
    """A sample of a sample is a sample at the product of the rates."""

    @examples(25)
    @given(rates=st.tuples(*[log_uniform(1e-3, 1.0)] * 2), ratio=log_uniform(0.1, 2.0), delta=deltas(), gaussian=st.booleans())
    @example(rates=(0.1, 0.01), ratio=1.0, delta=1e-6, gaussian=True)
    @example(rates=(0.1, 0.01), ratio=1.0, delta=1e-6, gaussian=False)
    def law(rates: tuple[float, float], ratio: float, delta: float, gaussian: bool) -> None:
        one, two = rates
        noise = GaussianEvent(ratio=ratio) if gaussian else LaplaceEvent(ratio=ratio)
        nested = epsilon_or_none(account, Subsample(rate=one, event=Subsample(rate=two, event=noise)), accountant, delta)
        direct = epsilon_or_none(account, Subsample(rate=one * two, event=noise), accountant, delta)
        if nested is None or direct is None:
            assert nested is direct
            assert gaussian, f"{accountant} does not price samples, so the law says nothing of it"
        else:
            assert math.isclose(nested, direct, rel_tol=1e-6, abs_tol=1e-9)

    law()
