"""An exact total meets its noise: without being rounded in between, however large it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.contracts.mechanism import Mechanism, OnGrid
from dpkit.contracts.query import Query
from dpkit.data.summing.repricing import contribution_grid
from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import BigIntArray, ExactSum, floats_of, is_power_of_two

_WIDEST = 2.0**53


def check_delivery(query: Query, mechanism: Mechanism) -> None:
    """Refuse, before anything is charged, noise that is so coarse that the total would have to be rounded first."""
    grid = _grid_of(mechanism)
    if grid is not None and grid > _WIDEST * contribution_grid(query):
        raise InvalidValueError(
            field="mechanism",
            found=mechanism,
            allowed="noise whose grid is at most 2**53 times the grid of the contributions",
            where=f"Query({query.name})",
            fix="Such noise hides everything: use less, or declare a coarser grid.",
        )
    _check_type(query, mechanism, grid)


def _check_type(query: Query, mechanism: Mechanism, grid: float | None) -> None:
    """Refuse noise that would not take such a total (integer noise on fractions): seen on a zero, without data."""
    whole = grid == 1.0 and contribution_grid(query) >= 1.0
    try:
        mechanism.release(np.zeros(query.shape, dtype=np.int64 if whole else np.float64), np.random.default_rng(0))
    except ValueError:
        raise InvalidValueError(
            field="mechanism",
            found=mechanism,
            allowed="noise that takes the query's totals" + ("" if whole else ", which are not whole numbers"),
            where=f"Query({query.name})",
            fix="Use noise for real numbers, or declare a grid of 1 where contributions are whole.",
        ) from None


def release_exactly(total: ExactSum, mechanism: Mechanism, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """The noisy total, as if the mechanism had been given the exact one (docs/proofs/exact-sums.md, theorem 4).

    A mechanism without a `grid` is given the nearest float64, which is the total itself up to 2**53 grid steps.
    """
    grid = _grid_of(mechanism)
    if grid is None:
        return mechanism.release(total.nearest(), rng)
    whole, rest = total.split(grid)
    value = rest.astype(np.int64) if grid == 1.0 <= total.grid else rest  # integer noise takes integers only
    noisy = mechanism.release(value, rng)
    if not whole.any():
        return noisy
    return _shifted(np.asarray(noisy), whole, grid).view(type(noisy))


def _shifted(noisy: npt.NDArray[np.generic], whole: BigIntArray, grid: float) -> npt.NDArray[np.float64]:
    steps = np.array([int(step) for step in (noisy.astype(np.float64) / grid).ravel().tolist()], dtype=object)
    # without axes, numpy would hand back a Python integer
    moved: BigIntArray = np.asarray(steps.reshape(whole.shape) + whole, dtype=object).reshape(whole.shape)
    if noisy.dtype.kind == "i":
        most = np.iinfo(np.int64).max
        return np.asarray(np.clip(moved, -most, most)).astype(np.int64)
    return floats_of(moved, grid=grid)


def _grid_of(mechanism: Mechanism) -> float | None:
    grid = mechanism.grid if isinstance(mechanism, OnGrid) else None
    return grid if isinstance(grid, float) and is_power_of_two(grid) else None
