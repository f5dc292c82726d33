"""What all released gradients say together: where the root lies for a given curvature, and which curvature is likely.

Near the root b a gradient is about h S (b - position), for a slope h and a shape S of the curvature, so every step tells where
b is. With a shape that is too large in a direction, steps are too short there: gradients stay large, step after step. That
shows in the likelihood. No step with few rows shows the curvature well, and residuals that grow with a column change it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.kalman import tame
from dpkit_irls.bounded.shapes import Seen, eigen, of_eigen
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array
from dpkit_irls.loss import LinkScore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """A step: where it was, its gradient with the covariance of the noise, its threshold, h, the slope of the scores, and the
    `link` of a family that has one.
    """

    position: Array
    gradient: Array
    noise: Array
    threshold: float
    slope: float
    link: LinkScore | None = None

    def turned(self, turn: Array, back: Array) -> Step:
        """In coordinates turned by this matrix; positions turn by `back`, its inverse's transpose."""
        return replace(
            self,
            position=tame(back @ self.position),
            gradient=tame(turn @ self.gradient),
            noise=tame(turn @ self.noise @ turn.T),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roots:
    """For each of some shapes: where the root is, the variance of that, the information of the steps in it, and how likely the
    gradients were (a logarithm; differences count).
    """

    positions: Array
    variances: Array
    information: Array
    likelihood: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurvatureEvidence:
    """The steps, by number: precisions of gradients, gradients, positions, slopes; `start` is the precision before them."""

    precisions: Array
    gradients: Array
    positions: Array
    slopes: Array
    start: Array
    seen: Seen | None = None

    @classmethod
    def of(cls, steps: Sequence[Step], prior: Array, threshold: float, seen: Seen | None, tuning: Tuning) -> CurvatureEvidence:
        """Steps at other thresholds estimate something else, and large gradients are less linear: both count for less."""
        precisions = inverse(np.array([step.noise for step in steps]))
        for step, precision in zip(steps, precisions, strict=True):
            size = float(step.gradient @ precision @ step.gradient) / step.gradient.size
            apart = math.log(max(step.threshold, 1e-300) / max(threshold, 1e-300)) / tuning.other_threshold
            kept = math.exp(-0.5 * min(apart * apart, 60.0)) / (1.0 + tuning.bending**2 * size)
            precision *= kept
        return cls(
            precisions=precisions,
            gradients=np.array([step.gradient for step in steps]),
            positions=np.array([step.position for step in steps]),
            slopes=np.array([step.slope for step in steps]),
            start=inverse(prior),
            seen=seen,
        )

    def roots(self, shapes: Array) -> Roots:
        """For a stack of shapes."""
        squares = self.slopes**2
        information = shapes @ np.einsum("s,sij->ij", squares, self.precisions) @ shapes
        variances = inverse(self.start + information)
        there = np.einsum("kij,sj->ksi", shapes, self.positions)
        told = np.einsum("s,sij,sj->i", self.slopes, self.precisions, self.gradients)
        told = told + np.einsum("s,sij,ksj->ki", squares, self.precisions, there)
        positions = np.einsum("kij,kjl,kl->ki", variances, shapes, told)
        pulls = self.slopes[:, None] * (np.einsum("kij,kj->ki", shapes, positions)[:, None, :] - there)
        rests = self.gradients - pulls
        likelihood = -0.5 * np.einsum("ksi,sij,ksj->k", rests, self.precisions, rests, optimize=True)
        likelihood = likelihood - 0.5 * np.einsum("ki,ij,kj->k", positions, self.start, positions)
        return Roots(positions=positions, variances=variances, information=information, likelihood=likelihood)

    def seen_likelihood(self, shapes: Array, directions: Array) -> Array:
        """How likely the released curvature is for each of some shapes, as these directions (rows) see it."""
        if self.seen is None:
            return np.zeros(len(shapes))
        apart = directions @ (self.seen.matrix - shapes) @ directions.T
        lengths = directions @ directions.T
        squares = np.diag(lengths)
        noise = 0.5 * self.seen.spread**2 * (np.outer(squares, squares) + lengths**2)
        upper = np.triu_indices(len(directions))
        return np.asarray(-0.5 * np.sum((apart**2 / np.maximum(noise, 1e-300))[:, upper[0], upper[1]], axis=1))

    @property
    def answer(self) -> Array:
        """What all steps make of one more gradient, up to shape and variance: the sum of slopes times precisions."""
        return np.asarray(np.einsum("s,sij->ij", self.slopes, self.precisions))

    def slow_direction(self, shape: Array) -> Array:
        """Where the gradients of the last steps still point to."""
        late = slice(-max(len(self.slopes) // 2, 1), None)
        pooled = np.einsum("sij,sj->i", self.precisions[late], self.gradients[late])
        return np.asarray(inverse(shape) @ inverse(np.sum(self.precisions[late], axis=0)) @ pooled)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bends:
    """Shapes B S B' made of a shape S: other factors along the signal and along the slow direction, and the centre moved along
    the signal (in spreads of the rows). One a row of `factors`, whose columns are these three; with how likely each is.
    """

    factors: Array
    turns: Array
    roots: Roots
    likelihood: Array


def bends(evidence: CurvatureEvidence, shape: Array, signal: Array, factors: Array, *, constant: bool) -> Bends:
    """Of a shape, for a signal: the position that was found."""
    size = shape.shape[0]
    found = np.broadcast_to(np.eye(size), (len(factors), size, size)).copy()
    along = [_of_length_one(direction, shape, constant=constant) for direction in (signal, evidence.slow_direction(shape))]
    looked = along[:1]
    if constant:
        last = np.zeros(size)
        last[-1] = 1.0 / math.sqrt(max(float(shape[-1, -1]), 1e-300))
        found += factors[:, 2, None, None] * np.outer(shape @ along[0], last)
        looked = [along[0], last]
    for column, direction in enumerate(along):
        grown = (np.sqrt(factors[:, column]) - 1.0)[:, None, None] * np.outer(shape @ direction, direction)
        found = found + grown @ found
    bent = found @ shape @ found.swapaxes(1, 2)
    roots = evidence.roots(bent)
    likelihood = roots.likelihood + evidence.seen_likelihood(bent, np.array(looked))
    return Bends(factors=factors, turns=found, roots=roots, likelihood=likelihood)


FEW_FACTORS = np.array([*product((1.0, 0.5, 0.25), (1.0, 0.5), (0.0,))])
"""What steps are corrected by."""
MANY_FACTORS = np.array(
    [*product((1.0, 1.5, 1.25, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.13), (1.0, 0.7, 0.5, 0.33), (0.0, -0.6, 0.6))]
)
"""What intervals are ready for: factors along the signal and the slow direction, and moves of the centre."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correction:
    """By how much the root lies `further` than a shape says, the variance of that, and whether gradients tell it `clearly`."""

    further: Array
    variance: Array
    clearly: bool


def corrected(evidence: CurvatureEvidence, shape: Array, signal: Array, *, constant: bool, tuning: Tuning) -> Correction:
    """Where gradients tell that the curvature is smaller along the signal, or along the direction in which steps still move."""
    found = bends(evidence, shape, signal, FEW_FACTORS, constant=constant)
    changed = np.sum(np.abs(np.log2(FEW_FACTORS[:, :2])), axis=1)
    scores = found.likelihood - tuning.doubted * changed
    weights = np.exp(scores - np.max(scores))
    weights = weights / np.sum(weights)
    positions = found.roots.positions
    return Correction(
        further=weights @ positions - positions[0],
        variance=np.asarray(np.einsum("k,kij->ij", weights, found.roots.variances)),
        clearly=bool(weights[0] < 0.5),
    )


def drawn_bends(evidence: CurvatureEvidence, shape: Array, signal: Array, *, constant: bool, tuning: Tuning) -> Array:
    """As many bends as there are draws, as often as gradients and what is believed make them likely. Logarithms of factors are
    believed to follow Student's t with 2 degrees of freedom: mostly near 0, but as far out as gradients clearly tell.
    """
    factors = MANY_FACTORS if constant else MANY_FACTORS[MANY_FACTORS[:, 2] == 0.0]
    found = bends(evidence, shape, signal, factors, constant=constant)
    logs, tilts = np.log(factors[:, :2]) / tuning.along, factors[:, 2] / tuning.off_centre
    scores = found.likelihood - 1.5 * np.sum(np.log1p(logs * logs / 2.0), axis=1) - 0.5 * tilts * tilts
    likely = np.exp(scores - np.max(scores))
    ends = np.cumsum(likely / np.sum(likely))
    chosen = np.searchsorted(ends, (np.arange(tuning.draws) + 0.5) / tuning.draws).clip(0, len(ends) - 1)
    return np.asarray(found.turns[np.random.default_rng(3).permutation(chosen)])


def inverse(matrix: Array) -> Array:
    """Of a positive matrix, or of a stack, however close to singular it is."""
    values, vectors = eigen(matrix)
    least = 1e-13 * np.max(np.abs(values), axis=-1, keepdims=True)
    return of_eigen(1.0 / np.maximum(values, np.maximum(least, 1e-150)), vectors)


def _of_length_one(direction: Array, shape: Array, *, constant: bool) -> Array:
    """Without the constant, of length 1 as the shape measures it; zero where that is nothing."""
    found = np.array(direction)
    if constant:
        found[-1] = 0.0
    length = float(found @ shape @ found)
    return found / math.sqrt(length) if length > 1e-200 else np.zeros_like(found)
