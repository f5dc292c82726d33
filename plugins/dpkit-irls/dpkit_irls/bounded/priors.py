"""What is believed of coefficients before the data speaks: across the range of a column the target moves by a few spreads.

It matters where the noise hides a coefficient: there the estimate is small, not wild, and its error is what was believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpkit_irls.bounded.covariance import Covariances
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.shapes import eigen, inverse, of_eigen
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array


def coefficient_precisions(layout: Layout, frame: Frame, widths: Sequence[float], spread: float, tuning: Tuning) -> Array:
    """Of the coefficients of entries in the frame's units: some spreads of the target across a column's width, or for a level.

    Nothing is believed of the constant, nor of anything without one.
    """
    found = np.zeros(layout.size)
    if not layout.intercept:
        return found
    units = np.array(frame.units)
    for place, width in zip(layout.numbers, widths, strict=True):
        found[place] = (width / max(tuning.range_prior * spread * units[place], 1e-150)) ** 2
    for category in layout.categories:
        found[category.part] = np.maximum(tuning.level_range * spread * units[category.part], 1e-150) ** -2.0
    return np.minimum(found, 1e200)


def narrowed(variance: Array, frame: Frame, precisions: Array) -> Array:
    """A variance of positions, narrowed by these precisions of coefficients of entries."""
    return inverse(inverse(variance) + of_positions(frame, precisions))


def moderated(position: Array, found: Covariances, believed: Array) -> tuple[Array, Covariances]:
    """A position and its covariances after these beliefs (a precision), whose part of the error counts as left of the start.

    They are weighed against what the noise hides, not against sampling: without noise the estimate is that of the rows.
    """
    if not believed.any():
        return position, found
    told = inverse(np.mean(found.noise + found.start, axis=0))
    variance = inverse(told + believed)
    keep, lost = variance @ told, variance @ believed @ variance

    def kept(matrices: Array) -> Array:
        return np.asarray(keep @ matrices @ keep.T)

    after = replace(
        found,
        noise=kept(found.noise),
        sampling=kept(found.sampling),
        start=kept(found.start) + lost,
        apart=found.apart @ keep.T,
    )
    return np.asarray(keep @ position), after


def as_found(believed: Array, position: Array, found: Covariances, *, trust: float) -> Array:
    """A belief on positions (a variance), made narrower by what was found: where directions are known well, and what was found
    in them is far smaller than was believed, what is left of the start is a part of something as small.

    Along axes in which the belief is 1 and the error's variance is r, positions p tell the scale: the mean of p^2 + r, where
    each axis counts as far as it is known, 1 - r. An axis keeps `trust` times that scale and its own r, and at most what was
    believed. What was found itself is added.
    """
    error = np.mean(found.noise + found.sampling + found.start, axis=0)
    values, vectors = eigen(believed)
    values = np.sqrt(np.maximum(values, 1e-300))
    root, inverse_root = of_eigen(values, vectors), of_eigen(1.0 / values, vectors)
    parts, axes = eigen(inverse_root @ error @ inverse_root)
    parts = np.clip(parts, 0.0, 1.0)
    seen = axes.T @ inverse_root @ position
    known = 1.0 - parts
    scale = float(known @ (seen**2 + parts)) / max(float(np.sum(known)), 1e-9)
    kept = np.minimum(trust * (scale + parts), 1.0)
    return np.asarray(root @ of_eigen(kept, axes) @ root + np.outer(position, position))


def of_positions(frame: Frame, precisions: Array) -> Array:
    """Precisions of entries' coefficients as those of positions."""
    return np.asarray((frame.preconditioner.T * precisions) @ frame.preconditioner)


def less_sure(prior: Array, frame: Frame, precisions: Array, tuning: Tuning) -> Array:
    """The variance of positions that steps start with, as intervals have it: `start_wide` times as wide, up to what is believed
    of each column. Where columns go together, some sum of their coefficients is short for rows, so that a start that is good on
    average says that hardly anything is there; but coefficients of opposite signs may be. Along it the start is far wider.
    """
    matrix = frame.preconditioner
    columns = matrix @ prior @ matrix.T
    sizes = np.sqrt(np.maximum(np.diag(columns), 1e-150))
    values, vectors = eigen(columns / np.outer(sizes, sizes))  # all 1 where no columns go together
    wide = np.minimum(tuning.start_wide * np.maximum(values, 1.0) ** tuning.start_along, tuning.start_widest)
    columns = of_eigen(np.maximum(values, 0.0) * wide, vectors) * np.outer(sizes, sizes)
    return inverse((matrix.T @ inverse(columns) @ matrix) + of_positions(frame, tuning.believed_less * precisions))
