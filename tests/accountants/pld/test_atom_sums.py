"""Moments of atoms, few of which are large: beside sums in many digits, and beside every number of large losses."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy.stats import binom

from dpkit.accountants.pld.atom_laws import AtomLaw
from dpkit.accountants.pld.atom_sums import AtomSums, ContourChoice, log_missed, log_sum_of_few

LOSSES = np.array([-2e-3, -1e-3, 1e-3, 5e-3, 1.0, 2.5])
MASSES = np.array([0.3, 0.25, 0.3, 0.15 - 3e-6, 2e-6, 1e-6])


def sums(*, few, threshold=0.5, count=1000):
    law = AtomLaw(losses=LOSSES, masses=MASSES, count=count, end=0.0, cut=False)
    chosen = ContourChoice(tilt=2.0, threshold=threshold, few=few, cut=None, rest=1.0, period=20.0, smoothing=1e-2)
    return AtomSums([law], chosen), chosen


def exact_moment(z, *, few, threshold, count):
    """The sum over how many losses are large, in fifty digits."""
    with mpmath.workdps(50):
        z = mpmath.mpc(z.real, z.imag)
        small, large = (
            sum(mpf(m) * mpmath.exp(z * mpf(at)) for at, m in zip(LOSSES.tolist(), MASSES.tolist(), strict=True) if keep(at))
            for keep in (lambda at: at <= threshold, lambda at: at > threshold)
        )
        return sum(mpmath.binomial(count, k) * small ** (count - k) * large**k for k in range(few + 1))


@pytest.mark.parametrize("few", [0, 1, 3])
def test_moments_are_as_their_errors_say(few):
    made, chosen = sums(few=few)
    heights = np.array([0.0, 0.3, 5.0, 20.0, 80.0])
    z = chosen.tilt + 1j * heights
    near, error = made.log_moment(z)
    spacing = 0.1
    quick, blur = made.quick_log_moment(chosen.tilt, spacing, 801)
    for i, height in enumerate(heights):
        exact = complex(exact_moment(z[i], few=few, threshold=0.5, count=1000))
        assert abs(exact) > 1e-300
        assert abs(np.exp(near[i]) / exact - 1.0) <= np.expm1(error[i])
        place = round(height / spacing)
        assert abs(np.exp(quick[place]) / exact - 1.0) <= np.expm1(blur[place])
        assert error[i] < 1e-10
        assert blur[place] < 1e-8


def test_a_moment_that_comes_round_again_is_off_by_no_more_than_it_says():
    """Powers next to multiples of 2 pi i: e^power - 1 is small there, and the rounding of the power is not."""
    loss, mass, count = 0.01474664026409811, 0.14705519471560824, 830
    losses = np.array([-mass * np.expm1(loss), loss])
    law = AtomLaw(losses=losses, masses=np.array([1.0 - mass, mass]), count=count, end=0.0, cut=False)
    chosen = ContourChoice(tilt=0.01, threshold=1e9, few=0, cut=None, rest=1.0, period=100.0, smoothing=1e-3)
    for z in (complex(0.010337531321429751, 11504.04432844719), *(complex(0.01, 2.0 * np.pi * k / loss) for k in (7, 60, 400))):
        value, error = AtomSums([law], chosen).log_moment(np.array([z]))
        with mpmath.workdps(50):
            power = mpmath.mpc(z.real, z.imag)
            one = (mpf(1) - mpf(mass)) * mpmath.exp(power * mpf(losses[0])) + mpf(mass) * mpmath.exp(power * mpf(loss))
            apart = mpmath.mpc(complex(value[0])) - count * mpmath.log(one)
            turns = mpmath.nint(apart.imag / (2 * mpmath.pi))
            assert abs(apart - 2j * mpmath.pi * turns) <= error[0] + 16.0 * 2.0**-53 * (1.0 + abs(value[0]))


def test_losses_that_are_not_rare_are_never_large():
    made, _ = sums(few=1, threshold=0.0)  # nearly half of the losses are above
    assert made.missed == 0.0
    assert [split for _, split in made.parts] == [LOSSES.size]


@pytest.mark.parametrize(("count", "mass"), [(1000, 3e-6), (10**7, 1e-9), (40, 0.2), (10**9, 1e-12)])
@pytest.mark.parametrize("few", [0, 1, 2, 9])
def test_what_is_left_out_is_bounded_and_not_much_more(count, mass, few):
    exact = float(binom.logsf(few, count, mass))
    assert exact <= log_missed(count, mass, few) + 1e-9 * abs(exact)
    if count * mass < 0.1:
        assert log_missed(count, mass, few) <= exact + 0.5


def test_a_sum_of_few_is_the_beginning_of_a_power():
    assert log_sum_of_few(np.array([0.01]), 50, 50)[0] == pytest.approx(50 * np.log1p(0.01), rel=1e-12)
    assert log_sum_of_few(np.array([0.01]), 50, 1)[0] == pytest.approx(np.log1p(0.5), rel=1e-12)
