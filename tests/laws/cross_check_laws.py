"""The cross-check of accountants: each bounds the same releases, so no lower end is above an upper one, whatever a field is.

Where a profile has a textbook formula, the lower end is held against it, too, in many digits and at every delta.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from laws.sampling_laws import Account

from dpkit.contracts.guarantee import Guarantee
from dpkit.errors import DpkitError, NoIntervalError
from dpkit.hooks.manager import default_registry
from dpkit.mechanisms.discrete import DiscreteGaussianEvent, DiscreteLaplaceEvent
from dpkit.mechanisms.exponential import BoundedRangeEvent
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.mechanisms.randomized_response import RandomizedResponseEvent
from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF
from dpkit.privacy.events import ApproxEvent, Compose, Event, Parallel, PureEvent, Repeat, Subsample, ZCDPEvent
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.strategies import examples, log_uniform, relations

_ROUNDING = 1.0 + 1e-13
"""What two exact answers may differ by."""


def _sizes() -> st.SearchStrategy[float]:
    """Every number that a field of an event accepts, the usual ones as often as the others."""
    return st.one_of(log_uniform(1e-3, 30.0), log_uniform(1e-12, 1e4), log_uniform(1e-307, 1.7e308), st.just(0.0))


def _deltas() -> st.SearchStrategy[float]:
    """Every delta above 0: the usual ones, those that are hardly floats, and those next to 1."""
    near_one = log_uniform(UNIT_ROUNDOFF, 0.1).map(lambda gap: 1.0 - gap)
    return st.one_of(log_uniform(1e-30, 0.999), log_uniform(SMALLEST, 1e-290), near_one)


def _wide_leaves() -> st.SearchStrategy[Event]:
    return st.one_of(
        st.builds(LaplaceEvent, ratio=_sizes()),
        st.builds(GaussianEvent, ratio=_sizes()),
        st.builds(PureEvent, epsilon=_sizes()),
        st.builds(ApproxEvent, epsilon=_sizes(), delta=log_uniform(1e-300, 0.99)),
        st.builds(ZCDPEvent, rho=_sizes()),
        st.builds(BoundedRangeEvent, range=_sizes(), monotone=st.booleans()),
        st.builds(DiscreteLaplaceEvent, ratio=_sizes(), sensitivity=st.sampled_from([None, 1, 2, 5])),
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

    @examples(25)
    @given(event=wide_events(), delta=_deltas(), neighbours=relations())
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
    @given(event=wide_events(), delta=_deltas(), neighbours=relations(), epsilon=_sizes())
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


def no_lower_end_is_above_the_truth(account: Account, accountant: str) -> None:
    """One Laplace release, Gaussian and pure ones repeated: at the lower end the exact delta is at least the one asked for."""
    ratios = st.one_of(log_uniform(1e-3, 30.0), log_uniform(30.0, 1e5))

    @examples(30)
    @given(kind=st.sampled_from(sorted(_EXACT)), ratio=ratios, count=st.integers(1, 40), delta=_deltas())
    @example(kind="gaussian", ratio=3.0, count=1, delta=64 * SMALLEST)
    @example(kind="gaussian", ratio=1e3, count=1, delta=1.0 - 1e-14)
    @example(kind="pure", ratio=1e3, count=1, delta=1.0 - 1e-14)
    @example(kind="pure", ratio=1e5, count=2, delta=0.9999)
    def law(kind: str, ratio: float, count: int, delta: float) -> None:
        event, exact = _EXACT[kind]
        count = 1 if kind == "laplace" else count
        lower, _ = account(Repeat(event=event(ratio), times=count), accountant).interval(delta=delta)
        truth = exact(ratio, count, lower)
        assert lower == 0.0 or truth >= delta, (
            f"{count} {kind} releases at {ratio}: the lower end {lower} has a delta of {truth}"
        )

    law()


def _digits() -> Any:
    import mpmath  # type: ignore[import-untyped]

    context = mpmath.mp.clone()
    context.dps = 60
    return context


def _laplace_delta(ratio: float, count: int, epsilon: float) -> Any:
    """1 - e^((epsilon - ratio)/2) below the ratio, for one release."""
    mp = _digits()
    return -mp.expm1((mp.mpf(epsilon) - mp.mpf(ratio)) / 2) if epsilon < ratio else mp.mpf(0)


def _pure_delta(ratio: float, count: int, epsilon: float) -> Any:
    """KOV15, Theorem 3.3, term by term."""
    mp = _digits()
    one, at = mp.mpf(ratio), mp.mpf(epsilon)
    up, down = 1 / (1 + mp.exp(-one)), 1 / (1 + mp.exp(one))
    losses = [(count - 2 * flips) * one for flips in range(count + 1)]
    return mp.fsum(
        mp.binomial(count, flips) * up ** (count - flips) * down**flips * -mp.expm1(at - loss)
        for flips, loss in enumerate(losses)
        if loss > at
    )


def _gaussian_delta(ratio: float, count: int, epsilon: float) -> Any:
    """BW18, Theorem 5, for the one Gaussian release that equals all of them."""
    mp = _digits()
    mu, at = mp.mpf(ratio) * mp.sqrt(count), mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - at / mu) - mp.exp(at) * mp.ncdf(-mu / 2 - at / mu)


_EXACT: dict[str, tuple[Callable[[float], Event], Callable[[float, int, float], Any]]] = {
    "laplace": (lambda ratio: LaplaceEvent(ratio=ratio), _laplace_delta),
    "pure": (lambda ratio: PureEvent(epsilon=ratio), _pure_delta),
    "gaussian": (lambda ratio: GaussianEvent(ratio=ratio), _gaussian_delta),
}


def _priced(account: Account, event: Event, accountant: str, neighbours: Neighbours) -> Guarantee | None:
    try:
        return account(event, accountant, neighbours)
    except DpkitError:
        return None
