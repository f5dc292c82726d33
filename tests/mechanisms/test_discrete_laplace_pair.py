"""Integer Laplace noise of known sensitivity: its law from the noise itself, its moments, compositions, and a peer."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, SelfComposedDpEvent
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given
from hypothesis import strategies as st
from laws import loss_laws as laws

import dpkit
from dpkit import (
    DiscreteLaplace,
    DiscreteLaplaceEvent,
    LaplaceEvent,
    Neighbours,
    Parallel,
    PureEvent,
    Repeat,
    Subsample,
    account,
    interchange,
    l1,
)
from dpkit.interchange.foreign_runs import of_replaced_records
from dpkit.mechanisms.discrete_laplace_pair import DiscreteLaplaceCurve, DiscreteLaplacePair
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.testing.strategies import examples, log_uniform

STEPS = [1, 2, 3, 7, 50, 159, 160, 1000]


def noise(ratio, steps, times=1):
    return Repeat(event=DiscreteLaplaceEvent(ratio=ratio, sensitivity=steps), times=times)


def exact_law(ratio, steps, context):
    """Losses and their masses; all outputs up to 0 have one loss, and all from `steps` on."""
    h = context.mpf(ratio) / steps
    q = context.exp(-h)
    masses = [1 / (1 + q), *((1 - q) / (1 + q) * q**j for j in range(1, steps)), q**steps / (1 + q)]
    return [(h * (steps - 2 * j), mass) for j, mass in enumerate(masses)]


@pytest.mark.parametrize("scale", [0.4, 2.0, 7.0])
@pytest.mark.parametrize("steps", [1, 2, 3, 8, 41])
def test_its_profile_is_that_of_the_noise(scale, steps):
    outputs, ratio = np.arange(-260, 300), steps / scale
    epsilons = np.linspace(-1.1 * min(ratio, 20.0), 1.1 * min(ratio, 20.0), 41).tolist()
    one, other = (DiscreteLaplace(scale=scale).log_density(outputs, value) for value in (0, steps))
    laws.profile_is_that_of(DiscreteLaplacePair(ratio=ratio, sensitivity=steps), one, other, epsilons)


@pytest.mark.parametrize("moves", [(1, 1), (1, -2), (2, 3), (1, 1, 1), (4, 0, 1)])
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_a_vector_is_dominated_by_one_entry_that_moves_by_all_of_it(moves, scale):
    outputs, total = np.arange(-45, 50), sum(map(abs, moves))
    alone = DiscreteLaplacePair(ratio=total / scale, sensitivity=total).forward()
    rows = [[DiscreteLaplace(scale=scale).log_density(outputs, value) for value in (0, move)] for move in moves]
    p, q = (np.exp(sum(np.meshgrid(*side))).ravel() for side in zip(*rows, strict=True))
    epsilons = np.linspace(-total / scale, total / scale, 23)
    for at, value in zip(epsilons, alone.profile(epsilons)[0], strict=True):
        assert np.sum(np.maximum(0.0, p - math.exp(at) * q)) <= value * (1.0 + 1e-10) + 1e-12


@examples(60)
@given(ratio=log_uniform(1e-6, 40.0), steps=st.sampled_from(STEPS), share=st.floats(-1.1, 1.0))
def test_profile_and_slope_are_within_their_stated_errors(ratio, steps, share):
    direction, at = DiscreteLaplacePair(ratio=ratio, sensitivity=steps).forward(), share * ratio
    (value,), (error,) = direction.profile(np.array([at]))
    with mpmath.workdps(50):
        every = exact_law(ratio, steps, mpmath.mp)
        law = [(loss, mass) for loss, mass in every if loss > at]
        assert abs(mpmath.fsum(-mass * mpmath.expm1(at - loss) for loss, mass in law) - value) <= error
        if all(abs(loss - at) > 1e-12 * ratio for loss, _ in every):  # at a loss either slope is one of a tangent
            below = mpmath.fsum(mass * mpmath.exp(-loss) for loss, mass in law)
            assert abs(below - float(direction.slope(np.array([at]))[0])) <= 2.0**-40 * below


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("ratio", [1e-6, 0.7, 11.9, 40.0])
def test_log_moments_are_within_their_stated_errors(ratio, steps):
    direction, count = DiscreteLaplacePair(ratio=ratio, sensitivity=steps).forward(), 10**6
    near = [1e-9, 1e-7 + 3e-7j, 0.05 + 0.04j, 0.07, 0.01 + 0.2j, 0.8 / ratio + 0.1j]
    nodes = np.array([0.3, 2.0 + 1.0j, 80.0 + 900.0j, 1e3 + 3e3j, *near])
    values, errors = type(direction).total_log_moment((direction,), (count,), nodes)
    with mpmath.workdps(60):
        law = exact_law(ratio, steps, mpmath.mp)
        for z, value, error in zip(nodes, values, errors, strict=True):
            moment = mpmath.fsum(mass * mpmath.exp(mpmath.mpc(complex(z)) * loss) for loss, mass in law)
            gap = count * mpmath.log(moment) - mpmath.mpc(complex(value))
            turns = mpmath.nint(gap.imag / (2 * mpmath.pi * count)) * 2 * mpmath.pi * count
            assert abs(mpmath.mpc(gap.real, gap.imag - turns)) <= error
        mean, variance = direction.mean_and_variance()
        exact = mpmath.fsum(mass * loss for loss, mass in law)
        assert 0.5 * exact <= mean <= exact
        assert mpmath.fsum(mass * loss**2 for loss, mass in law) - exact**2 <= variance


@pytest.mark.parametrize(("ratio", "steps", "times"), [(0.5, 5, 30), (1.0, 2, 12), (0.3, 7, 100), (4.0, 4, 6)])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_compositions_hold_what_convolution_gives(ratio, steps, times, delta):
    with mpmath.workdps(40):
        law = exact_law(ratio, steps, mpmath.mp)
        masses = [mpmath.mpf(1)]
        for _ in range(times):
            longer = [mpmath.mpf(0)] * (len(masses) + steps)
            for (i, one), (j, (_, mass)) in itertools.product(enumerate(masses), enumerate(law)):
                longer[i + j] += one * mass
            masses = longer

        def exact(epsilon):
            losses = (mpmath.mpf(ratio) / steps * (steps * times - 2 * i) for i in range(len(masses)))
            return mpmath.fsum(
                -m * mpmath.expm1(epsilon - loss) for m, loss in zip(masses, losses, strict=True) if loss > epsilon
            )

        lower, upper = account(noise(ratio, steps, times), "pld").interval(delta=delta)
        assert exact(upper) <= delta <= exact(lower)
        assert upper - lower <= max(1e-6 * upper, 1e-9)


def test_it_costs_what_dp_accounting_says_and_not_what_pure_noise_does():
    # all losses are floats and lie on their grid, so nothing is rounded but the tail
    theirs = peer.from_discrete_laplace_mechanism(0.125, sensitivity=4, value_discretization_interval=0.125).self_compose(100)
    ours = account(noise(0.5, 4, 100), "best").epsilon(delta=1e-6)
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=1e-6)
    assert ours < account(Repeat(event=DiscreteLaplaceEvent(ratio=0.5), times=100), "best").epsilon(delta=1e-6) - 2.0
    read = interchange.read_dp_event(SelfComposedDpEvent(DiscreteLaplaceDpEvent(0.125, 4), 100)).event
    assert read == noise(0.5, 4, 100)
    assert interchange.read_dp_event(interchange.write_dp_event(read)).event == read


@pytest.mark.parametrize(
    ("ratio", "steps", "times"), [(1e-6, 7, 10**12), (1e-9, 3, 10**18), (1e-3, 1000, 10**6), (2.0, 3, 10**4)]
)
def test_many_copies_are_known_from_both_sides(ratio, steps, times):
    lower, upper = account(noise(ratio, steps, times), "pld").interval(delta=1e-6)
    assert 0.0 < lower <= upper <= lower * (1.0 + 1e-6)
    assert account(Repeat(event=LaplaceEvent(ratio=ratio), times=times), "pld").interval(delta=1e-6)[0] <= upper
    assert lower <= account(Repeat(event=PureEvent(epsilon=ratio), times=times), "pld").epsilon(delta=1e-6)


def test_one_step_is_the_pure_case_and_known_from_both_sides():
    for accountant in ("pld", "best"):
        found = account(noise(0.3, 1, 50), accountant)
        assert found.parts[0].rule == "discrete-laplace-pure"
        assert found.interval(delta=1e-6) == account(Repeat(event=PureEvent(epsilon=0.3), times=50), accountant).interval(
            delta=1e-6
        )


@pytest.mark.parametrize("steps", [2, 3, 20])
def test_its_price_lies_between_those_of_laplace_and_pure_noise(steps):
    for at in (0.05, 0.3, 0.9):
        value = DiscreteLaplacePair(ratio=1.0, sensitivity=steps).forward().profile(np.array([at]))[0][0]
        finer = DiscreteLaplacePair(ratio=1.0, sensitivity=2 * steps).forward().profile(np.array([at]))[0][0]
        smooth = LaplacePair(ratio=1.0).forward().profile(np.array([at]))[0][0]
        assert smooth * (1.0 - 1e-14) <= finer <= value * (1.0 + 1e-14)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_cells_and_samples_take_it(relation):
    event = DiscreteLaplaceEvent(ratio=1.0, sensitivity=3)
    alone = account(event, "pld", relation).epsilon(delta=0.1)
    cells = account(Parallel(events=(event,) * 4), "pld", relation)
    twice = account(Repeat(event=event, times=1 if relation is Neighbours.ADD_REMOVE else 2), "pld", relation)
    assert cells.epsilon(delta=0.1) == pytest.approx(twice.epsilon(delta=0.1), rel=1e-9)
    if relation is Neighbours.ADD_REMOVE:
        assert account(Subsample(rate=0.1, event=event), "pld").epsilon(delta=0.1) < alone


def test_what_is_left_unsaid_is_not_written_and_costs_what_it_did():
    event, noisy = DiscreteLaplaceEvent(ratio=1.5), DiscreteLaplace(scale=2.0)
    assert "sensitivity" not in dpkit.to_json(event)
    assert repr(event) == "DiscreteLaplaceEvent(ratio=1.5)"
    assert noisy.event(at=l1(3.0)) == event  # as plans and ledgers were written before
    assert account(event, "pld").parts[0].rule == "discrete-laplace-pure"
    stated = noisy.event(at=l1(3.0), whole=True)
    assert stated == DiscreteLaplaceEvent(ratio=1.5, sensitivity=3)
    assert dpkit.from_json(dpkit.to_json(stated)) == stated
    assert noisy.event(at=l1(0.0), whole=True) == DiscreteLaplaceEvent(ratio=0.0)
    for wrong in (lambda: noisy.event(at=l1(2.5), whole=True), lambda: DiscreteLaplaceEvent(ratio=1.0, sensitivity=0)):
        with pytest.raises(dpkit.InvalidValueError, match="whole number"):
            wrong()
    with pytest.raises(dpkit.InvalidValueError, match=r"2\*\*53"):
        DiscreteLaplaceEvent(ratio=1.0, sensitivity=2**53 + 1)


def test_a_replaced_record_moves_twice_as_many_steps():
    assert of_replaced_records(DiscreteLaplaceEvent(ratio=0.5, sensitivity=3)) == DiscreteLaplaceEvent(ratio=1.0, sensitivity=6)
    assert of_replaced_records(DiscreteLaplaceEvent(ratio=0.5)) == DiscreteLaplaceEvent(ratio=1.0)


@pytest.mark.parametrize("ratio", [1e-9, 1e-3, 0.4, 3.0, 30.0])
@pytest.mark.parametrize("steps", STEPS)
def test_its_renyi_divergences_are_those_of_its_law(ratio, steps):
    with mpmath.workdps(60):
        law = exact_law(ratio, steps, mpmath)
        for order in (1.0 + 1e-6, 1.5, 2.0, 7.3, 100.0, 1e5):
            excess = mpmath.mpf(order) - 1
            exact = mpmath.log(mpmath.fsum(mass * mpmath.exp(excess * loss) for loss, mass in law)) / excess
            found = float(DiscreteLaplaceCurve(ratio=ratio, sensitivity=steps).at(np.array([order]))[0])
            assert exact <= found * (1 + mpmath.mpf(10) ** -15)
            assert found <= exact * (1 + mpmath.mpf(10) ** -9)


@pytest.mark.parametrize(("ratio", "steps", "times"), [(0.1, 2, 100), (0.5, 5, 40), (0.02, 40, 1000)])
def test_the_renyi_accountant_prices_it_between_the_exact_answer_and_continuous_noise(ratio, steps, times):
    by_renyi = account(noise(ratio, steps, times), "rdp").epsilon(delta=1e-6)
    assert account(noise(ratio, steps, times), "pld").epsilon(delta=1e-6) <= by_renyi
    pure = account(Repeat(event=PureEvent(epsilon=ratio), times=times), "rdp").epsilon(delta=1e-6)
    continuous = account(Repeat(event=LaplaceEvent(ratio=ratio), times=times), "rdp").epsilon(delta=1e-6)
    assert continuous <= by_renyi < pure


@pytest.mark.parametrize("ratio", [2e-3, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("steps", [2, 3, 7, 40])
def test_its_moduli_fall_at_least_as_far_as_is_said(ratio, steps):
    direction = DiscreteLaplacePair(ratio=ratio, sensitivity=steps).forward()
    with mpmath.workdps(30):
        law = exact_law(ratio, steps, mpmath)
        for tilt in (1e-4, 0.3, 5.0):
            fall = direction.fall(tilt)
            assert fall.rate > 0.0
            assert fall.middle > 0.0 or tilt * ratio > 10.0
            on_axis = mpmath.fsum(mass * mpmath.exp(tilt * loss) for loss, mass in law)
            for share in (0.01, 0.2, 0.99, 1.01, 1.5, 0.5 * fall.period / fall.reach, fall.period / fall.reach - 0.5):
                height = share * fall.reach
                moment = mpmath.fsum(mass * mpmath.exp(mpmath.mpc(tilt, height) * loss) for loss, mass in law)
                away = min(height, abs(fall.period - height))
                bound = math.exp(-fall.rate * away * away) if away <= fall.reach else math.exp(-fall.middle)
                assert abs(moment) <= on_axis * bound * (1 + 1e-12)


@pytest.mark.parametrize(
    ("ratio", "steps", "times", "delta"),
    [(1.75, 3, 7_270_760_725_150, 1e-12), (8.56e-5, 1000, 3_321_092_094_738_075, 3e-8), (0.95, 7, 480_030_049, 6e-9)],
)
def test_huge_counts_have_narrow_intervals_around_the_central_limit(ratio, steps, times, delta):
    lower, upper = account(noise(ratio, steps, times), "pld").interval(delta=delta)
    assert upper - lower <= 1e-6 * upper
    with mpmath.workdps(40):
        law = exact_law(ratio, steps, mpmath)
        mean = mpmath.fsum(mass * loss for loss, mass in law)
        deviation = mpmath.sqrt(times * (mpmath.fsum(mass * loss**2 for loss, mass in law) - mean**2))
        # delta is within P(L > epsilon) and that half a deviation on: four to eight deviations above the mean
        assert times * mean + 3 * deviation < lower < times * mean + 9 * deviation
