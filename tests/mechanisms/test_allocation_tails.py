"""Tails of allocated ratios against the formula for one, quadrature for two, and the lattice of equal steps for many."""

import math

import numpy as np
import pytest
from mechanisms.profiles import stop_loss_of_one

from dpkit.mechanisms.allocation_law import AllocationLaw
from dpkit.mechanisms.allocation_tails import AllocationTails, ratio_law

WORK = 5e5


@pytest.mark.parametrize("ratio", [0.02, 0.3, 1.0, 4.0])
def test_one_ratio_is_the_formula(ratio: float) -> None:
    tails = AllocationTails(ratio=ratio, steps=1, work=WORK)
    places = np.exp(ratio * np.array([0.0, 0.5, 2.0, 5.0]))
    found, truth = tails.read(places, call=True), stop_loss_of_one(ratio, places)
    assert np.all(found.low <= truth * (1.0 + 1e-9))
    assert np.all(truth * (1.0 - 1e-9) <= found.high)
    assert np.all(found.high - found.low <= 0.05 * truth)
    put = tails.read(1.0 / places, call=False)
    truth = stop_loss_of_one(ratio, 1.0 / places) + 1.0 / places - 1.0
    assert np.all(put.low <= truth + 1e-12)
    assert np.all(truth - 1e-12 <= put.high)


@pytest.mark.parametrize("ratio", [0.5, 2.0, 4.0])
def test_two_steps_are_as_quadrature_says_far_out(ratio: float) -> None:
    """A fine sum over the first ratio, with the formula for the other one."""
    grid = np.linspace(-13.0, 13.0 + ratio, 400_001)
    weights = np.exp(-0.5 * grid**2) * (grid[1] - grid[0]) / math.sqrt(2.0 * math.pi)
    ratios = np.exp(ratio * grid - 0.5 * ratio**2)
    for place in (2.0 * math.exp(0.5 * ratio), 2.0 * math.exp(4.0 * ratio)):
        rest = place - ratios
        inside = np.where(rest > 0.0, stop_loss_of_one(ratio, np.maximum(rest, 1e-9)), 1.0 - rest)
        truth = float(weights @ inside)
        found = AllocationTails(ratio=ratio, steps=2, work=WORK).read(np.array([place]), call=True)
        assert float(found.low[0]) <= truth * (1.0 + 1e-6)
        assert truth * (1.0 - 1e-6) <= float(found.high[0]) <= truth * 1.01


@pytest.mark.parametrize(("ratio", "steps"), [(0.5, 37), (1.0, 300), (1.5, 64)])
def test_tails_and_bands_enclose_each_other(ratio: float, steps: int) -> None:
    law, tails = AllocationLaw(ratio=ratio, steps=steps), AllocationTails(ratio=ratio, steps=steps, work=WORK)
    for side, sign in (("call", 1.0), ("put", -1.0)):
        for epsilon in (0.0, 0.1 * ratio, 0.3 * ratio):
            sums = np.array([steps * math.exp(sign * epsilon)])
            band, far = law.read(sums, side), tails.read(sums, call=side == "call")
            assert float(band.low[0]) <= float(far.high[0])
            assert float(far.low[0]) <= float(band.high[0])
            assert float(far.high[0]) <= 1.05 * float(far.low[0])


def test_a_tail_of_1e_30_is_enclosed_closely() -> None:
    """Lattices of equal steps round it away: there the interval was 0.36 wide."""
    tails = AllocationTails(ratio=0.5, steps=1000, work=WORK)
    found = tails.read(np.array([1000.0 * math.exp(0.28)]), call=True)
    assert 1e-35 < float(found.low[0]) / 1000.0 < 1e-29
    assert float(found.high[0]) < 1.1 * float(found.low[0])
    # one large ratio alone is below all, and the bulk far from there
    alone = 1000.0 * float(stop_loss_of_one(0.5, np.array([1000.0 * math.exp(0.28) - 1000.0 + 1.0]))[0])
    assert alone < float(found.high[0])


def test_what_is_below_the_floor_is_said_to_be_unknown() -> None:
    tails = AllocationTails(ratio=0.1, steps=10, work=WORK)
    found = tails.read(np.array([10.0 * math.exp(5.0)]), call=True)
    assert float(found.low[0]) == 0.0
    assert 0.0 < float(found.high[0]) < 1e-40


@pytest.mark.parametrize("ratio", [1e-4, 0.3, 4.0])
def test_all_mass_of_a_ratio_is_counted_above(ratio: float) -> None:
    """What was below the first point was left out: 1e-48 of it."""
    law = ratio_law(ratio, points=512, edge="above")
    assert law.dust > 0.0
    assert float(np.sum(law.masses)) + law.dust + law.lost >= 1.0
    assert float(law.masses @ law.values()) + law.lost_mean >= 1.0 - 1e-15


@pytest.mark.parametrize(("ratio", "points"), [(2e-4, 512), (1e-3, 512), (1e-3, 8192), (0.01, 64), (0.3, 512), (4.0, 64)])
def test_a_ratio_on_the_grid_is_enclosed_where_cells_are_wide_too(ratio: float, points: int) -> None:
    """With two points to a deviation or fewer the mean of a far cell lies near its edge."""
    places = np.exp(ratio * np.linspace(-12.0, 12.0, 97))
    truth = stop_loss_of_one(ratio, places)
    for edge, sign in (("above", 1.0), ("below", -1.0)):
        law = ratio_law(ratio, points=points, edge=edge)
        found = np.maximum(law.values() - places[:, None], 0.0) @ law.masses + sign * law.lost_mean
        assert np.all(sign * (found - truth) >= -1e-11 * truth - 1e-18)
