"""The laws of composition: a count is a composition, order and nothing do not matter, and noise is never below the truth."""

from __future__ import annotations

import math
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st
from laws.event_strategies import events, kinds_of_leaves, lists_of_leaves
from laws.sampling_laws import Account, epsilon_of, epsilon_or_none

from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.privacy.compositions import optimal_epsilon
from dpkit.privacy.events import Compose, Event, Parallel, PureEvent, Repeat, ZCDPEvent
from dpkit.privacy.gaussian_dp import gaussian_epsilon
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.strategies import deltas, examples, log_uniform, relations


def repeat_equals_unrolled_to_the_bit(account: Account, accountant: str) -> None:
    """A count is a composition written short, however counts are nested: none is dropped, and no bit differs."""

    @examples(50)
    @given(event=st.one_of(kinds_of_leaves()), outer=st.integers(0, 4), inner=st.integers(0, 4), delta=deltas())
    @example(event=PureEvent(epsilon=0.7), outer=3, inner=2, delta=1e-6)
    @example(event=GaussianEvent(ratio=0.7), outer=3, inner=2, delta=1e-6)
    def law(event: Event, outer: int, inner: int, delta: float) -> None:
        few = Repeat(event=event, times=inner)
        unrolled = epsilon_or_none(account, [event] * (outer * inner), accountant, delta)
        for same in (
            Repeat(event=event, times=outer * inner),
            Repeat(event=few, times=outer),
            Repeat(event=Compose(events=(few,)), times=outer),
            [few] * outer,
        ):
            assert epsilon_or_none(account, same, accountant, delta) == unrolled

    law()


def order_does_not_matter_to_the_bit(account: Account, accountant: str) -> None:
    """Composition is commutative and associative, and no bit differs."""

    @examples(50)
    @given(
        several=st.one_of(lists_of_leaves(max_size=5), _full_mantissas()),
        delta=deltas(),
        random=st.randoms(use_true_random=True),
    )
    @example(several=[PureEvent(epsilon=size) for size in (0.1, 0.2, 0.3)], delta=1e-6, random=Random(0))
    def law(several: list[Event], delta: float, random: Random) -> None:
        shuffled = list(several)
        random.shuffle(shuffled)
        given_order = epsilon_or_none(account, several, accountant, delta)
        for same in (shuffled, several[::-1], [Compose(events=tuple(several[2:])), *several[:2]]):
            assert epsilon_or_none(account, same, accountant, delta) == given_order

    law()


def composition_with_nothing_changes_nothing(account: Account, accountant: str) -> None:
    """No release costs nothing: alone, beside others, zero times, and on no records."""
    empty: list[Event] = [Repeat(event=PureEvent(epsilon=9.0), times=0), Compose(events=()), Parallel(events=())]
    for nothing in empty:
        assert epsilon_of(account, nothing, accountant, 0.0) == 0.0

    @examples(40)
    @given(event=st.one_of([events(leaves) for leaves in kinds_of_leaves()]), delta=deltas(), neighbours=relations())
    def law(event: Event, delta: float, neighbours: Neighbours) -> None:
        alone = epsilon_or_none(account, event, accountant, delta, neighbours)
        padded = [empty[0], event, *empty[1:]]
        assert epsilon_or_none(account, padded, accountant, delta, neighbours) == alone

    law()


def repeated_noise_is_never_below_the_truth(account: Account, accountant: str) -> None:
    """k releases cost at least the exact epsilon of k Gaussians, and of k pure releases (KOV15, Theorem 3.3)."""
    priced = [epsilon_or_none(account, event, accountant, 1e-6) for event in (GaussianEvent(ratio=1.0), PureEvent(epsilon=1.0))]
    assert priced != [None, None], f"{accountant} prices neither, so the law says nothing of it"

    @examples(30)
    @given(size=log_uniform(1e-3, 3.0), times=st.integers(1, 200), delta=deltas())
    @example(size=0.7, times=20, delta=1e-6)
    def law(size: float, times: int, delta: float) -> None:
        gaussian = epsilon_or_none(account, [GaussianEvent(ratio=size)] * times, accountant, delta)
        if gaussian is not None:
            assert gaussian >= gaussian_epsilon(size * math.sqrt(times) * (1.0 - 1e-15), delta=delta) * (1.0 - 1e-12)
        pure = epsilon_or_none(account, [PureEvent(epsilon=size)] * times, accountant, delta)
        if pure is not None:
            assert pure >= optimal_epsilon(size, times, delta=delta) * (1.0 - 1e-9)

    law()


def _full_mantissas() -> st.SearchStrategy[list[Event]]:
    """Releases whose numbers use every bit, as drawn ones seldom do: sums that round are found out by their order."""

    def several(random: Random, kind: str) -> list[Event]:
        sizes = [random.random() for _ in range(6)]
        if kind == "pure":
            return [PureEvent(epsilon=size) for size in sizes]
        return [GaussianEvent(ratio=size) if kind == "gaussian" else ZCDPEvent(rho=size) for size in sizes]

    return st.builds(several, st.randoms(use_true_random=True), st.sampled_from(["pure", "gaussian", "zcdp"]))
