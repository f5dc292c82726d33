"""What a regression gives back: coefficients in the units of the columns, from released values only."""

from __future__ import annotations

from dataclasses import field, fields

import numpy as np
import numpy.typing as npt

from dpkit.authoring import dataclass
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.loss import HUBER, LinkScore, RobustScore

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Coefficients and intercept as tuples of floats; `notes` says what a reader of the report must know.

    Standard errors are estimates from released values, of the noise and of sampling together, about the `estimand`, which is a
    sentence: the value of 1.96 of them either way is a 95% interval. Empty where a form has none. `frame`, `threshold`,
    `link`, `score`, `ridge` and `ridge_slope` are what the estimand is made of, for `estimand_of`.
    """

    form: str
    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float
    iterations: int
    scale: float | None = None
    standard_errors: tuple[float, ...] = ()
    intercept_error: float | None = None
    notes: tuple[str, ...] = ()
    estimand: str = ""
    threshold: float | None = None
    frame: Frame | None = field(default=None, repr=False, compare=False)
    link: LinkScore | None = field(default=None, repr=False, compare=False)
    score: RobustScore = field(default=HUBER, repr=False, compare=False)
    ridge: float = 0.0
    ridge_slope: float = 1.0

    def predict(self, rows: npt.ArrayLike) -> Array:
        """Post-processing."""
        return np.asarray(np.asarray(rows, dtype=np.float64) @ np.array(self.coefficients) + self.intercept)

    def as_json(self) -> dict[str, object]:
        """Everything but the frame and the scores, which are for computing."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in ("frame", "link", "score", "ridge_slope")
        }


def solved(matrix: Array, vector: Array, fallback: Array) -> Array:
    """matrix^-1 vector, or the fallback where that is not finite; never raises."""
    try:
        found = np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)
    except np.linalg.LinAlgError:
        return fallback
    return found if np.isfinite(found).all() and np.max(np.abs(found), initial=0.0) < 1e100 else fallback
