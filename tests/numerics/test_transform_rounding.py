"""Fourier transforms round as theorem 5 allows, with room to spare, and sums are exact but for their stated error."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpkit.accountants.pld.lattice import LatticeSum
from dpkit.numerics.fourier import transform_rounding
from dpkit.numerics.lattice_laws import LatticeLaw
from dpkit.numerics.rounding import UNIT_ROUNDOFF

# lengths as `next_fast_len` gives them: products of 2, 3 and 5, with each of them as the only large power
SIZES = (1024, 4096, 2 * 3**6, 2 * 5**4, 3000)


def inputs(size):
    """Positive laws of total 1: even, wild, steep as tilted laws are, and two far atoms."""
    rng = np.random.default_rng(size)
    wild = rng.exponential(size=size) ** 4
    for law in (np.ones(size), wild, np.exp(-np.arange(size) * 0.02), np.eye(1, size, size // 3)[0] + np.eye(1, size, 1)[0]):
        yield law / law.sum()


def exact_transform(law):
    """Every frequency by its sum, phases reduced exactly, in extended precision."""
    size = law.size
    angles = 2.0 * np.longdouble(mp.nstr(mp.pi, 30)) * np.arange(size, dtype=np.longdouble) / size
    cosine, sine = np.cos(angles), np.sin(angles)
    places = np.arange(size)
    extended = law.astype(np.longdouble)
    for frequency in range(size // 2 + 1):
        turned = places * frequency % size
        yield extended @ cosine[turned], -(extended @ sine[turned])


extended = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no longer than double here")


@extended
@pytest.mark.parametrize("size", SIZES)
def test_a_transform_is_off_by_less_than_a_tenth_of_what_is_allowed(size):
    for law in inputs(size):
        found = np.fft.rfft(law)
        worst = max(
            math.hypot(float(value.real - real), float(value.imag - imag))
            for value, (real, imag) in zip(found, exact_transform(law), strict=True)
        )
        assert 0.0 <= worst <= 0.1 * transform_rounding(size)


@extended
@pytest.mark.parametrize("size", SIZES)
def test_so_is_its_inverse(size):
    rng = np.random.default_rng(size)
    spectrum = rng.normal(size=size // 2 + 1) * np.exp(-np.arange(size // 2 + 1) * 0.01) + 0j
    spectrum += 1j * rng.normal(size=spectrum.size) * np.abs(spectrum)
    spectrum[[0, -1]] = spectrum[[0, -1]].real
    whole = np.concatenate([spectrum, np.conj(spectrum[-2:0:-1])])
    found = np.fft.irfft(spectrum, size) * size
    angles = 2.0 * np.longdouble(mp.nstr(mp.pi, 30)) * np.arange(size, dtype=np.longdouble) / size
    cosine, sine = np.cos(angles), np.sin(angles)
    real, imag = whole.real.astype(np.longdouble), whole.imag.astype(np.longdouble)
    allowed = 0.1 * transform_rounding(size) * float(np.sum(np.abs(whole)))
    for place in range(0, size, 13):
        turned = np.arange(size) * place % size
        assert abs(float(found[place] - (real @ cosine[turned] - imag @ sine[turned]))) <= allowed


def test_the_allowance_is_the_one_of_the_page():
    assert transform_rounding(1 << 16) == 16.0 * UNIT_ROUNDOFF * 16.0
    # theorem 5: radix 2, 3, 4 and 5 need at most so much a bit with twiddle factors off by 4 u
    twiddle = 2.0 * math.sqrt(2.0) + 4.0
    passes = {2: 1.0, 3: 4.0 * math.sqrt(2.0), 4: 2.0, 5: 5.0 * math.sqrt(2.0)}
    assert max((twiddle + own) / math.log2(radix) for radix, own in passes.items()) < 8.0


@pytest.mark.parametrize(("count", "size"), [(12, 1024), (40, 16384)])
@pytest.mark.parametrize("tilt", [1.0, 6.0])
def test_a_sum_equals_the_convolution_in_integers_but_for_its_stated_error(count, size, tilt):
    # masses in units of 2^-20, so that the convolution is one of integers
    rng = np.random.default_rng(count)
    units = rng.integers(0, 1 << 14, 40)
    units[0] += (1 << 20) - int(units.sum())
    step, first = 2.0**-5, -18
    packed = sum(int(unit) << (24 * count * place) for place, unit in enumerate(units)) ** count
    mask, exact = (1 << 24 * count) - 1, []
    while packed:
        exact.append(packed & mask)
        packed >>= 24 * count
    total = LatticeSum(
        [(LatticeLaw(first=first, masses=units / 2.0**20), count)], step=step, tilt=tilt, size=size, near=count * step
    )
    with mp.workdps(60):
        for at in (0.5 * count * step, count * step, 3.0 * count * step, 8.0 * count * step):
            profile = mp.mpf(0)
            for place, units_there in enumerate(exact):
                loss = Fraction(count * first + place) * Fraction(step)
                if loss > at:
                    share = -mp.expm1(mp.mpf(at) - mp.mpf(loss.numerator) / loss.denominator)
                    profile += mp.mpf(units_there) * share / mp.mpf(2) ** (20 * count)
            value, error, log_scale = total.scaled_delta(at)
            alias = mp.exp(-tilt * size * step) * 2
            blur = mp.expm1(total.log_error + 1e-15 * (abs(log_scale) + tilt * at)) * profile
            assert abs(mp.mpf(value) * mp.exp(log_scale) - profile) <= error * mp.exp(log_scale) + blur + alias
