"""The laws of accountants. Each is a function of an accountant that raises AssertionError where the law is broken.

Usage in any pytest:

    @pytest.mark.parametrize("law", ACCOUNTANT_LAWS, ids=lambda law: law.__name__)
    def test_my_accountant_obeys(law):
        law(MyAccountant())
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from dpkit.contracts.accountant import AnyAccountant
from dpkit.errors import LossOverflowError, UnpricedLossError
from dpkit.privacy.compositions import optimal_epsilon
from dpkit.privacy.gaussian_dp import gaussian_epsilon
from dpkit.privacy.losses import GDP, ZCDP, ApproxDP, Loss, MeanCDP, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.strategies import counts, deltas, drawn, log_uniform, losses, relations

Law = Callable[[AnyAccountant], None]

TOLERANCE = 1e-9
"""What rounding may move a reading by, relatively, when the same composition is built in another way."""


@drawn(60, loss=losses(), times=st.integers(0, 12), delta=deltas())
def repeat_equals_unrolled(accountant: AnyAccountant, loss: Loss, times: int, delta: float) -> None:
    """Repeating a release is combining it with itself: no count is ever dropped."""
    state = lifted(accountant, loss)
    repeated = accountant.repeat(state, times)
    unrolled = accountant.combine(*[state] * times) if times else accountant.zero()
    same_reading(accountant, repeated, unrolled, delta)


@drawn(60, several=st.lists(losses(), min_size=3, max_size=5), delta=deltas(), shuffled=st.randoms(use_true_random=False))
def order_does_not_matter(accountant: AnyAccountant, several: list[Loss], delta: float, shuffled: Any) -> None:
    """Combining is commutative and associative."""
    states = [state for state in (lifted_or_none(accountant, loss) for loss in several) if state is not None]
    assume(len(states) >= 2)
    mixed = list(states)
    shuffled.shuffle(mixed)
    nested = mixed[0]
    for state in mixed[1:]:
        nested = accountant.combine(nested, state)
    same_reading(accountant, accountant.combine(*states), nested, delta)


@drawn(60, loss=losses(), delta=deltas())
def nothing_changes_nothing(accountant: AnyAccountant, loss: Loss, delta: float) -> None:
    """Composition with nothing changes nothing, and nothing costs nothing."""
    zero, state = accountant.zero(), lifted(accountant, loss)
    assert accountant.epsilon(zero, delta=0.0) == 0.0, "no release, but a price"
    assert accountant.delta(zero, epsilon=0.0) == 0.0, "no release, but a price"
    same_reading(accountant, accountant.combine(state, zero), state, delta)


@drawn(60, loss=losses(), times=counts(), one=deltas(), other=deltas())
def epsilon_falls_as_delta_grows(accountant: AnyAccountant, loss: Loss, times: int, one: float, other: float) -> None:
    """A larger delta never costs a larger epsilon."""
    state = accountant.repeat(lifted(accountant, loss), times)
    low, high = min(one, other), max(one, other)
    assert at_most(accountant.epsilon(state, delta=high), accountant.epsilon(state, delta=low))


@drawn(60, loss=losses(), times=st.integers(1, 200), points=st.lists(log_uniform(1e-3, 50.0), min_size=3, max_size=3))
def delta_falls_as_epsilon_grows(accountant: AnyAccountant, loss: Loss, times: int, points: list[float]) -> None:
    """delta(epsilon) is a probability and never rises. (A bound need not be convex; an exact profile must: see profiles.)"""
    state = accountant.repeat(lifted(accountant, loss), times)
    reported = accountant.epsilon(state, delta=1e-6)
    around = [0.5 * reported, 2.0 * reported] if 0.0 < reported < math.inf else []  # where the profile moves
    profile = [accountant.delta(state, epsilon=epsilon) for epsilon in sorted([*points, *around])]
    assert all(0.0 <= value <= 1.0 for value in profile)
    assert all(at_most(later, earlier) for earlier, later in pairwise(profile))


@drawn(60, loss=losses(), times=st.integers(1, 200), delta=deltas())
def epsilon_and_delta_agree(accountant: AnyAccountant, loss: Loss, times: int, delta: float) -> None:
    """The delta at the reported epsilon is the delta that was asked for, or better."""
    state = accountant.repeat(lifted(accountant, loss), times)
    epsilon = accountant.epsilon(state, delta=delta)
    assume(math.isfinite(epsilon))
    # a little above the reported epsilon, so that a vertical profile is met from the right side
    assert accountant.delta(state, epsilon=epsilon * (1.0 + TOLERANCE) + 1e-12) <= delta * (1.0 + 1e-6)


@drawn(60, loss=losses(), more=losses(), delta=deltas())
def more_releases_never_cost_less(accountant: AnyAccountant, loss: Loss, more: Loss, delta: float) -> None:
    """Adding a release never lowers epsilon."""
    state, added = lifted(accountant, loss), lifted(accountant, more)
    assert at_most(accountant.epsilon(state, delta=delta), accountant.epsilon(accountant.combine(state, added), delta=delta))


@drawn(60, several=st.lists(losses(), min_size=1, max_size=4), times=st.integers(1, 9), delta=deltas())
def join_covers_each(accountant: AnyAccountant, several: list[Loss], times: int, delta: float) -> None:
    """Whichever of several releases happens, the joined state bounds it."""
    states = [state for state in (lifted_or_none(accountant, loss) for loss in several) if state is not None]
    assume(states)
    states[0] = accountant.repeat(states[0], times)
    joined = accountant.epsilon(accountant.join(*states), delta=delta)
    for state in states:
        assert at_most(accountant.epsilon(state, delta=delta), joined)


@drawn(60, mu=log_uniform(1e-4, 3.0), times=st.integers(1, 200), delta=deltas(), relation=relations())
def never_below_gaussian_truth(accountant: AnyAccountant, mu: float, times: int, delta: float, relation: Neighbours) -> None:
    """k releases of Gaussian noise cost at least their exact epsilon, to the last digit, under either relation."""
    candidates: list[Loss] = [
        GDP(mu=mu),
        ZCDP(rho=mu * mu / 2 * (1 + 1e-15)),
        MeanCDP(mu=mu * mu / 2 * (1 + 1e-15), tau=mu),
    ]
    lifted = (lifted_or_none(accountant, loss, relation) for loss in candidates)
    states = [state for state in lifted if state is not None]
    truth = gaussian_epsilon(mu * math.sqrt(times) * (1.0 - 1e-15), delta=delta) * (1.0 - 1e-12)
    for state in states:
        assert accountant.epsilon(accountant.repeat(state, times), delta=delta) >= truth


@drawn(60, epsilon=log_uniform(1e-3, 3.0), times=st.integers(1, 300), delta=deltas(), relation=relations())
def never_below_pure_truth(accountant: AnyAccountant, epsilon: float, times: int, delta: float, relation: Neighbours) -> None:
    """k arbitrary pure releases cost at least the optimal composition (KOV15, Theorem 3.3), under either relation."""
    state = lifted_or_none(accountant, PureDP(epsilon=epsilon), relation)
    if state is not None:
        truth = optimal_epsilon(epsilon, times, delta=delta) * (1.0 - 1e-9)
        assert accountant.epsilon(accountant.repeat(state, times), delta=delta) >= truth


@drawn(60, size=log_uniform(1e-2, 3.0), times=st.integers(1, 100), delta=deltas(), relation=relations())
def no_delta_is_below_the_truth(accountant: AnyAccountant, size: float, times: int, delta: float, relation: Neighbours) -> None:
    """`delta(epsilon)`, where an accountant computes it by itself, is no smaller than that of Gaussian and of pure releases."""
    mu = size * math.sqrt(times)
    gaussian = [GDP(mu=size), ZCDP(rho=size * size / 2 * (1 + 1e-15)), MeanCDP(mu=size * size / 2 * (1 + 1e-15), tau=size)]
    exact = gaussian_epsilon(mu * (1.0 - 1e-12), delta=delta) * (1.0 - 1e-6)
    optimal = optimal_epsilon(size, times, delta=delta) * (1.0 - 1e-6)
    for loss, epsilon in [*((loss, exact) for loss in gaussian), (PureDP(epsilon=size), optimal)]:
        state = lifted_or_none(accountant, loss, relation)
        if state is not None and epsilon > 0.0:
            found = accountant.delta(accountant.repeat(state, times), epsilon=epsilon)
            message = f"delta({epsilon:.4g}) is at least {delta:.4g}, {found:.4g} is reported, for {times} times {loss}"
            assert found >= delta * (1.0 - 1e-6), message


@drawn(60, mu=log_uniform(1e-3, 3.0), times=st.integers(1, 50), delta=deltas())
def the_interval_holds_the_truth(accountant: AnyAccountant, mu: float, times: int, delta: float) -> None:
    """A certified interval, where there is one, ends at the reported epsilon and has the exact one of Gaussian noise within."""
    lifted = (_attained(accountant, loss) for loss in (GDP(mu=mu), ZCDP(rho=mu * mu / 2 * (1 - 1e-15))))
    exact = gaussian_epsilon(mu * math.sqrt(times) * (1.0 + 1e-15), delta=delta) * (1.0 + 1e-9) + 1e-12
    for state in (accountant.repeat(state, times) for state in lifted if state is not None):
        found = accountant.interval(state, delta=delta)
        if found is not None:
            lower, upper = found
            assert lower <= exact, f"the interval begins at {lower}, above the exact epsilon {exact}"
            assert lower <= upper, f"the interval begins at {lower} and ends at {upper}"
            assert upper == accountant.epsilon(state, delta=delta), "the interval does not end at the reported epsilon"


def an_accountant_remembers_nothing(accountant: AnyAccountant) -> None:
    """The same question has the same answer, however often and after whatever it is asked; no state changes by being used."""
    asked = (PureDP(epsilon=0.3), GDP(mu=0.4), ZCDP(rho=0.1), ApproxDP(epsilon=0.2, delta=1e-9), MeanCDP(mu=0.05, tau=0.3))

    def answers() -> list[float]:
        states = [lifted(accountant, loss) for loss in asked]
        alone = [accountant.epsilon(state, delta=1e-6) for state in states]
        whole = accountant.combine(*states, *(accountant.repeat(state, 3) for state in states))
        assert [accountant.epsilon(state, delta=1e-6) for state in states] == alone, "combining states changed them"
        return [*alone, accountant.epsilon(whole, delta=1e-6)]

    first = answers()
    assert answers() == first, "the same releases have another price when they are asked for again"


@drawn(60, each=log_uniform(1e-12, 1e-2), times=st.integers(1, 50), epsilon=log_uniform(1e-3, 1.0))
def deltas_add_up(accountant: AnyAccountant, each: float, times: int, epsilon: float) -> None:
    """k releases that each fail with probability d fail with probability 1 - (1-d)^k: no delta is counted once."""
    for loss in (ApproxDP(epsilon=epsilon, delta=each), ZCDP(rho=epsilon, delta=each)):
        state = lifted_or_none(accountant, loss)
        if state is not None:
            failing = -math.expm1(times * math.log1p(-each)) * (1.0 - 1e-12)
            total = accountant.combine(*[state] * times)
            assert accountant.delta(total, epsilon=1000.0) >= failing
            assert accountant.epsilon(accountant.repeat(state, times), delta=failing * (1.0 - 1e-9)) == math.inf


@drawn(60, loss=losses(), times=st.integers(1, 20), delta=deltas(), spare=st.floats(-1e-6, 1e-6))
def within_means_the_reported_number(accountant: AnyAccountant, loss: Loss, times: int, delta: float, spare: float) -> None:
    """A budget is met exactly when the reported epsilon is within it."""
    state = accountant.repeat(lifted(accountant, loss), times)
    for at in (delta, 0.0):
        reported = accountant.epsilon(state, delta=at)
        if not math.isfinite(reported):
            assert not accountant.within(state, ApproxDP(epsilon=1e12, delta=at))
            continue
        for epsilon in (reported, reported * (1.0 + spare), reported / 1.05, reported * 1.05):
            budget = ApproxDP(epsilon=epsilon, delta=at) if at else PureDP(epsilon=epsilon)
            assert accountant.within(state, budget) == (reported <= epsilon)


@drawn(60, several=st.lists(losses(), min_size=1, max_size=4), delta=deltas())
def shares_sum_to_one(accountant: AnyAccountant, several: list[Loss], delta: float) -> None:
    """The shares of an explanation are nonnegative and add up to the whole."""
    states = [state for state in (lifted_or_none(accountant, loss) for loss in several) if state is not None]
    assume(states)
    shares = accountant.shares(states, accountant.combine(*states), delta=delta)
    assert all(share >= 0.0 for share in shares)
    assert math.isclose(sum(shares), 1.0, rel_tol=1e-9) or sum(shares) == 0.0


ACCOUNTANT_LAWS: tuple[Law, ...] = (
    repeat_equals_unrolled,
    order_does_not_matter,
    nothing_changes_nothing,
    epsilon_falls_as_delta_grows,
    delta_falls_as_epsilon_grows,
    epsilon_and_delta_agree,
    more_releases_never_cost_less,
    join_covers_each,
    never_below_gaussian_truth,
    never_below_pure_truth,
    no_delta_is_below_the_truth,
    the_interval_holds_the_truth,
    an_accountant_remembers_nothing,
    deltas_add_up,
    within_means_the_reported_number,
    shares_sum_to_one,
)


def lifted_or_none(accountant: AnyAccountant, loss: Loss, relation: Neighbours | None = None) -> Any:
    """The state of the loss; None where the accountant does not take it."""
    try:
        return accountant.lift(loss) if relation is None else accountant.lift_under(loss, relation)
    except (UnpricedLossError, LossOverflowError):
        return None


def _attained(accountant: AnyAccountant, loss: Loss) -> Any:
    """The state of a loss that is attained: Gaussian noise has exactly this one."""
    state = lifted_or_none(accountant, loss)
    return None if state is None else accountant.marked(state, attained=True)


def lifted(accountant: AnyAccountant, loss: Loss) -> Any:
    """The state of the loss, or of a loss near it that the accountant takes: laws must never pass for want of examples."""
    state = lifted_or_none(accountant, loss)
    if state is not None:
        return state
    size = max((getattr(loss, field, 0.0) for field in ("epsilon", "rho", "mu", "tau")), default=0.0)
    for stand_in in (PureDP(epsilon=size), GDP(mu=size), ZCDP(rho=size), MeanCDP(mu=size, tau=size)):
        state = lifted_or_none(accountant, stand_in)
        if state is not None:
            return state
    raise AssertionError(f"{accountant.name} takes none of the built-in losses, so its laws say nothing")


def same_reading(accountant: AnyAccountant, one: Any, other: Any, delta: float) -> None:
    """Two states are read as the same epsilon, to rounding."""
    first, second = accountant.epsilon(one, delta=delta), accountant.epsilon(other, delta=delta)
    assert math.isclose(first, second, rel_tol=TOLERANCE) or first == second, f"{first} is not {second} at delta {delta}"


def at_most(smaller: float, larger: float) -> bool:
    """Whether one reading is at most another, to rounding."""
    return smaller <= larger * (1.0 + TOLERANCE) + 1e-300
