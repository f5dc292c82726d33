"""How far two values are apart in a metric of that name: what sensitivity searches maximise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError

Array = npt.NDArray[np.float64]


MEASURED = ("l1", "l2", "linf", "frobenius", "trace", "rank_one")


def is_measured(metric: str) -> bool:
    """Whether `sizes_in` knows this metric."""
    return metric in MEASURED


def sizes_in(metric: str, differences: Array) -> Array:
    """The size of each difference (first axis) in the metric. For `rank_one`, infinite where a difference has another rank."""
    with np.errstate(all="ignore"):
        flat = differences.reshape(len(differences), -1)
        match metric:
            case "l1":
                return np.asarray(np.sum(np.abs(flat), axis=1))
            case "l2" | "frobenius":
                return np.asarray(np.linalg.norm(flat, axis=1))
            case "linf":
                return np.asarray(np.max(np.abs(flat), axis=1, initial=0.0))
            case "trace":
                return np.asarray(np.abs(np.trace(differences, axis1=1, axis2=2)))
            case "rank_one":
                return _rank_one(differences)
    raise InvalidValueError(field="metric", found=metric, allowed=", ".join(MEASURED), where="sizes_in")


def size_in(metric: str, difference: Array) -> float:
    """The size of one difference."""
    return float(sizes_in(metric, difference[None])[0])


def _rank_one(differences: Array) -> Array:
    finite = np.where(np.isfinite(differences), differences, 0.0)
    values = np.abs(np.linalg.eigvalsh(finite))
    values.sort(axis=1)
    top = values[:, -1]
    rest = values[:, -2] if values.shape[1] > 1 else np.zeros_like(top)
    spoilt = ~np.isfinite(differences).all(axis=(1, 2)) | (rest > 1e-9 * np.maximum(top, 1e-300))
    return np.where(spoilt, np.inf, top)
