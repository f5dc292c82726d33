"""Laws of one ratio on a lattice lie above and below it in convex order."""

import numpy as np
import pytest
from mechanisms.profiles import stop_loss_of_one
from scipy.special import ndtr

from dpkit.mechanisms.allocation_cells import gathered_cells, spread_cells


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
        beyond = stop_loss_of_one(ratio, np.array([cells.top]), "call")[0] if side == "call" else 0.0
        mass = ndtr(-np.log(cells.top) / ratio - 0.5 * ratio)
        over = beyond + (cells.top - points) * mass if side == "call" else 0.0  # E[X - a; X > top]
        assert np.all(sign * (gains + over - stop_loss_of_one(ratio, points, side)) >= -1e-13)
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
