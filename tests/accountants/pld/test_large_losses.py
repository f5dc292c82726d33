"""Large losses apart: beside sums over all outcomes, a convolution by quadrature, and answers that were wide without it."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad

import dpkit
from dpkit import GaussianEvent, Repeat, Subsample
from dpkit.accountants.pld.composition import _tail, tuned
from dpkit.accountants.pld.large_losses import LawPart, SomeLarge, find_cut
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.numerics.lattice_laws import LatticeLaw

STEP = 0.1


def random_law(rng, *, size=9, first=-3):
    """Losses and masses with E[e^-L] = 1, the larger ones rare, as a record's are that is sampled rarely."""
    losses = (first + np.arange(size)) * STEP
    masses = np.exp(-2.0 * np.arange(size)) * rng.uniform(0.2, 1.0, size)
    masses /= masses.sum()
    excess = lambda tilt: float(np.sum(masses * np.exp(tilt * losses) * (np.exp(-losses) - 1.0)))  # noqa: E731
    low, high = 0.0, 60.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    masses = masses * np.exp(low * losses)
    return losses, masses / masses.sum()


def cut_law(losses, masses, cut):
    """The same with one point for all losses from index `cut` on."""
    beyond = masses[cut:]
    end = float(np.sum(beyond * -np.expm1(losses[cut] - losses[cut:])))
    return LatticeLaw(first=-3, masses=np.append(masses[:cut], beyond.sum()), end=end)


def exact_with_some_large(laws, counts, cut, epsilon):
    """delta of the outcomes in which some loss is large: every outcome, one by one."""
    singles = [law for law, count in zip(laws, counts, strict=True) for _ in range(count)]
    total = 0.0
    for outcome in product(*(range(len(masses)) for _, masses in singles)):
        if max(outcome) >= cut:
            mass = math.prod(masses[i] for i, (_, masses) in zip(outcome, singles, strict=True))
            loss = sum(losses[i] for i, (losses, _) in zip(outcome, singles, strict=True))
            total += mass * max(0.0, -math.expm1(epsilon - loss))
    return total


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rest", [0.5, 20.0, 200.0])
def test_some_large_loss_is_bounded_from_both_sides(seed, rest):
    rng = np.random.default_rng([81, seed])
    laws = [random_law(rng), random_law(rng)]
    counts, cut = (2, 1), int(rng.integers(4, 8))
    parts = [LawPart(law=cut_law(*law, cut), count=count, cut=True) for law, count in zip(laws, counts, strict=True)]
    some = SomeLarge(parts, step=STEP, rest=rest)
    for epsilon in (0.0, 0.05, 0.15, 0.3, 0.45, 0.8):
        exact = exact_with_some_large(laws, counts, cut, epsilon)
        assert some.under(epsilon) <= exact * (1.0 + 1e-12)
        assert exact <= some.above(epsilon) * (1.0 + 1e-12)


def test_what_other_losses_take_back_counts_from_above():
    """A form that forgot the outcomes below epsilon would say less than the truth; where the gap is wide there are none."""
    law = random_law(np.random.default_rng(7))
    parts = [LawPart(law=cut_law(*law, 4), count=3, cut=True)]
    exact = exact_with_some_large([law], (3,), 4, 0.2)
    some = SomeLarge(parts, step=STEP, rest=5.0)
    assert some.under(0.2) < 0.999 * exact < exact <= some.above(0.2)
    far = [LawPart(law=cut_law(*law, 8), count=3, cut=True)]  # losses of 0.5 or more, and at least -0.6 from the two others
    close = SomeLarge(far, step=STEP, rest=2000.0)
    assert close.above(-0.2) == pytest.approx(close.under(-0.2), rel=1e-9)


def two_rounds(rate, ratio, epsilon):
    """delta of two rounds, a record more: E over the first of the profile of the second, by quadrature."""
    pair = SubsampledGaussianPair(rate=rate, ratio=ratio).forward()

    def integrand(place):
        density = (1.0 - rate) * math.exp(-0.5 * place * place) + rate * math.exp(-0.5 * (place - ratio) ** 2)
        loss = math.log1p(rate * math.expm1(ratio * place - 0.5 * ratio * ratio))
        return density / math.sqrt(2.0 * math.pi) * float(pair.profile(np.array([epsilon - loss]))[0][0])

    ends = [-12.0, -4.0, 0.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 16.0]
    return sum(quad(integrand, a, b, epsabs=0.0, epsrel=1e-11, limit=400)[0] for a, b in pairwise(ends))


@pytest.mark.parametrize(
    ("rate", "sigma", "delta"), [(1.23e-4, 0.903, 1.9e-13), (1e-4, 0.8, 1e-12), (3e-6, 0.6, 1e-14), (1e-3, 1.5, 1e-10)]
)
def test_two_rare_rounds_are_held_beside_a_quadrature(rate, sigma, delta):
    event = Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=1.0 / sigma)), times=2)
    lower, upper = dpkit.account(event, "pld").interval(delta=delta)
    assert 0.0 < upper - lower < 1e-5
    assert two_rounds(rate, 1.0 / sigma, upper) <= delta * (1.0 + 1e-7)
    assert two_rounds(rate, 1.0 / sigma, lower) >= delta * (1.0 - 1e-7)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta"),
    [
        (4.15e-6, 0.996, 53, 3.2e-15),
        (1.72e-6, 0.6, 128_036, 3.6e-13),
        (4.03e-6, 0.631, 9496, 1.4e-11),
        (1e-4, 1.0, 1000, 1e-12),
        (1.34e-5, 0.767, 5_811_480, 7.2e-13),
    ],
)
def test_rare_large_losses_have_narrow_intervals(rate, sigma, steps, delta):
    event = Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=1.0 / sigma)), times=steps)
    lower, upper = dpkit.account(event, "pld").interval(delta=delta)
    assert 0.0 < lower <= upper <= lower + 1e-4


@pytest.mark.parametrize("delta", [5.188105518910503e-05, 1e-4, 0.5])
def test_a_delta_that_is_reached_at_zero_is_read(delta):
    steps = Repeat(event=Subsample(rate=2.2761960879485108e-05, event=GaussianEvent(ratio=1.0 / 1.4369630707399776)), times=32)
    guarantee = dpkit.account(steps, accountant="pld")
    interval = guarantee.interval(delta=delta)
    assert 0.0 <= interval[0] <= interval[1] < 1e-4
    assert guarantee.epsilon(delta=delta) < 1e-4


def test_a_cut_is_found_where_chernoff_is_far_off():
    pair = SubsampledGaussianPair(rate=4.15e-6, ratio=1.0 / 0.996)
    terms = ((pair.forward(), 53),)
    _, _, chernoff = tuned(terms, 3.2e-15)
    cut = find_cut(terms, delta=3.2e-15, chernoff=chernoff, tail=_tail(terms, 3.2e-15), width=5e-7)
    assert cut is not None
    assert cut.epsilon < 0.01 * chernoff
    assert cut.loss > cut.epsilon


def test_a_delta_of_rare_rounds_is_read_as_closely_as_their_epsilon():
    """What aliases add was a part of Chernoff's bound, which is far above: 2.0 deltas."""
    event = Repeat(event=Subsample(rate=3.91e-4, event=GaussianEvent(ratio=1.0 / 1.6)), times=121)
    guarantee = dpkit.account(event, "pld")
    lower, upper = guarantee.interval(delta=2.1e-12)
    assert guarantee.delta(epsilon=upper) <= 2.1e-12 * 1.001
    assert guarantee.delta(epsilon=lower) >= 2.1e-12 * (1.0 - 1e-9)
