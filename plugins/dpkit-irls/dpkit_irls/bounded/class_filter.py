"""The steps' filter for several classes: positions have an entry a coordinate of z for each contrast of classes.

The curvature is that of the law at made-up normal rows with the released scatter, until steps carry it. Post-processing of
released values, finite whatever they are.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.class_step import ROOT2, ClassSums, contrasts_of
from dpkit_irls.bounded.expected_shapes import Expected
from dpkit_irls.bounded.filter import Filter, Gain, damped, from_scatter, scatter_of
from dpkit_irls.bounded.kalman import inflated, innovation, solve_positive, surprise_of, symmetric, tame
from dpkit_irls.bounded.link_filter import metric_of
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.schedule import Schedule
from dpkit_irls.bounded.shapes import Shape, blended, by_block, eigen, of_eigen, roots
from dpkit_irls.bounded.step_query import Carried, Mix
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array
from dpkit_irls.rows.class_scores import softmax

_ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassSurroundings:
    """What a step was made in; `pull` is the curvature that a ridge adds."""

    classes: int
    frame: Frame
    expected: Expected
    schedule: Schedule
    tuning: Tuning
    pull: Array

    @property
    def contrasts(self) -> Array:
        """Of the classes."""
        return contrasts_of(self.classes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassShapes:
    """The curvature, the middle of the sandwich as the law tells it, and how long a position is, contrast by contrast."""

    curvature: Shape
    middle: Array
    metric: Array


def class_shapes(now: Filter, known: ClassSurroundings, position: Array | None = None) -> ClassShapes:
    """At the filter's position, or at another one as the law tells it."""
    scatter = scatter_of(now, known.expected, known.tuning)
    metric, base = metric_of(scatter, known.expected), from_scatter(scatter, known.expected, known.tuning)
    z = _made_up_rows(metric, known.frame)
    here = now.position if position is None else position
    curvature, middle = _at_law(z, here, base.mean, scatter.mean, known)
    shape = _with_spread(curvature, base)
    if now.curvature.precision > 0.0 and position is None:
        found, spread = now.curvature.mean * (known.expected.far * ROOT2), now.curvature.spread * known.expected.far * ROOT2
        counts = np.tile(known.expected.counts, known.classes - 1)
        shape = blended(found, shape, spread, known.tuning, counts=counts, unseen=known.tuning.off_law)
    shape = Shape(mean=shape.mean + known.pull, spread=shape.spread)
    return ClassShapes(curvature=shape, middle=middle, metric=by_block(metric, known.classes - 1))


def _with_spread(curvature: Array, base: Shape) -> Shape:
    """How uncertain entries are: as much, as a part, as those of the scatter of all rows."""
    contrasts = curvature.shape[0] // base.mean.shape[0]
    units = np.sqrt(np.maximum(np.diag(base.mean), 1e-150))
    parts = np.tile(base.spread / np.outer(units, units), (contrasts, contrasts))
    sizes = np.sqrt(np.maximum(np.diag(curvature), 1e-150))
    return Shape(mean=curvature, spread=parts * np.outer(sizes, sizes))


def _made_up_rows(metric: Array, frame: Frame) -> Array:
    """Always the same normal numbers, with these second moments of z; the constant is what it is."""
    size = metric.shape[0]
    normal = np.random.default_rng(0).normal(size=(_ROWS, size))
    constant = np.zeros(size)
    if frame.intercept:
        constant = frame.preconditioner.T[:, -1]
    values, vectors = eigen(metric - np.outer(constant, constant))
    least = 1e-6 * max(float(np.trace(metric)), 1e-150) / size
    return np.asarray(normal @ of_eigen(np.sqrt(np.maximum(values, least)), vectors) + constant)


def _at_law(z: Array, position: Array, base: Array, scatter: Array, known: ClassSurroundings) -> tuple[Array, Array]:
    """Curvature and middle at made-up rows, turned so that without probabilities they would be these sums of w z' and w w'."""
    contrasts, size = known.contrasts, z.shape[1]
    shares = softmax(np.clip(contrasts @ position.reshape(-1, size) @ z.T, -300.0, 300.0))
    squares = np.sum(shares * shares, axis=0)
    largest = np.sqrt(np.maximum(squares + 1.0 - 2.0 * np.min(shares, axis=0), 0.5))
    length = np.maximum(np.linalg.norm(z, axis=1), 1e-150)
    near, far = max(known.expected.near, 1e-300), known.expected.far
    weight = np.minimum(1.0, length / near) * np.minimum(1.0, far / length)
    spread = np.einsum("ja,jn,jb->nab", contrasts, shares, contrasts)
    mean = contrasts.T @ shares
    spread -= np.einsum("an,bn->nab", mean, mean)
    found = []
    for power, target in ((1, base), (2, scatter)):
        plain = (z.T * (weight / length) ** power) @ z
        scored = spread * ((weight / (length * largest)) ** power)[:, None, None]
        whole = np.einsum("nab,ni,nj->aibj", scored, z, z, optimize=True)
        turn = by_block(roots(target)[0] @ roots(plain)[1], known.classes - 1)
        found.append(turn @ whole.reshape(turn.shape) @ turn.T)
    return found[0], found[1]


def moved_by_classes(now: Filter, sums: ClassSums, mix: Mix, noise: float, known: ClassSurroundings) -> Filter:
    """After a step whose entries had noise of this sd."""
    tuning = known.tuning
    if now.turn == known.schedule.fixed_from:
        now = replace(now, variance=now.variance * tuning.forget)
    now, noise = _with_matrix(now, sums, mix, noise, tuning), noise / mix.gradient
    gradient = sums.gradient - known.pull @ now.position
    shapes, variance = class_shapes(now, known), now.variance
    curve, law = shapes.curvature.mean, class_shapes(now, known, now.position).curvature.mean
    surprise = surprise_of(variance, curve, gradient, noise)
    if surprise > tuning.surprise:  # far off: the variance was too small
        variance = variance * min(2.0 * surprise / tuning.surprise, 1e4)
    gain = _gain(variance, curve, noise)
    for _ in range(2):  # the curvature changes along a step: that in its middle counts
        middle = now.position + damped(gain @ gradient, now, shapes.metric, tuning) / 2.0
        turn = roots(class_shapes(now, known, middle).curvature.mean)[0] @ roots(law)[1]
        curve = turn @ shapes.curvature.mean @ turn.T
        gain = _gain(variance, curve, noise)
    move = damped(gain @ gradient, now, shapes.metric, tuning)
    after = inflated(symmetric(variance - gain @ curve @ variance), variance, tuning.inflation)
    bent = _bent(move, law, class_shapes(now, known, now.position + move).curvature.mean, shapes.metric, tuning)
    return replace(
        now,
        position=tame(now.position + move),
        last=tame(move),
        variance=tame(after + bent),
        gains=(*now.gains, Gain(matrix=gain, slope=1.0, added=noise * noise * gain @ gain.T, shape=curve)),
        scales=(*now.scales, now.scale),
    )


def _gain(variance: Array, curvature: Array, noise: float) -> Array:
    return solve_positive(innovation(variance, curvature, noise), curvature @ variance).T


def _bent(move: Array, before: Array, after: Array, metric: Array, tuning: Tuning) -> Array:
    """What a step may be off by because the curvature changed along it, in every direction alike."""
    size = max(float(move @ metric @ move), 0.0)
    here, there = (max(float(move @ each @ move), 1e-300) for each in (before, after))
    part = tuning.bent * min(abs(1.0 - math.sqrt(there / here)), 1.0)
    inverse = roots(metric)[1]
    return np.asarray(part * part * size / move.size * inverse @ inverse)


def _with_matrix(now: Filter, sums: ClassSums, mix: Mix, noise: float, tuning: Tuning) -> Filter:
    spread = noise / mix.diagonal
    if mix.carried is Carried.SCATTER:
        return replace(now, scatter=now.scatter.plus(sums.matrix, spread))
    if mix.carried is Carried.WEIGHTED:
        return replace(now, curvature=now.curvature.faded(tuning.older).plus(sums.matrix, spread))
    return replace(now, middle=now.middle.faded(tuning.older).plus(sums.matrix, spread))
