"""The laws of pricing. Each is a function of an `account` and an accountant's name, and raises AssertionError where broken.

Usage in any pytest:

    @pytest.mark.parametrize(("law", "accountant"), pricing_cases(default_registry()))
    def test_pricing_obeys(law, accountant):
        law(dpkit.account, accountant)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from hypothesis import assume, example, given
from hypothesis import strategies as st
from laws import composition_laws, cross_check_laws, sampling_laws
from laws.event_strategies import any_events, events, gaussians, kinds_of_leaves, lists_of_leaves, pure_leaves
from laws.sampling_laws import CLOSE, Account, epsilon_of, epsilon_or_none

from dpkit import accounting
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.contracts.registry import Registry
from dpkit.errors import SerialisationError, UnpricedEventError
from dpkit.hooks.manager import default_registry
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.privacy.claims import Citation, LossRule
from dpkit.privacy.events import Event, Parallel, PureEvent, Repeat
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import EITHER, Neighbours
from dpkit.testing.strategies import counts, deltas, epsilons, examples, log_uniform, relations


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


def best_is_never_above_any(account: Account, accountant: str) -> None:
    """The accountant, `best`, prices whatever another one prices, and never above it."""
    others = [name for name in default_registry().accountant_names if name != accountant]
    many = st.builds(Repeat, event=pure_leaves(), times=counts())

    @examples(60)
    @given(event=st.one_of(any_events(), events(gaussians()), many), delta=deltas(), neighbours=relations())
    @example(event=Repeat(event=GaussianEvent(ratio=0.05), times=1000), delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    @example(event=Repeat(event=LaplaceEvent(ratio=0.15), times=40), delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    def law(event: Event, delta: float, neighbours: Neighbours) -> None:
        best = epsilon_or_none(account, event, accountant, delta, neighbours)
        for name in others:
            epsilon = epsilon_or_none(account, event, name, delta, neighbours)
            assert epsilon is None or (best is not None and best <= epsilon), name

    law()


_USUAL = ZCDPAccountant(constants="usual")
_LOOSER: dict[str, tuple[tuple[str | AnyAccountant, str | AnyAccountant], ...]] = {
    "advanced": (("advanced", "pure"),),
    "rdp": (("rdp", "zcdp"),),
    "zcdp": (("zcdp", _USUAL), (_USUAL, ZCDPAccountant(constants="usual", conversion="simple")), ("zcdp", "cdp")),
}
"""Pairs (tighter, looser) of which one theorem contains the other."""


def tighter_is_never_above_looser(account: Account, accountant: str) -> None:
    """An accountant whose theorem contains another's prices whatever that one prices, and never above it."""

    @examples(40)
    @given(event=st.one_of(events(), events(pure_leaves())), delta=deltas(), neighbours=relations())
    @example(event=Repeat(event=LaplaceEvent(ratio=0.15), times=40), delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    def law(event: Event, delta: float, neighbours: Neighbours) -> None:
        for tighter, looser in _LOOSER[accountant]:
            small = epsilon_or_none(account, event, tighter, delta, neighbours)
            large = epsilon_or_none(account, event, looser, delta, neighbours)
            assert large is None or (small is not None and small <= large * CLOSE + 1e-12), (tighter, looser)

    law()


def exact_gaussian_is_never_above_any(account: Account, accountant: str) -> None:
    """For Gaussian noise the accountant, `gdp`, is exact: nothing sound is below it."""
    others = [name for name in default_registry().accountant_names if name != accountant]

    @examples(40)
    @given(ratio=log_uniform(1e-3, 3.0), times=st.integers(1, 500), delta=deltas())
    @example(ratio=0.05, times=500, delta=1e-6)
    def law(ratio: float, times: int, delta: float) -> None:
        event = Repeat(event=GaussianEvent(ratio=ratio), times=times)
        exact = epsilon_of(account, event, accountant, delta)
        for name in others:
            other = epsilon_or_none(account, event, name, delta)
            assert other is None or exact <= other * CLOSE, name

    law()


_TWO_PURE: list[Event] = [PureEvent(epsilon=0.7), LaplaceEvent(ratio=0.5)]
_TWO_GAUSSIAN: list[Event] = [GaussianEvent(ratio=0.7), GaussianEvent(ratio=0.5)]


def disjoint_records_cost_no_more_than_the_same_records(account: Account, accountant: str) -> None:
    """Releases on disjoint records cost at most what they cost on the same ones, and at least each of them."""

    @examples(40)
    @given(several=lists_of_leaves(min_size=1, max_size=4), delta=deltas(), neighbours=relations())
    @example(several=_TWO_PURE, delta=1e-6, neighbours=Neighbours.REPLACE_ONE)
    @example(several=_TWO_GAUSSIAN, delta=1e-6, neighbours=Neighbours.REPLACE_ONE)
    def law(several: list[Event], delta: float, neighbours: Neighbours) -> None:
        apart = epsilon_or_none(account, Parallel(events=tuple(several)), accountant, delta, neighbours)
        together = epsilon_or_none(account, several, accountant, delta, neighbours)
        if apart is None or together is None:
            assert apart is together
            return
        assert apart <= together * CLOSE
        for cell in several:
            alone = epsilon_or_none(account, cell, accountant, delta, neighbours)
            assert alone is not None
            assert alone <= apart * CLOSE

    law()


def replaced_record_touches_two_cells(account: Account, accountant: str) -> None:
    """A record that is replaced may leave one cell and enter another: both are paid for, and under `pure` no third."""

    @examples(40)
    @given(several=lists_of_leaves(min_size=2, max_size=4), delta=deltas())
    @example(several=_TWO_PURE, delta=1e-6)
    @example(several=_TWO_GAUSSIAN, delta=1e-6)
    def law(several: list[Event], delta: float) -> None:
        cells = epsilon_or_none(account, Parallel(events=tuple(several)), accountant, delta, Neighbours.REPLACE_ONE)
        if cells is not None:
            both = epsilon_or_none(account, several[:2], accountant, delta, Neighbours.REPLACE_ONE)
            assert both is not None
            assert both <= cells * CLOSE

    law()
    if accountant == "pure":
        _two_cells_cost_the_two_dearest(account)


def _two_cells_cost_the_two_dearest(account: Account) -> None:
    @examples(60)
    @given(several=st.lists(epsilons(), min_size=1, max_size=12))
    @example(several=[0.3, 1.0, 0.7])
    def law(several: list[float]) -> None:
        cells = Parallel(events=tuple(PureEvent(epsilon=epsilon) for epsilon in several))
        ranked = sorted(several, reverse=True)
        one = account(cells, "pure", Neighbours.ADD_REMOVE).epsilon(delta=0.0)
        two = account(cells, "pure", Neighbours.REPLACE_ONE).epsilon(delta=0.0)
        assert one == ranked[0]
        assert two >= sum(ranked[:2]) * (1.0 - 1e-15)
        assert two <= 2.0 * ranked[0]
        if len(several) <= 8:
            assert two <= sum(ranked[:2]) * (1.0 + 1e-15)

    law()


def calibrated_scale_is_within_the_budget_and_hardly_a_smaller_one(
    account: Account, accountant: str, *, calibrate: Calibrate = accounting.calibrate
) -> None:
    """The scale found keeps within the budget, and one that is smaller by 1e-9 does not."""

    @examples(6)
    @given(epsilon=log_uniform(1e-2, 10.0), delta=log_uniform(1e-12, 1e-2), times=st.integers(1, 100))
    def law(epsilon: float, delta: float, times: int) -> None:
        def family(scale: float) -> Event:
            ratio = 1.0 / scale
            noise = GaussianEvent(ratio=ratio) if accountant == "gdp" else LaplaceEvent(ratio=ratio)
            return Repeat(event=noise, times=times)

        scale = calibrate(family, ApproxDP(epsilon=epsilon, delta=delta), accountant)
        assert epsilon_of(account, family(scale), accountant, delta) <= epsilon
        assert epsilon_of(account, family(scale * (1.0 - 1e-9)), accountant, delta) > epsilon

    law()


def guarantee_survives_json(
    account: Account,
    accountant: str,
    *,
    to_json: Callable[[object], str] = accounting.to_json,
    from_json: FromJson = accounting.from_json,
) -> None:
    """What was written is read as an equal guarantee: its numbers, its explanation, and whether it holds."""
    wishful = LossRule(
        name="wishful",
        event=PureEvent,
        loss=PureDP,
        neighbours=EITHER,
        because=Citation(key="dpkit", locator="none: half of a stated loss is no bound of it"),
        status="refuted",
        bound=lambda event: PureDP(epsilon=event.epsilon / 2.0),
    )
    registry = default_registry().extended(rules=[wishful])
    trees = st.one_of(any_events(), *(events(leaves) for leaves in kinds_of_leaves()))

    @examples(25)
    @given(event=trees, times=counts(), neighbours=relations(), accept=st.sampled_from([(), ("wishful",)]))
    @example(event=PureEvent(epsilon=1.0 / 3.0), times=2, neighbours=Neighbours.ADD_REMOVE, accept=("wishful",))
    def law(event: Event, times: int, neighbours: Neighbours, accept: tuple[str, ...]) -> None:
        try:
            guarantee = account(Repeat(event=event, times=times), accountant, neighbours, registry, accept=accept)
        except UnpricedEventError:
            assume(False)
        try:
            again = from_json(to_json(guarantee), registry=registry)
        except SerialisationError as refusal:
            raise AssertionError(f"what was written is not read: {refusal}") from None
        assert isinstance(again, Guarantee)
        assert again == guarantee
        assert again.unsound == guarantee.unsound
        assert again.epsilon(delta=1e-6) == guarantee.epsilon(delta=1e-6)
        assert str(again.explain()) == str(guarantee.explain())

    law()


_SPEAKS_OF: dict[PricingLaw, tuple[str, ...] | None] = {
    composition_laws.repeat_equals_unrolled_to_the_bit: None,
    composition_laws.order_does_not_matter_to_the_bit: None,
    composition_laws.composition_with_nothing_changes_nothing: None,
    composition_laws.repeated_noise_is_never_below_the_truth: None,
    best_is_never_above_any: ("best",),
    cross_check_laws.best_is_the_least_over_every_range: ("best",),
    cross_check_laws.no_lower_end_is_above_an_upper_end: ("pld", "best"),
    cross_check_laws.no_lower_end_is_above_the_truth: ("pld", "best"),
    tighter_is_never_above_looser: tuple(_LOOSER),
    exact_gaussian_is_never_above_any: ("gdp",),
    disjoint_records_cost_no_more_than_the_same_records: None,
    replaced_record_touches_two_cells: None,
    sampling_laws.sampling_never_costs_more_than_not_sampling: ("pure", "advanced", "rdp", "best"),
    sampling_laws.sampled_gaussian_lies_between_nothing_and_the_whole: ("rdp",),
    sampling_laws.sampled_gaussian_is_never_below_the_truth: ("rdp", "best"),
    sampling_laws.two_samples_are_one_sample: ("pure", "rdp"),
    calibrated_scale_is_within_the_budget_and_hardly_a_smaller_one: None,
    guarantee_survives_json: None,
}
"""The accountants that a law speaks of; None for every one."""

PRICING_LAWS: tuple[PricingLaw, ...] = tuple(_SPEAKS_OF)


def pricing_cases(registry: Registry) -> list[tuple[PricingLaw, str]]:
    """Each law with each accountant of the registry that it speaks of."""
    names = registry.accountant_names
    return [(law, name) for law, spoken_of in _SPEAKS_OF.items() for name in names if spoken_of is None or name in spoken_of]
