"""What numpy loads its masked arrays for, without that: they take a tenth of a command, and few people have one."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


def distinct(values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The different values in order, as `np.unique` gives them. None may be NaN."""
    ordered = np.sort(values, axis=None)
    first = np.ones(ordered.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    found: npt.NDArray[Scalar] = ordered[first]
    return found


def is_masked_array(value: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Whether this is a masked array. Where numpy's module of them is not loaded, nobody can have made one."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)
