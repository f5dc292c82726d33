"""What the shapes of scatter and curvature are before any step, from the frame, released shares of levels and lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.shapes import Shape
from dpkit_irls.rows.fixed_point import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expected:
    """The sum of w w', and the factors that turn its coordinates into those of the sum of w z'; over a number of rows."""

    scatter: Shape
    ratio: Array
    total: float
    length: float
    near: float
    far: float
    counts: Array


def expected_shapes(
    layout: Layout, frame: Frame, shares: Sequence[Array], *, total: float, length: float, count_noise: float
) -> Expected:
    """For rows of this median length: numbers alike in all coordinates, each level as often as its released share says.

    Rows of a rare level are longer, so they weigh less. What is uncertain of a level's part is the noise of its count.
    """
    size = layout.size
    scatter, curve, unsure = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
    counts = np.full(size, max(total, 1.0))
    coded = [layout.coded(frame, category) for category in layout.categories]
    squares = [float(share @ np.sum(codes * codes, axis=1)) for share, codes in zip(shares, coded, strict=True)]
    plain = max(length**2 - math.fsum(squares), 0.25 * length**2) if coded else length**2
    numbers = layout.plain
    if not coded:
        scatter[numbers, numbers], curve[numbers, numbers] = _of_normal_rows(layout, frame, total=total, length=length)
    for category, share, codes in zip(layout.categories, shares, coded, strict=True):
        part, rest = category.part, math.fsum(squares) - float(share @ np.sum(codes * codes, axis=1))
        lengths = np.sqrt(plain + np.sum(codes * codes, axis=1) + max(rest, 0.0))
        weights = np.array([_weight(each, frame) for each in lengths])
        counted = total * share
        rows = np.maximum(counted * np.minimum(1.0, (counted / max(3.0 * count_noise, 1e-300)) ** 2), 1.0)  # few may be noise
        scatter[part, part] += (codes.T * (rows * (weights / lengths) ** 2)) @ codes
        curve[part, part] += (codes.T * (rows * weights / lengths)) @ codes
        each = plain / max(numbers.size, 1) / len(coded)
        scatter[numbers, numbers] += float(rows @ (weights / lengths) ** 2) * each
        curve[numbers, numbers] += float(rows @ (weights / lengths)) * each
        counts[part] = rows[category.others(frame)]
        unsure[part] = np.minimum(1.0, 1.6 * count_noise / np.maximum(rows[category.others(frame)], 1e-300))
    diagonal = np.maximum(np.diag(scatter), 1e-300)
    ratio = np.sqrt(np.maximum(np.diag(curve), 1e-300) / diagonal)
    spread = np.diag(unsure * diagonal)
    return Expected(
        scatter=Shape(mean=scatter, spread=spread),
        ratio=ratio,
        counts=counts,
        total=total,
        length=length,
        near=frame.near,
        far=frame.far,
    )


def _of_normal_rows(layout: Layout, frame: Frame, *, total: float, length: float) -> tuple[Array, Array]:
    """Diagonals of both sums over normal numbers beside a constant, of this median length; always the same made-up rows."""
    rows = np.random.default_rng(0).normal(size=(2_000, layout.size))
    if layout.intercept:
        rows[:, -1] = 1.0
    lengths = np.linalg.norm(rows, axis=1)
    rows, lengths = rows * (length / np.median(lengths)), lengths * (length / np.median(lengths))
    weights = np.minimum(1.0, lengths / max(frame.near, 1e-300)) * np.minimum(1.0, frame.far / lengths)
    squares = rows * rows
    scatter, curve = (weights / lengths) ** 2 @ squares, weights / lengths @ squares
    if layout.size > layout.intercept:  # numbers are alike
        for each in (scatter, curve):
            each[: layout.entries] = np.mean(each[: layout.entries])
    return scatter * (total / 2_000.0), curve * (total / 2_000.0)


def _weight(length: float, frame: Frame) -> float:
    return min(1.0, length / frame.near) * min(1.0, frame.far / length)
