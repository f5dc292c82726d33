"""Quantiles away from the middle: few residuals are near the line there, so its scale cannot be told from them.

The first steps find the middle, with Huber's score: slopes, and the scale of the residuals. Then the line moves to where the
quantile is for normal residuals, is as unsure as that is, and goes on with the quantile's score, smoothed over the scale that
was found; how many residuals are near is told by all of these steps together. Post-processing of released values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpkit_irls.bounded.filter import Filter
from dpkit_irls.bounded.schedule import Schedule
from dpkit_irls.bounded.shapes import Pooled
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array
from dpkit_irls.loss import ResidualScore, RobustScore, is_tail, quantile_score

_WIDTH = 0.45
"""Over how many scales either side a quantile is smoothed with few rows."""


def told_of_middle(score: RobustScore) -> float:
    """How much rows tell of this quantile, as a part of what they tell of the middle: the slopes of the scores."""
    if not isinstance(score, ResidualScore) or not is_tail(score):
        return 1.0
    middle = quantile_score(0.5)
    slopes = [each.inside(_ratio(each)) / _ratio(each) for each in (score, middle)]
    return min(slopes[0] / slopes[1], 1.0)


def _ratio(score: ResidualScore) -> float:
    return 2.0 * max(score.quantile, 1.0 - score.quantile) * _WIDTH


def waits(now: Filter, score: RobustScore, schedule: Schedule) -> bool:
    """Whether the next step is still one for the middle: until the scale is settled, or for some steps more."""
    if not is_tail(score) or now.tied or now.at_tail or schedule.tail_from <= 0:
        return False
    return now.turn < schedule.tail_from or (not now.settled and now.turn < schedule.tail_from + 3)


def at_tail(now: Filter, score: RobustScore, constant: Array, tuning: Tuning) -> Filter:
    """Where the steps for the quantile begin; `constant` is the position of the constant 1.

    Columns may move a quantile as far from the middle as it is from there itself, spread over them as the start's beliefs are.
    """
    from scipy.special import ndtri

    away = float(ndtri(score.quantile)) * now.scale * tuning.tail_jump
    moved, size = constant * away, now.position.size
    wide = abs(away) / tuning.tail_jump
    spread = now.prior * min(wide * tuning.tail_slopes / max(now.spread, 1e-300), 1.0) ** 2
    prior = now.variance + spread + np.outer(constant, constant) * wide**2
    position = now.position + moved
    return replace(
        now,
        position=position,
        begun=position,
        last=np.zeros(size),
        variance=prior,
        prior=prior,
        curvature=Pooled.none(size),
        middle=Pooled.none(size),
        score=score,
        gains=(),
        steps=(),
        nears=(),
        at_tail=True,
    )
