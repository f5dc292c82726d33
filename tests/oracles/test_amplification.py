"""Amplification by Poisson sampling against small mechanisms that are enumerated outright."""

import itertools

import numpy as np
import pytest
from mpmath import mp, mpf

from dpkit import ApproxDP, ApproxEvent, Neighbours, PureDP, PureEvent, Repeat, Subsample, UnpricedEventError, account
from dpkit.privacy.compositions import amplified

mp.dps = 60
Law = dict[int, mpf]


def response(parity: int, epsilon: float, leak: float) -> Law:
    """(epsilon, leak)-DP, at the boundary: with probability `leak` the answer gives the bit away."""
    p = 1 / (1 + mp.exp(-mpf(epsilon)))
    truth, lie = (1 - mpf(leak)) * p, (1 - mpf(leak)) * (1 - p)
    return {parity: truth, 1 - parity: lie, 2 + parity: mpf(leak)}


def on_a_sample(records: tuple[int, ...], rate: float, epsilon: float, leak: float) -> Law:
    """The law of the response to the parity of a Poisson sample, summed over every sample."""
    law: Law = {}
    for kept in itertools.product((False, True), repeat=len(records)):
        weight = mp.fprod(mpf(rate) if keep else 1 - mpf(rate) for keep in kept)
        parity = sum(itertools.compress(records, kept)) % 2
        for answer, mass in response(parity, epsilon, leak).items():
            law[answer] = law.get(answer, mpf(0)) + weight * mass
    return law


def profile(one: Law, other: Law, epsilon: float) -> mpf:
    return mp.fsum(max(mpf(0), mass - mp.exp(mpf(epsilon)) * other.get(answer, mpf(0))) for answer, mass in one.items())


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("leak", [0.0, 1e-3])
def test_no_pair_of_neighbours_does_worse_than_the_theorem(rate: float, epsilon: float, leak: float) -> None:
    inner = PureDP(epsilon=epsilon) if leak == 0.0 else ApproxDP(epsilon=epsilon, delta=leak)
    bound = amplified(inner, rate=rate)
    allowed = mpf(bound.delta) if isinstance(bound, ApproxDP) else mpf(0)
    for others in ((), (0,), (1,), (1, 0), (1, 1)):
        without, with_one = (on_a_sample(records, rate, epsilon, leak) for records in (others, (*others, 1)))
        for one, other in ((without, with_one), (with_one, without)):
            assert profile(one, other, bound.epsilon) <= allowed * (1 + mpf(10) ** -40) + mpf(10) ** -45


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_some_pair_does_as_badly(rate: float, epsilon: float) -> None:
    bound = amplified(PureDP(epsilon=epsilon), rate=rate).epsilon
    without, with_one = on_a_sample((), rate, epsilon, 0.0), on_a_sample((1,), rate, epsilon, 0.0)
    assert profile(with_one, without, bound * (1 - 1e-9)) > 0


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 0.1, 5.0, 699.9, 700.0, 719.0, 745.0, 1e4])
@pytest.mark.parametrize("rate", [1e-300, 1e-297, 1e-30, 1e-6, 0.3, 1 - 2.0**-53, 1.0])
def test_the_formula_is_rounded_up(epsilon: float, rate: float) -> None:
    with mp.workdps(5000 if epsilon >= 1e3 else 700):
        exact = mp.log1p(mpf(rate) * mp.expm1(mpf(epsilon)))
    reported = mpf(amplified(PureDP(epsilon=epsilon), rate=rate).epsilon)
    assert exact <= reported * (1 + mpf(10) ** -40)
    # the claim for epsilon itself holds too; above 700 the difference of two large numbers is rounded
    assert reported <= min(mpf(epsilon), exact * (1 + mpf(1e-14)) + (mpf(1e-14) * epsilon if epsilon >= 700 else mpf(1e-320)))


def test_a_grid_of_large_losses_is_rounded_up() -> None:
    for epsilon in np.linspace(700.0, 745.0, 46):
        for rate in np.geomspace(1e-300, 1e-290, 5):
            exact = mp.log1p(mpf(float(rate)) * mp.expm1(mpf(float(epsilon))))
            assert mpf(amplified(PureDP(epsilon=float(epsilon)), rate=float(rate)).epsilon) >= exact


def test_one_sample_of_several_releases_is_priced_from_their_sum() -> None:
    inner = Repeat(event=ApproxEvent(epsilon=0.5, delta=1e-4), times=3)
    loss = amplified(ApproxDP(epsilon=1.5, delta=3e-4), rate=0.25)
    guarantee = account(Subsample(rate=0.25, event=inner), "pure")
    assert isinstance(loss, ApproxDP)
    assert guarantee.epsilon(delta=loss.delta * (1 + 1e-12)) == pytest.approx(loss.epsilon, rel=1e-14)


def test_a_sample_of_a_sample_is_one_sample() -> None:
    nested = Subsample(rate=0.5, event=Subsample(rate=0.2, event=PureEvent(epsilon=1.0)))
    flat = Subsample(rate=0.1, event=PureEvent(epsilon=1.0))
    assert account(nested, "pure").epsilon(delta=0.0) == pytest.approx(account(flat, "pure").epsilon(delta=0.0), rel=1e-14)


def test_replacing_a_record_is_refused() -> None:
    with pytest.raises(UnpricedEventError):
        account(Subsample(rate=0.1, event=PureEvent(epsilon=1.0)), "pure", neighbours=Neighbours.REPLACE_ONE)
