"""Laws of repeated Laplace noise in closed form: it agrees with quadrature, the lattice and arbitrary precision."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpkit import LaplaceEvent, Repeat, account
from dpkit.accountants.pld import composition as loss_composition
from dpkit.mechanisms import laplace_repeats
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.mechanisms.laplace_repeats import MOST_REPEATS, repeated_laplace
from dpkit.testing.strategies import examples

EXAMPLES = examples(30)


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def at(profile, epsilon):
    values, errors = profile(np.array([epsilon]))
    return float(values[0]), float(errors[0])


def exact(ratio, count, epsilon):
    """Loss by loss: j jumps down of 2x, and a Gamma law of the exponential parts, each summed in arbitrary precision.

    The moments are ((1+s)/2 e^(zx) + (1-s)/2 e^(-(1+z)x))^k with s = 1/(1+2z), the transform of minus an exponential of mean 2.
    """
    ratio, epsilon = mp.mpf(ratio), mp.mpf(epsilon)
    total = mp.mpf(0)
    for j in range(count + 1):
        room = (count - 2 * j) * ratio - epsilon
        if room <= 0:
            break
        for m in range(count + 1):
            weight = sum(
                (-1) ** i * math.comb(j, i) * math.comb(count - j, m - i) for i in range(max(0, m - count + j), min(j, m) + 1)
            )
            if m == 0:
                part = -mp.expm1(-room)
            else:  # P(G < room) - e^-room E[e^G; G < room], G of shape m and mean 2m
                tilted = mp.hyp1f1(m, m + 1, room / 2) * (room / 2) ** m / mp.factorial(m)
                part = mp.gammainc(m, 0, room / 2, regularized=True) - mp.exp(-room) * tilted
            total += math.comb(count, j) * mp.exp(-j * ratio) * weight * part
    return total / mp.mpf(2) ** count


@EXAMPLES
@example(ratio=0.15, count=1, share=0.5)
@example(ratio=3.0, count=2, share=-0.2)
@example(ratio=0.15, count=24, share=0.0)
@given(ratio=logarithmic(1e-6, 5.0), count=st.integers(1, 24), share=st.floats(-0.3, 1.0))
def test_its_stated_error_holds_in_arbitrary_precision(ratio, count, share):
    epsilon = share * ratio * count
    value, error = at(repeated_laplace(ratio, count), epsilon)
    with mp.workdps(60):
        assert abs(mp.mpf(value) - exact(ratio, count, epsilon)) <= error
    assert error <= 1e-11 * value + 1e-199


@EXAMPLES
@example(ratio=1.0, count=MOST_REPEATS, share=0.3)
@given(ratio=logarithmic(0.01, 1.0), count=st.integers(2, MOST_REPEATS), share=st.floats(0.0, 0.95))
def test_it_lies_between_the_bounds_of_the_lattice(ratio, count, share):
    found = loss_composition.reader([(LaplacePair(ratio=ratio).forward(), count)], delta=1e-6, width=1e-3)
    epsilon = share * ratio * count
    value, error = at(repeated_laplace(ratio, count), epsilon)
    assert found.lower(epsilon) <= value + error
    assert value - error <= found.upper(epsilon)[0]


def test_it_is_the_integral_over_one_release_of_the_others():
    ratio, epsilon = 0.75, 0.6
    for count in (2, 3, 7):
        rest = repeated_laplace(ratio, count - 1)
        with mp.workdps(20):
            between = mp.quad(
                lambda loss, rest=rest: mp.exp((loss - ratio) / 2) / 4 * at(rest, epsilon - float(loss))[0],
                np.linspace(-ratio, ratio, 11).tolist() if count > 2 else [-ratio, epsilon - ratio, ratio],
            )
        ends = at(rest, epsilon - ratio)[0] / 2 + math.exp(-ratio) / 2 * at(rest, epsilon + ratio)[0]
        assert at(repeated_laplace(ratio, count), epsilon)[0] == pytest.approx(float(between) + ends, rel=1e-6)


@pytest.mark.parametrize(("ratio", "count"), [(0.0, 5), (0.1, MOST_REPEATS + 1), (1e3, 5)])
def test_where_it_is_of_no_use_another_route_is_taken(ratio, count):
    assert repeated_laplace(ratio, count) is None
    assert math.isfinite(account(Repeat(event=LaplaceEvent(ratio=ratio), times=count), "pld").epsilon(delta=1e-6))


def test_the_ends_are_exact():
    profile = repeated_laplace(0.5, 4)
    assert at(profile, 2.0) == (0.0, 0.0)
    value, error = at(profile, -3.0)
    assert abs(value + math.expm1(-3.0)) <= error


@pytest.mark.parametrize("route", ["smoothed", "lattice"])
def test_a_large_stated_error_sends_the_reading_to_another_route(route, monkeypatch):
    event = Repeat(event=LaplaceEvent(ratio=0.15), times=40)
    assert "closed form" in str(account(event, "pld").explain(delta=1e-6))
    sound = account(event, "pld").epsilon(delta=1e-6)
    monkeypatch.setattr(laplace_repeats, "UNIT_ROUNDOFF", 1e-9)
    if route == "lattice":  # where no contour is
        monkeypatch.setattr(loss_composition, "smoothed_reader", lambda *_, **__: None)
    assert route in str(account(event, "pld").explain(delta=1e-6))
    assert sound <= account(event, "pld").epsilon(delta=1e-6) <= sound + 1e-5  # how far either may be above
    assert account(event, "pld").delta(epsilon=sound) == pytest.approx(1e-6, rel=1e-5)
