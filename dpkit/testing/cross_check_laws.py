"""The cross-check of accountants: each bounds the same releases, so no lower end is above an upper one, whatever a field is."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from dpkit.core.events import ApproxEvent, Compose, Event, Parallel, PureEvent, Repeat, Subsample, ZCDPEvent
from dpkit.core.guarantee import Guarantee
from dpkit.core.neighbours import Neighbours
from dpkit.errors import DpkitError, NoIntervalError
from dpkit.hooks.manager import default_registry
from dpkit.mechanisms.discrete import DiscreteGaussianEvent, DiscreteLaplaceEvent
from dpkit.mechanisms.exponential import BoundedRangeEvent
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.mechanisms.randomized_response import RandomizedResponseEvent
from dpkit.testing.pricing import Account, examples
from dpkit.testing.strategies import log_uniform, relations

_ROUNDING = 1.0 + 1e-13
"""What two exact answers may differ by."""


def _sizes() -> st.SearchStrategy[float]:
    """Every number that a field of an event accepts, the usual ones as often as the others."""
    return st.one_of(log_uniform(1e-3, 30.0), log_uniform(1e-12, 1e4), log_uniform(1e-307, 1.7e308), st.just(0.0))


def _wide_leaves() -> st.SearchStrategy[Event]:
    return st.one_of(
        st.builds(LaplaceEvent, ratio=_sizes()),
        st.builds(GaussianEvent, ratio=_sizes()),
        st.builds(PureEvent, epsilon=_sizes()),
        st.builds(ApproxEvent, epsilon=_sizes(), delta=log_uniform(1e-300, 0.99)),
        st.builds(ZCDPEvent, rho=_sizes()),
        st.builds(BoundedRangeEvent, range=_sizes(), monotone=st.booleans()),
        st.builds(DiscreteLaplaceEvent, ratio=_sizes()),
        st.builds(DiscreteGaussianEvent, ratio=_sizes()),
        st.builds(RandomizedResponseEvent, epsilon=_sizes(), categories=st.sampled_from([2, 3, 10**6])),
        st.builds(
            Subsample,
            rate=st.one_of(st.floats(0.0, 1.0), log_uniform(1e-300, 1.0)),
            event=st.one_of(st.builds(GaussianEvent, ratio=_sizes()), st.builds(LaplaceEvent, ratio=_sizes())),
        ),
    )


def wide_events() -> st.SearchStrategy[Event]:
    """Leaves over the whole range of their fields, alone, repeated up to 10**18 times, composed, and on disjoint records."""
    leaf = _wide_leaves()
    counts = log_uniform(1.0, 1e18).map(int)
    repeated = st.builds(Repeat, event=leaf, times=counts)
    several = st.lists(st.one_of(leaf, repeated), min_size=2, max_size=3).map(tuple)
    return st.one_of(leaf, repeated, st.builds(Compose, events=several), st.builds(Parallel, events=several))


def _tiny(times: int) -> Event:
    return Repeat(event=LaplaceEvent(ratio=1e-9), times=times)


def no_lower_end_is_above_an_upper_end(account: Account, accountant: str) -> None:
    """The accountant's interval is not inverted, and begins at or below what every accountant reports."""
    names = default_registry().accountant_names

    @examples(60)
    @given(event=wide_events(), delta=log_uniform(1e-30, 0.999), neighbours=relations())
    @example(event=_tiny(10**18), delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    @example(event=LaplaceEvent(ratio=100.0), delta=0.3, neighbours=Neighbours.ADD_REMOVE)
    @example(event=Repeat(event=BoundedRangeEvent(range=1.0), times=20), delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    @example(
        event=Parallel(events=(LaplaceEvent(ratio=1.0), GaussianEvent(ratio=1.0))), delta=1e-6, neighbours=Neighbours.ADD_REMOVE
    )
    def law(event: Event, delta: float, neighbours: Neighbours) -> None:
        priced = _priced(account, event, accountant, neighbours)
        if priced is None:
            return
        try:
            lower, upper = priced.interval(delta=delta)
        except NoIntervalError:
            return
        assert lower <= upper, f"the interval begins at {lower} and ends at {upper}"
        for name in names:
            other = _priced(account, event, name, neighbours)
            reported = None if other is None else other.epsilon(delta=delta)
            assert reported is None or lower <= reported * _ROUNDING, f"{name} reports {reported}, the lower end is {lower}"

    law()


def best_is_the_least_over_every_range(account: Account, accountant: str) -> None:
    """Whatever a field accepts, `best` is at most every other; and every reading is a number of its kind, or infinite."""
    names = default_registry().accountant_names

    @examples(30)
    @given(event=wide_events(), delta=log_uniform(1e-30, 0.999), neighbours=relations(), epsilon=_sizes())
    @example(event=_tiny(10**17), delta=1e-6, neighbours=Neighbours.ADD_REMOVE, epsilon=1.0)
    def law(event: Event, delta: float, neighbours: Neighbours, epsilon: float) -> None:
        priced = {name: _priced(account, event, name, neighbours) for name in names}
        readings = {
            name: (guarantee.epsilon(delta=delta), guarantee.delta(epsilon=epsilon))
            for name, guarantee in priced.items()
            if guarantee is not None
        }
        for name, (reported, failing) in readings.items():
            assert reported >= 0.0, f"{name} reports an epsilon of {reported}"
            assert 0.0 <= failing <= 1.0, f"{name} reports a delta of {failing}"
            assert accountant in readings, f"{name} prices what {accountant} does not"
            least, smallest = readings[accountant]
            assert least <= reported, f"{name} reports {reported}, {accountant} {least}"
            assert smallest <= failing, f"{name} reports a delta of {failing}, {accountant} {smallest}"

    law()


def _priced(account: Account, event: Event, accountant: str, neighbours: Neighbours) -> Guarantee | None:
    try:
        return account(event, accountant, neighbours)
    except DpkitError:
        return None
