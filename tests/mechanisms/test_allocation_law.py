"""Laws of one ratio on a lattice lie above and below it in convex order, and a band says what all its readings say."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpkit.mechanisms.allocation_law import AllocationLaw, gathered_cells, spread_cells


def exact(ratio: float, points: np.ndarray, side: str) -> np.ndarray:
    """E[(X - a)_+] and E[(a - X)_+]: the formula of Black and Scholes."""
    place = np.log(points) / ratio + 0.5 * ratio
    call = ndtr(ratio - place) - points * ndtr(-place)
    return call if side == "call" else points * ndtr(place) - ndtr(place - ratio)


@pytest.mark.parametrize("side", ["call", "put"])
@pytest.mark.parametrize(("ratio", "step"), [(1.0, 0.01), (1.0, 0.5), (0.05, 0.002), (2.5, 3.0)])
def test_a_spread_law_is_above_and_a_gathered_one_below_at_every_point(side: str, ratio: float, step: float) -> None:
    top = 40.0
    points = np.linspace(0.05, 12.0, 500)
    beyond = ndtr(0.5 * ratio - np.log(top) / ratio) if side == "call" else 0.0
    for cells, sign in (
        (spread_cells(ratio, step=step, top=top, side=side), 1.0),
        (gathered_cells(ratio, step=step, top=top, side=side), -1.0),
    ):
        places = cells.offset + step * np.arange(cells.masses.size)
        gains = np.maximum((places - points[:, None]) * (1.0 if side == "call" else -1.0), 0.0) @ cells.masses
        beyond = exact(ratio, np.array([cells.top]), "call")[0] if side == "call" else 0.0
        mass = ndtr(-np.log(cells.top) / ratio - 0.5 * ratio)
        over = beyond + (cells.top - points) * mass if side == "call" else 0.0  # E[X - a; X > top]
        assert np.all(sign * (gains + over - exact(ratio, points, side)) >= -1e-13)
        assert np.min(cells.masses) >= 0.0


def test_the_laws_close_in_as_the_square_of_the_step() -> None:
    points = np.array([0.5, 1.0, 2.0])

    def gap(step: float) -> float:
        found = []
        for make in (spread_cells, gathered_cells):
            cells = make(1.0, step=step, top=60.0, side="call")
            places = cells.offset + step * np.arange(cells.masses.size)
            found.append(np.maximum(places - points[:, None], 0.0) @ cells.masses)
        return float(np.max(found[0] - found[1]))

    assert gap(0.02) < 0.3 * gap(0.04) < 0.1 * gap(0.16)


def test_a_reading_does_not_depend_on_the_band_that_gave_it() -> None:
    sums = 200.0 * np.exp(np.array([0.05, 0.1, 0.2, 0.3]))
    together = AllocationLaw(ratio=1.0, steps=200).read(sums, "call")
    for index, one in enumerate(sums.tolist()):
        alone = AllocationLaw(ratio=1.0, steps=200).read(np.array([one]), "call")
        assert float(alone.low[0]) <= float(together.high[index])
        assert float(together.low[index]) <= float(alone.high[0])


def test_one_copy_is_the_formula_and_parity_holds() -> None:
    law = AllocationLaw(ratio=1.0, steps=1)
    for place in (1.2, 3.0):
        found = law.read(np.array([place]), "call")
        truth = float(exact(1.0, np.array([place]), "call")[0])
        assert float(found.low[0]) <= truth <= float(found.high[0])
    many = AllocationLaw(ratio=0.7, steps=30)
    # at the mean E(S - s)_+ and E(s - S)_+ are equal
    call, put = many.read(np.array([30.0]), "call"), many.read(np.array([30.0]), "put")
    assert math.isclose(float(call.high[0]), float(put.high[0]), rel_tol=1e-3)
    assert float(call.low[0]) <= float(put.high[0])
    assert float(put.low[0]) <= float(call.high[0])


def test_readings_do_not_depend_on_what_was_read_before() -> None:
    """A price must be the same in the process that plans and in the one that charges."""
    sums = 60.0 * np.exp(np.linspace(-0.9, 0.9, 100))
    fresh, used = AllocationLaw(ratio=1.0, steps=60), AllocationLaw(ratio=1.0, steps=60)
    for place in (61.0, 70.0, 95.0):
        used.read(np.array([place]), "call")
    one = np.array([80.0])
    for some in (one, sums[sums >= 60.0]):
        first, second = fresh.read(some, "call"), used.read(some, "call")
        assert np.array_equal(first.low, second.low)
        assert np.array_equal(first.high, second.high)


def test_far_from_the_mean_no_bands_are_made_and_few_are_kept() -> None:
    """There were thousands of them, each a transform: two epochs of 7 steps at ratio 3 took minutes at delta = 1e-20."""
    law = AllocationLaw(ratio=3.0, steps=7)
    found = law.read(np.geomspace(1e13, 2e13, 50), "call")
    assert not law._bands
    assert np.all(found.low <= found.high)
    near = AllocationLaw(ratio=0.5, steps=50)
    for place in np.linspace(50.0, 80.0, 20).tolist():
        near.read(np.array([place]), "call")
    assert len(near._bands) <= 8
