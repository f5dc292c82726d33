"""The laws of accountants beyond one loss and small counts: mixtures, counts to 10**12, tiny losses, and any grouping."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from dpkit.contracts.accountant import AnyAccountant
from dpkit.privacy.gaussian_dp import gaussian_epsilon
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, Loss, MeanCDP, PureDP
from dpkit.testing.accountant_laws import TOLERANCE, Law, at_most, lifted, lifted_or_none, same_reading
from dpkit.testing.run_laws import LawNotApplicable
from dpkit.testing.strategies import deltas, drawn, examples, log_uniform, losses

MOST = 10**12
DOUBLINGS = 40
LISTS = (33, 700)
RISE = 2.0
"""How far above an epsilon the loss is asked to be: delta is then at least 1 - e^-2 of that probability."""


@drawn(40, loss=losses(), times=log_uniform(2.0, MOST).map(int), share=st.floats(0.0, 1.0), delta=deltas())
def grouping_does_not_matter(accountant: AnyAccountant, loss: Loss, times: int, share: float, delta: float) -> None:
    """However many releases are grouped, up to 10**12 of them, they cost the same."""
    state = lifted(accountant, loss)
    whole = accountant.repeat(state, times)
    part = int(share * times)
    split = accountant.combine(accountant.repeat(state, part), accountant.repeat(state, times - part))
    same_reading(accountant, whole, split, delta)
    factor = max(1, math.isqrt(times))
    nested = accountant.repeat(accountant.repeat(state, factor), times // factor)
    same_reading(accountant, nested, accountant.repeat(state, factor * (times // factor)), delta)


@drawn(
    40,
    parts=st.lists(st.tuples(losses(), log_uniform(1.0, MOST).map(int)), min_size=2, max_size=4),
    delta=deltas(),
    epsilon=log_uniform(1e-3, 20.0),
)
def a_release_added_to_many_never_lowers_the_price(
    accountant: AnyAccountant, parts: list[tuple[Loss, int]], delta: float, epsilon: float
) -> None:
    """A mixture costs at least what each part costs alone, however many of the parts there are."""
    states = [accountant.repeat(lifted(accountant, loss), times) for loss, times in parts]
    whole = accountant.combine(*states)
    for state in states:
        message = "a release made the others cheaper"
        assert at_most(accountant.epsilon(state, delta=delta), accountant.epsilon(whole, delta=delta)), message
        assert at_most(accountant.delta(state, epsilon=epsilon), accountant.delta(whole, epsilon=epsilon)), message


def never_below_the_truth_of_mixtures(accountant: AnyAccountant) -> None:
    """Gaussian releases of different sizes and counts cost at least their exact epsilon, tiny ones by the million included."""
    kinds = [kind for kind in (GDP, ZCDP, RDP, MeanCDP) if lifted_or_none(accountant, _gaussian_as(kind, 0.5)) is not None]
    if not kinds:
        raise LawNotApplicable("the accountant takes no loss of Gaussian noise")

    @examples(60)
    @given(
        parts=st.lists(st.tuples(log_uniform(1e-3, 3.0), log_uniform(1.0, MOST).map(int)), min_size=1, max_size=3),
        delta=log_uniform(1e-12, 0.05),
        kind=st.sampled_from(kinds),
    )
    def law(parts: list[tuple[float, int]], delta: float, kind: type[Loss]) -> None:
        # each size is that of all its releases together, so that many are tiny
        sizes = [(total / math.sqrt(times), times) for total, times in parts]
        states = [accountant.repeat(accountant.lift(_gaussian_as(kind, mu)), times) for mu, times in sizes]
        mu = math.sqrt(math.fsum(size * size * times for size, times in sizes)) * (1.0 - 1e-12)
        truth = gaussian_epsilon(mu, delta=delta) * (1.0 - 1e-9)
        reported = accountant.epsilon(accountant.combine(*states), delta=delta)
        assert reported >= truth, f"{reported} is reported, {truth} is exact, for {sizes} at delta {delta}"

    law()


def _gaussian_as(kind: type[Loss], mu: float) -> Loss:
    """A loss that Gaussian noise of this size attains, in this notion."""
    rho = mu * mu / 2.0 * (1.0 + 1e-15)
    if kind is GDP:
        return GDP(mu=mu)
    if kind is ZCDP:
        return ZCDP(rho=rho)
    if kind is MeanCDP:
        return MeanCDP(mu=rho, tau=mu)
    orders = tuple(1.0 + 2.0 ** (step / 2.0) for step in range(-8, 60))
    return RDP(orders=orders, epsilons=tuple(rho * order for order in orders))


def never_below_the_truth_of_mixed_responses(accountant: AnyAccountant) -> None:
    """Randomised responses of two sizes, up to 10**12 of them, cost at least what the tail of their loss shows.

    The loss of k responses of size e is e (2 B - k) with B binomial, so delta(epsilon) >= (1 - e^-t) P(loss >= epsilon + t).
    """
    if lifted_or_none(accountant, PureDP(epsilon=0.5)) is None:
        raise LawNotApplicable("the accountant takes no pure losses")

    @examples(60)
    @given(
        total=log_uniform(0.02, 8.0),
        times=log_uniform(1.0, MOST).map(int),
        other=st.one_of(st.just(0.0), log_uniform(1e-3, 4.0)),
        tail=log_uniform(1e-9, 0.2),
    )
    @example(total=6.0, times=10**6, other=0.0, tail=0.1)  # the mean of the loss is most of it
    def law(total: float, times: int, other: float, tail: float) -> None:
        size = total / math.sqrt(times)
        whole: Any = accountant.repeat(accountant.lift(PureDP(epsilon=size)), times)
        if other:
            whole = accountant.combine(whole, accountant.lift(PureDP(epsilon=other)))
        rise = min(RISE, 0.5 * total)
        reached, chance = _reached(size, times, tail)
        # the second response adds its whole size at least with probability 1/2
        epsilon, delta = reached + other - rise, chance * -math.expm1(-rise) * (0.5 if other else 1.0) * (1.0 - 1e-6)
        assume(epsilon > 0.0 and delta > 0.0)
        least = delta * (1.0 - 1e-6)
        found = accountant.delta(whole, epsilon=epsilon)
        assert found >= least, (
            f"delta({epsilon:.4g}) is at least {least:.3g}, {found:.3g} is reported, for {times} times {size:.3g}"
        )
        reported = accountant.epsilon(whole, delta=least * (1.0 - 1e-6))
        assert reported >= epsilon * (1.0 - TOLERANCE), f"epsilon is at least {epsilon:.4g}, {reported:.4g} is reported"

    law()


def _reached(size: float, times: int, tail: float) -> tuple[float, float]:
    """A loss that k responses reach, and the probability with which they do: about this tail."""
    from scipy.special import betainc, ndtri

    chance = 1.0 / (1.0 + math.exp(-size))
    spread = math.sqrt(times * chance * (1.0 - chance))
    hits = math.floor(min(times, max(0.0, times * chance - float(ndtri(tail)) * spread)))
    # P(B >= hits) as an incomplete beta function; what it may be off by at large counts is given away
    probability = float(betainc(hits, times - hits + 1, chance)) if hits else 1.0
    return size * (2.0 * hits - times) * (1.0 - 1e-12), probability * (1.0 - 1e-3)


def every_loss_costs_something(accountant: AnyAccountant) -> None:
    """No loss above zero is free, however small: a large number of them is not."""
    for size in (1e-4, 1e-7, 1e-10, 1e-13):
        candidates: list[Loss] = [PureDP(epsilon=size), GDP(mu=size), ZCDP(rho=size), ApproxDP(epsilon=size, delta=1e-9)]
        for loss in candidates:
            state = lifted_or_none(accountant, loss)
            if state is not None:
                many = accountant.repeat(state, math.ceil(10.0 / size))
                assert accountant.epsilon(many, delta=1e-12) > 0.0, f"{math.ceil(10.0 / size)} times {loss} cost nothing"


def every_delta_counts(accountant: AnyAccountant) -> None:
    """No delta is too small to count: 10**15 releases that each fail with probability 10**-18 fail with probability 0.001."""
    for each in (1e-9, 1e-13, 1e-18):
        for loss in (ApproxDP(epsilon=1e-3, delta=each), ZCDP(rho=1e-3, delta=each)):
            state = lifted_or_none(accountant, loss)
            if state is not None:
                times = round(1e-3 / each)
                failing = -math.expm1(times * math.log1p(-each)) * (1.0 - 1e-9)
                found = accountant.epsilon(accountant.repeat(state, times), delta=0.5 * failing)
                assert found == math.inf, f"at half of the delta of {times} times {loss}, epsilon {found:.4g} is reported"
                found = accountant.epsilon(accountant.combine(accountant.zero(), state), delta=0.5 * each)
                assert found == math.inf, f"at half of the delta of {loss}, epsilon {found:.4g} is reported"


def doubling_is_repeating(accountant: AnyAccountant) -> None:
    """Combined with itself 40 times over, a release costs what 2**40 repetitions cost: no loss and no slack is dropped."""
    for size in (1e-3, 1e-7, 1e-11, 1e-15):
        candidates: list[Loss] = [PureDP(epsilon=size), GDP(mu=size), ZCDP(rho=size)]
        candidates += [ApproxDP(epsilon=size, delta=1e-9 * size), ZCDP(rho=size, delta=1e-9 * size)]
        for loss in candidates:
            state = lifted_or_none(accountant, loss)
            if state is None:
                continue
            doubled = state
            for _ in range(DOUBLINGS):
                doubled = accountant.combine(doubled, doubled)
            for delta in (1e-15, 1e-11, 1e-7, 1e-3):
                same_reading(accountant, doubled, accountant.repeat(state, 2**DOUBLINGS), delta)


def a_long_list_is_repeating(accountant: AnyAccountant) -> None:
    """More than a thousand releases combined at once cost what they cost one after the other."""
    for loss in (PureDP(epsilon=0.01), GDP(mu=0.01), ZCDP(rho=1e-4), ApproxDP(epsilon=0.01, delta=1e-12)):
        state = lifted_or_none(accountant, loss)
        if state is None:
            continue
        other = accountant.repeat(state, 3)
        for count in LISTS:
            listed = accountant.combine(*[state, other] * count)
            for delta in (1e-10, 1e-5):
                same_reading(accountant, listed, accountant.repeat(state, 4 * count), delta)


LARGE_LAWS: tuple[Law, ...] = (
    grouping_does_not_matter,
    a_release_added_to_many_never_lowers_the_price,
    never_below_the_truth_of_mixtures,
    never_below_the_truth_of_mixed_responses,
    every_loss_costs_something,
    every_delta_counts,
    doubling_is_repeating,
    a_long_list_is_repeating,
)
