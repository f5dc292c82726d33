"""What the shapes of scatter and curvature are before any step, from the frame, released shares of levels and lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.shapes import Shape
from dpkit_irls.rows.fixed_point import Array
from dpkit_irls.rows.medians import median


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
    numbers = layout.plain
    if not coded:
        scatter[numbers, numbers], curve[numbers, numbers] = _of_normal_rows(layout, frame, total=total, length=length)
        made = None
    else:
        made = _rows_with_levels(layout, shares, [np.sum(codes * codes, axis=1) for codes in coded], length=length)
        for found, power in ((scatter, 2.0), (curve, 1.0)):
            found[numbers, numbers] = total / MADE_UP_ROWS * made.alike(made.shares(made.lengths, frame, power) @ made.squares)
    for place, (category, share, codes) in enumerate(zip(layout.categories, shares, coded, strict=True)):
        assert made is not None
        part, lengths = category.part, made.lengths_with(place)
        counted = total * share
        rows = np.maximum(counted * np.minimum(1.0, (counted / max(3.0 * count_noise, 1e-300)) ** 2), 1.0)  # few may be noise
        for found, power in ((scatter, 2.0), (curve, 1.0)):
            found[part, part] += (codes.T * (rows * np.mean(made.shares(lengths, frame, power), axis=0))) @ codes
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


MADE_UP_ROWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MadeUpLengths:
    """Rows of normal numbers beside a constant, and of levels: `squares` of the plain coordinates, the `lengths` of the rows,
    and by category what a row's level adds to its squared length, and what each level would.
    """

    squares: Array
    lengths: Array
    added: Array
    levels: tuple[Array, ...]
    constant: bool

    def lengths_with(self, category: int) -> Array:
        """Were all rows of one level: a column a level."""
        rest = self.lengths**2 - self.added[category]
        return np.asarray(np.sqrt(np.maximum(rest[:, None] + self.levels[category], 1e-300)))

    def shares(self, lengths: Array, frame: Frame, power: float) -> Array:
        """What a product z z' counts in the sum of w w' (the power 2) or of w z' (1), of rows of these lengths."""
        weights = np.minimum(1.0, lengths / max(frame.near, 1e-300)) * np.minimum(1.0, frame.far / lengths)
        return np.asarray((weights / lengths) ** power)

    def alike(self, sums: Array) -> Array:
        """Sums of plain coordinates, the same for all numbers."""
        numbers = sums.size - self.constant
        sums[:numbers] = np.mean(sums[:numbers]) if numbers else 0.0
        return sums


def _rows_with_levels(layout: Layout, shares: Sequence[Array], levels: Sequence[Array], *, length: float) -> MadeUpLengths:
    """Always the same made-up rows, of this median length: levels as often as their shares say, numbers as large as that
    leaves them.
    """
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(MADE_UP_ROWS, layout.plain.size))
    if layout.intercept:
        rows[:, -1] = 1.0
    squares = rows * rows
    added = [
        squared[np.searchsorted(np.cumsum(share / np.sum(share)), rng.random(MADE_UP_ROWS)).clip(max=share.size - 1)]
        for share, squared in zip(shares, levels, strict=True)
    ]
    whole, plain = np.sum(added, axis=0), np.sum(squares, axis=1)
    low, high = 0.0, length**2 / max(median(plain), 1e-300)
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (low, middle) if median(whole + middle * plain) > length**2 else (middle, high)
    per = max(low, 0.25 * length**2 / max(float(np.mean(plain)), 1e-300))
    return MadeUpLengths(
        squares=squares * per,
        lengths=np.sqrt(np.maximum(whole + per * plain, 1e-300)),
        added=np.array(added),
        levels=tuple(levels),
        constant=layout.intercept,
    )


def _of_normal_rows(layout: Layout, frame: Frame, *, total: float, length: float) -> tuple[Array, Array]:
    """Diagonals of both sums over normal numbers beside a constant, of this median length; always the same made-up rows."""
    rows = np.random.default_rng(0).normal(size=(MADE_UP_ROWS, layout.size))
    if layout.intercept:
        rows[:, -1] = 1.0
    lengths = np.linalg.norm(rows, axis=1)
    rows, lengths = rows * (length / median(lengths)), lengths * (length / median(lengths))
    weights = np.minimum(1.0, lengths / max(frame.near, 1e-300)) * np.minimum(1.0, frame.far / lengths)
    squares = rows * rows
    scatter, curve = (weights / lengths) ** 2 @ squares, weights / lengths @ squares
    if layout.size > layout.intercept:  # numbers are alike
        for each in (scatter, curve):
            each[: layout.entries] = np.mean(each[: layout.entries])
    return scatter * (total / MADE_UP_ROWS), curve * (total / MADE_UP_ROWS)
