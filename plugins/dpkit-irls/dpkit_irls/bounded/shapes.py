"""Symmetric matrices known through noise: kept positive, pulled towards what is expected, and used to turn coordinates.

Post-processing only, finite whatever it is given.
"""

from __future__ import annotations

import math

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.layout import Places
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.rows.fixed_point import Array


def eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of the symmetric part, of one matrix or of a stack; of its diagonal where they are not found."""
    symmetric = (matrix + matrix.swapaxes(-1, -2)) / 2.0
    if not np.isfinite(np.sum(symmetric)):  # one cheap look; the same bits either way
        symmetric = np.nan_to_num(symmetric, nan=0.0, posinf=1e100, neginf=-1e100)
    try:
        values, vectors = np.linalg.eigh(symmetric)
    except np.linalg.LinAlgError:
        values = np.diagonal(symmetric, axis1=-2, axis2=-1).copy()
        vectors = np.broadcast_to(np.eye(symmetric.shape[-1]), symmetric.shape).copy()
    return values, vectors


def of_eigen(values: Array, vectors: Array) -> Array:
    """The symmetric matrix with these eigenvalues and vectors, or a stack of them."""
    return np.asarray((vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2))


def roots(matrices: Array) -> tuple[Array, Array]:
    """Square roots of positive matrices, and their inverses."""
    values, vectors = eigen(matrices)
    sizes = np.sqrt(np.maximum(values, 1e-12))
    return of_eigen(sizes, vectors), of_eigen(1.0 / sizes, vectors)


def by_block(matrix: Array, blocks: int) -> Array:
    """A matrix that does to each of some blocks of a vector what this one does to one."""
    return np.asarray(np.kron(np.eye(blocks), matrix), dtype=np.float64)


def inverse(matrix: Array) -> Array:
    """Of a positive matrix, however close to singular it is."""
    units = np.sqrt(np.maximum(np.diag(matrix), 1e-150))
    values, vectors = eigen(matrix / np.outer(units, units))
    return np.asarray(of_eigen(1.0 / np.maximum(values, 1e-13), vectors) / np.outer(units, units))


def floored(matrix: Array, least: float) -> Array:
    """The same with eigenvalues of at least that."""
    values, vectors = eigen(matrix)
    return of_eigen(np.maximum(values, least), vectors)


def shrunk(found: Array, base: Array, spread: float) -> Array:
    """James-Stein of a noisy matrix (symmetric noise of this sd on the diagonal) towards a base."""
    size, apart = found.shape[0], found - base
    energy = float(np.sum(apart * apart))
    keep = max(0.0, 1.0 - spread * spread * size * (size + 1) / 2.0 / energy) if energy > 0.0 else 0.0
    return np.asarray(base + keep * apart)


def whitening(block: Array, spread: float, tuning: Tuning, *, longest: float, shortest: float) -> Array:
    """T for which T z is uncorrelated where z has this noisy second moment; none is made longer by more than a factor.

    A rare direction looks like a short one: it must not be amplified.
    """
    size = block.shape[0]
    mean = max(float(np.trace(block)) / size, 1e-12)
    least = max(tuning.floor * spread * math.sqrt(2.0 * size), tuning.least * mean)
    moments = floored(shrunk(block, mean * np.eye(size), spread), least)
    lengths = np.sqrt(np.maximum(np.diag(moments), least))
    wanted = lengths * np.clip(math.sqrt(float(np.trace(moments)) / size) / lengths, shortest, longest)
    values, vectors = eigen(moments / np.outer(lengths, lengths))
    root = of_eigen(1.0 / np.sqrt(np.maximum(values, 1e-12)), vectors)
    return np.asarray(wanted[:, None] * root / lengths)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """A positive matrix, known entry by entry: its mean, and the standard deviation of each entry."""

    mean: Array
    spread: Array

    def scaled(self, factors: Array) -> Shape:
        """Entries times these factors."""
        return Shape(mean=self.mean * factors, spread=self.spread * factors)


def blended(
    found: Array, base: Shape, spread: float, tuning: Tuning, *, counts: Array | None = None, unseen: float = 10.0
) -> Shape:
    """Empirical Bayes, entry by entry in units of the base's diagonal: a noisy matrix (this sd on its diagonal, sqrt(2) less
    off it), pulled towards the base. How far the truth lies from the base is a number for the diagonal and one off it; what
    the noise hides of that is at most `unseen`, a variance. Rows of few `counts` say little, however small the noise is,
    and have little to do with other entries. An entry that stands apart from the others is pulled by some noise at most.
    """
    size = found.shape[0]
    units = np.sqrt(np.maximum(np.diag(base.mean), 1e-12))
    products = np.outer(units, units)
    apart = (found - base.mean) / products
    noise = np.full((size, size), spread * spread / 2.0)
    np.fill_diagonal(noise, spread * spread)
    noise = noise / products**2
    if counts is not None:
        noise = noise + tuning.one_row / np.sqrt(np.outer(counts, counts))
    diagonal = np.eye(size, dtype=bool)
    distance = np.full((size, size), _distance(apart[diagonal], noise[diagonal], tuning, unseen))
    prior = np.maximum(distance, (base.spread / products) ** 2)
    kept = np.diag(prior / np.maximum(prior + noise, 1e-300))
    least_seen = np.clip(0.5 * np.sqrt(kept * np.diag(noise)), tuning.least, 1.0)
    seen = np.maximum(1.0 + kept * np.diag(apart), least_seen)
    units = np.sqrt(np.outer(seen, seen))  # of the shape that is seen: off its diagonal correlations are alike
    if size > 1:
        distance = units**2 * _distance((apart / units)[~diagonal], (noise / units**2)[~diagonal], tuning, unseen)
        prior = np.where(diagonal, prior, np.maximum(distance, (base.spread / products) ** 2))
    if counts is not None:  # rows of a rare level lie some spreads away from the others, and are few
        rarer = np.minimum.outer(counts, counts) / max(float(np.max(counts)), 1.0)
        prior = np.where(diagonal, prior, np.minimum(prior, tuning.apart**2 * rarer))
    kept = prior / np.maximum(prior + noise, 1e-300)
    most = (
        tuning.pulled if counts is None else np.where(diagonal, 2.0 * tuning.pulled, np.inf)
    )  # entries of rare levels are many
    least_kept = 1.0 - most * np.sqrt(noise) / np.maximum(np.abs(apart), 1e-300)
    kept = np.where(noise < (tuning.well_known * units) ** 2, np.maximum(kept, least_kept), kept)
    left = math.sqrt(float(np.mean(kept * kept * noise)))
    least = min(0.5, max(tuning.least, tuning.floor * left * math.sqrt(2.0 * size)))
    mean = floored(base.mean / products + kept * apart, least)
    return Shape(mean=mean * products, spread=np.sqrt(kept * noise) * products)


def blended_along(found: Array, base: Shape, spread: float, tuning: Tuning, *, plain: Places, counts: Array) -> Shape:
    """The same along the axes of the base: where predictors vary much, it is many times flatter along the slopes than across,
    and what the noise of steep directions does to the flat one, or a floor as high as those, is not taken for curvature. How
    flat it is follows from a law of predictors, so that is believed up to itself. Only `plain` coordinates are turned, which
    all rows have.
    """
    turn = np.eye(len(found))
    turn[np.ix_(plain, plain)] = eigen(base.mean[np.ix_(plain, plain)])[1].T
    squared, mean = turn * turn, turn @ base.mean @ turn.T
    sizes = np.diag(mean)
    flatter = np.maximum(np.median(sizes[plain]) - sizes, 0.0) if plain.size else np.zeros(len(found))
    unsure = np.diag(np.minimum(sizes, flatter) * np.isin(np.arange(len(found)), plain)) ** 2
    turned = Shape(mean=mean, spread=np.sqrt(squared @ base.spread**2 @ squared.T + unsure))
    seen = blended(turn @ found @ turn.T, turned, spread, tuning, counts=counts)
    return Shape(mean=turn.T @ seen.mean @ turn, spread=np.sqrt(squared.T @ seen.spread**2 @ squared))


def _distance(apart: Array, noise: Array, tuning: Tuning, unseen: float) -> float:
    """How far entries lie from what is expected, a variance: what is seen of that, and what the noise hides of it."""
    weights = 1.0 / (noise + 0.02) ** 2
    whole = max(float(np.sum(weights)), 1e-300)
    unsure = math.sqrt(2.0 * float(np.sum((weights * noise) ** 2))) / whole
    return max(0.0, float(np.sum(weights * (apart * apart - noise))) / whole) + min(tuning.unsure * unsure, unseen)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """A released matrix with the sd of the noise on its diagonal (sqrt(2) less off it)."""

    matrix: Array
    spread: float


def by_entries(shape: Shape, seen: Seen, tuning: Tuning) -> Shape:
    """A shape whose coordinates are scaled by what a released one says of its diagonal, as far as the noise lets it be told
    from what is believed.
    """
    roots = np.sqrt(told_factors(np.diag(shape.mean), np.diag(seen.matrix), seen.spread, tuning)[0])
    return shape.scaled(np.outer(roots, roots))


def by_directions(shape: Shape, seen: Seen, directions: Array, tuning: Tuning) -> Shape:
    """The same along these directions (rows), one after the other, where a released curvature tells less than the shape: rows
    that tell apart columns that go together are few, and their residuals may be large.
    """
    mean = shape.mean
    for direction in directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300):
        turned = mean @ direction
        was, told = (np.array([direction @ each @ direction]) for each in (mean, seen.matrix))
        factor = min(float(told_factors(was, told, seen.spread, tuning)[0][0]), 1.0)
        mean = mean + (factor - 1.0) / max(float(was[0]), 1e-300) * np.outer(turned, turned)
    return Shape(mean=mean, spread=shape.spread)


def told_factors(model: Array, seen: Array | None, spread: float, tuning: Tuning) -> tuple[Array, Array]:
    """By what factors entries of a curvature differ from what a shape says, and how unsure their logarithms are. That is
    believed to be about `entries`, now and then far more (Student's t with 2 degrees of freedom): rows that alone have a column
    are long, and count for more than a scatter says. So what is clearly seen is not pulled to what is believed.
    """
    logs = np.linspace(-math.log(_FARTHEST), math.log(_FARTHEST), 121)
    scores = -1.5 * np.log1p((logs / tuning.entries) ** 2 / 2.0) * np.ones((len(model), 1))
    if seen is not None:
        model = np.maximum(model, 1e-300)
        apart = (seen / model)[:, None] - np.exp(logs)
        scores = scores - 0.5 * (apart / max(spread, 1e-300) * model[:, None]) ** 2
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    weights = weights / np.sum(weights, axis=1, keepdims=True)
    middle = weights @ logs
    return np.exp(middle), np.sqrt(np.sum(weights * (logs - middle[:, None]) ** 2, axis=1))


_FARTHEST = 10.0
"""By no larger factor an entry of a curvature is taken to be from what a scatter tells."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pooled:
    """Released matrices of one kind, added up with their precisions; `near` is the sum of nearness that came with them."""

    total: Array
    precision: float = 0.0
    near: float = 0.0

    @classmethod
    def none(cls, size: int) -> Pooled:
        """Nothing yet."""
        return cls(total=np.zeros((size, size)))

    def plus(self, matrix: Array, spread: float, near: float = 0.0) -> Pooled:
        """With one more, whose diagonal has noise of this sd."""
        weight = 1.0 / (spread * spread)
        return Pooled(total=self.total + weight * matrix, precision=self.precision + weight, near=self.near + weight * near)

    def turned(self, turn: Array) -> Pooled:
        """In turned coordinates."""
        return Pooled(total=turn @ self.total @ turn.T, precision=self.precision, near=self.near)

    def times(self, factor: float) -> Pooled:
        """The total, times that."""
        return Pooled(total=self.total * factor, precision=self.precision, near=self.near)

    def faded(self, factor: float) -> Pooled:
        """Trusted less."""
        return Pooled(total=self.total * factor, precision=self.precision * factor, near=self.near * factor)

    @property
    def mean(self) -> Array:
        """The weighted mean."""
        return self.total / max(self.precision, 1e-300)

    @property
    def spread(self) -> float:
        """The sd of its diagonal."""
        return 1.0 / math.sqrt(max(self.precision, 1e-300))
