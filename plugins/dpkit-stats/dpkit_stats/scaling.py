"""Declared bounds, and the unit scale on which contributions live: -1 at the lower bound, 1 at the upper one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import dpkit
from dpkit.authoring import dataclass, finite_number

Array = npt.NDArray[np.float64]

GRID = 2.0**-40
"""Contributions on the unit scale are multiples of this: 8192 rows add up in float64 without rounding."""

_NARROWEST = 2.0**-400


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The declared range of a column. Centred at its middle, a value is at most half the width: half the sensitivity."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        lower = finite_number(self.lower, field="lower", where="bounds")
        upper = finite_number(self.upper, field="upper", where="bounds")
        if not upper - lower >= _NARROWEST or not np.isfinite(upper - lower):
            allowed = f"a number above the lower bound, {lower!r}, by at least 2**-400"
            raise dpkit.InvalidValueError(field="upper", found=self.upper, allowed=allowed, where="bounds")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def centre(self) -> float:
        """The middle."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def largest(self) -> float:
        """The largest magnitude of a value."""
        return max(abs(self.lower), abs(self.upper))

    @property
    def half(self) -> float:
        """Half the width; where the middle was rounded, the larger half."""
        return max(self.upper - self.centre, self.centre - self.lower)

    def unit(self, values: Array) -> Array:
        """Values on the unit scale, clipped; NaN is the middle. Elementwise, so a row's number is its own."""
        scaled = (np.clip(values, self.lower, self.upper) - self.centre) / self.half
        return np.clip(np.where(np.isnan(scaled), 0.0, scaled), -1.0, 1.0)

    def value(self, unit: float) -> float:
        """Back from the unit scale, within the bounds."""
        return float(np.clip(self.centre + self.half * unit, self.lower, self.upper))


def cut_down(values: Array) -> Array:
    """Each value cut to the grid, downwards."""
    return np.asarray(np.floor(values / GRID) * GRID)
