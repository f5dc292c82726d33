"""Places and scales of columns, from released histograms and counts: post-processing, finite whatever it is given."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.histograms import on_simplex
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.rows.fixed_point import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCentre:
    """Where a column lies: its centre, a scale to divide by, the scale that its histogram shows, and how wide it may be.

    `blur` is the width of a bin where nearly all rows are within one, away from the ends: they may be much closer together.
    """

    centre: float
    scale: float
    shown: float
    width: float
    blur: float = 0.0


def located(
    counts: Array,
    spread: float,
    edges: Array,
    default: tuple[float, float],
    *,
    total: float,
    size: int,
    tuning: Tuning,
    weighs: bool = True,
) -> ColumnCentre:
    """The posterior mean over normal shapes of a noisy histogram with these edges (equally far apart).

    The default (centre and scale) has a start of some nats. The scale to divide by is at least the standard deviation of the
    bins that are surely filled, and so large that rows which the noise could hide at the far end are not many scales away.
    Rows apart from an atom at an end are not much longer than others with as many entries, or they lose their weight. Where
    a column `weighs` its rows and is seen to be wide, rows at the far end only weigh less: nothing need be ready for them.
    """
    low, high = float(edges[0]), float(edges[-1])
    if not high > low:
        return ColumnCentre(centre=default[0], scale=default[1], shown=default[1], width=2.0 * default[1])
    weight, where, wide = _likely(counts, spread, edges, default, tuning)
    bins, bin_width = (edges[1:] + edges[:-1]) / 2.0, float(edges[1] - edges[0])
    centre = float(weight @ where)
    fitted = math.sqrt(float(weight @ (wide**2 + (where - centre) ** 2)))
    loud = np.where(counts > 4.0 * spread, counts, 0.0)
    filled, seen, apart = float(np.sum(loud)), 0.0, 0.0
    if filled > 0.0:
        mean, top = float(loud @ bins) / filled, int(np.argmax(loud))
        seen = math.sqrt(float(loud @ (bins - mean) ** 2) / filled)
        centre = mean if filled > tuning.loud * total else centre  # nearly all rows are seen: no shape is needed
        others = np.where(np.arange(loud.size) == top, 0.0, loud)
        if np.any(others):
            apart = tuning.far * math.sqrt(float(others @ (bins - bins[top]) ** 2) / float(np.sum(others)) / size)
    unseen = min(0.5, 3.0 * spread / max(total, 1.0))
    atom = fitted < 1.5 * bin_width and min(centre - low, high - centre) < 1.5 * bin_width  # zeros, or a rare 0/1 column
    is_wide = weighs and not atom and seen > 0.4 * bin_width
    hidden = tuning.hide * math.sqrt(unseen * (1.0 - unseen)) * (high - low) * (1.0 - float(weight[0])) * (not is_wide)
    rare = tuning.hidden_far * (high - low) / math.sqrt(size) if atom and seen < bin_width else 0.0
    scale = min(max(fitted, seen, hidden, apart, rare), (high - low) / 2.0)
    blurred = not (atom or is_wide) and fitted < 0.6 * bin_width and float(weight[0]) < 0.5
    return ColumnCentre(
        centre=centre,
        scale=scale,
        shown=max(fitted, seen),
        width=high - low if atom else 2.0 * scale,
        blur=bin_width if blurred else 0.0,
    )


def _likely(
    counts: Array, spread: float, edges: Array, default: tuple[float, float], tuning: Tuning
) -> tuple[Array, Array, Array]:
    """Posterior weights of places and scales; the first is the default's."""
    wheres, wides = [np.array([default[0]])], [np.array([default[1]])]
    scores = [tuning.place_gain + _gain(counts, spread, _normal_shapes(edges, wheres[0], default[1]))]
    centres, tried = _tried_shapes(tuple(edges.tolist()))
    for scale, shapes in tried:
        scores.append(_gain(counts, spread, shapes))
        wheres.append(centres)
        wides.append(np.full(centres.size, scale))
    score = np.concatenate(scores)
    weight = np.exp(score - np.max(score))
    return weight / np.sum(weight), np.concatenate(wheres), np.concatenate(wides)


@lru_cache(maxsize=16)
def _tried_shapes(edges: tuple[float, ...]) -> tuple[Array, list[tuple[float, Array]]]:
    """The places that are tried, and normals there of each scale: a plan's fits have the same edges for most columns."""
    ends, bins = np.array(edges), len(edges) - 1
    centres = np.linspace(ends[0], ends[-1], 2 * bins + 1)
    scales = (ends[-1] - ends[0]) / np.exp2(np.arange(1.0, math.log2(bins) + 1.6, 0.5))
    return centres, [(scale, _normal_shapes(ends, centres, scale)) for scale in scales.tolist()]


def _gain(counts: Array, spread: float, shapes: Array) -> Array:
    """Log-likelihoods of shapes, their heights profiled out."""
    return np.asarray(np.maximum(shapes @ counts / spread, 0.0) ** 2 / 2.0)


def _normal_shapes(edges: Array, centres: Array, scale: float) -> Array:
    """Unit vectors: what share of a normal falls between the edges, the end bins open."""
    from scipy.special import ndtr

    below = ndtr((edges[None, :] - centres[:, None]) / max(scale, 1e-300))
    below[:, 0], below[:, -1] = 0.0, 1.0
    shares = np.diff(below, axis=1)
    return np.asarray(shares / np.linalg.norm(shares, axis=1, keepdims=True))


def shows_ties(counts: Array, spread: float, total: float, scale_in_bins: float) -> bool:
    """Whether a histogram of targets has an atom: a high bin between low ones, in a wider distribution."""
    top = int(np.argmax(counts))
    near = [float(counts[place]) for place in (top - 1, top + 1) if 0 <= place < counts.size]
    high = float(counts[top])
    elsewhere = total - high - math.fsum(near) - 3.0 * spread * math.sqrt(len(near) + 1.0) > 0.05 * total
    return high - 3.0 * spread > 0.3 * total and max(near) < 0.25 * high and (scale_in_bins > 1.5 or elsewhere)


def level_shares(counts: Array, total: float) -> Array:
    """Shares of levels, none below one row's."""
    return np.clip(on_simplex(counts, total) / total, 1.0 / max(total, 1.0), 1.0)
