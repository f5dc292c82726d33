"""What a ridge adds to a score equation: sum of g/|z| s z = Lambda b, with a penalty on slopes and none on the constant.

`ridge` is in units of the rows: standardised slopes that are not correlated shrink by about 1 / (1 + ridge), at any number of
rows. It is post-processing: a released gradient less what the released position is pulled by.
"""

from __future__ import annotations

import numpy as np

from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.fit import Array


def pull_of(frame: Frame, ridge: float, total: float, slope: float) -> Array:
    """Lambda, in coordinates of the position: ridge times rows over the radius of full weight, times the score's slope."""
    if ridge == 0.0:
        return np.zeros_like(frame.preconditioner)
    slopes = frame.preconditioner[: len(frame.units)]
    return np.asarray(ridge * total * slope / max(frame.near, 1e-300) * slopes.T @ slopes)
