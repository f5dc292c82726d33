"""Arrays of Python's objects, which numpy would otherwise take apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def objects(items: Sequence[object]) -> npt.NDArray[np.generic]:
    """A one-dimensional array of objects, whatever they are; lists in it stay lists."""
    return np.fromiter(items, dtype=object, count=len(items))
