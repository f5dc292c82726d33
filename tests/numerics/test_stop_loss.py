"""E[(S - s)_+] of lattice sums against binomials, where it is a finite sum."""

import math

import numpy as np
import pytest

from dpkit.numerics.stop_loss import TiltedSum


@pytest.mark.parametrize(
    ("count", "chance", "tilt", "start"), [(10, 0.3, 0.5, 4), (100, 0.05, 1.5, 20), (100, 0.5, 0.2, 55), (50, 0.5, 3.0, 40)]
)
def test_a_binomial_sum_is_read_from_both_sides(count: int, chance: float, tilt: float, start: int) -> None:
    step = 0.7
    total = TiltedSum(np.array([1.0 - chance, chance]), step=step, count=count, tilt=tilt, size=512, first=start)
    places = np.array([0.0, 0.3, 1.0, 2.5])
    found = total.read(places)
    for index, place in enumerate(places.tolist()):
        levels = [(k - start - place) * step for k in range(count + 1)]
        masses = [math.comb(count, k) * chance**k * (1.0 - chance) ** (count - k) for k in range(count + 1)]
        truth = math.fsum(max(level, 0.0) * mass for level, mass in zip(levels, masses, strict=True))
        assert float(found.low[index]) <= truth <= float(found.high[index])
        assert float(found.high[index]) - float(found.low[index]) <= 1e-9 * truth
        above = math.fsum(mass for level, mass in zip(levels, masses, strict=True) if level > 0.0)
        assert math.isclose(float(found.survival[index]), above, rel_tol=float(found.survival_error[index]) + 1e-12)


def test_a_period_that_is_too_short_is_counted() -> None:
    """What comes round again is added to the upper end and taken off the lower one."""
    total = TiltedSum(np.array([0.5, 0.5]), step=1.0, count=400, tilt=0.05, size=64, first=210)
    found = total.read(np.array([0.5]))
    masses = [math.comb(400, k) / 2**400 for k in range(401)]
    truth = math.fsum(max(k - 210.5, 0.0) * mass for k, mass in enumerate(masses))
    assert float(found.low[0]) <= truth <= float(found.high[0])
