"""Covariances of a fit from the steps that were made: what the noise did, what sampling did, and what is left of the start.

The error of the position obeys e <- (I - K h H) e + K (noise + sampling) with the gains K that were used. The shape H of the
curvature is known through noise, so several are drawn from what was released, and an interval holds 95% of their mixture. How
far it may be from what was released is doubted less and less between `many` and `ready` times the needed rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpkit.authoring import dataclass
from dpkit_irls.bounded.evidence import corrected, drawn_bends
from dpkit_irls.bounded.expected_shapes import Expected
from dpkit_irls.bounded.filter import Filter, evidence_of, from_scatter, scatter_of, seen_curvature
from dpkit_irls.bounded.shapes import Shape, blended, eigen, of_eigen, roots, told_factors
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covariances:
    """One for each curvature drawn, in coordinates of the position: from noise, from sampling, and left of the start; and how
    far `apart` from the others its root is. `slow`: gradients tell clearly that steps were too short. `undoubted` are the same
    were the curvature known to be as released values say, where that is doubted. What is left of the start is that of the
    `typical` draw where few residuals are near: there a single draw says little.
    """

    noise: Array
    sampling: Array
    start: Array
    apart: Array
    slow: bool = False
    undoubted: Covariances | None = None
    typical: bool = False

    def errors(self, to_columns: Array, *, rows_over: float = 1.0) -> Array:
        """Standard errors of coefficients: 1.96 of them hold 95%. `rows_over`: a factor by which there are more rows."""
        every = self.noise + self.sampling / rows_over + self.start
        return _mixed(_diagonals(to_columns, every), self.apart @ to_columns.T)

    def wider(self, to_columns: Array) -> Array:
        """By what factor doubts about the curvature make the interval of each coefficient wider."""
        if self.undoubted is None:
            return np.ones(len(to_columns))
        return np.asarray(self.errors(to_columns) / np.maximum(self.undoubted.errors(to_columns), 1e-300))

    def left(self, to_columns: Array) -> Array:
        """Which part of each coefficient's variance is what it started with."""
        every, left = (_diagonals(to_columns, each) for each in (self.noise + self.sampling + self.start, self.start))
        if self.typical:
            return np.asarray(np.median(left, axis=0) / np.maximum(np.median(every, axis=0), 1e-300))
        return np.asarray(np.mean(left / np.maximum(every, 1e-300), axis=0))  # a single wild draw says little


def covariances(
    now: Filter,
    middle: Shape,
    shape: Shape,
    *,
    believed: Array,
    expected: Expected,
    rare: npt.NDArray[np.bool_],
    plenty: float,
    per_need: float,
    rows_of_a_person: float,
    constant: bool,
    tuning: Tuning,
) -> Covariances:
    """Of the position of a filter; `middle` is what the sandwich's middle is before any was released, `plenty` how many times
    the needed rows there are, and `per_need` the same where each tells as much as if both answers were as frequent.

    Rows of one person may all be alike, so that there are only as many independent ones as persons.
    """
    if now.at_tail:  # as few residuals as are near in the end
        now = replace(now, gains=tuple(replace(gain, slope=min(gain.slope, _last_slope(now))) for gain in now.gains))
    squares, inside = _middle(now, middle, expected.counts, tuning) * rows_of_a_person, _last_slope(now)
    drawn = _drawn(shape, tuning)
    if now.at_tail:
        drawn = drawn * _shares_drawn(now, tuning)
    rare = rare & (np.diag(shape.spread) > tuning.empty * np.diag(shape.mean))
    if rare.any():
        drawn = _maybe_empty(drawn, rare, tuning)
    unseen = max(1.0, tuning.unseen / max(per_need, 0.05)) ** 4 if constant else 1.0
    rests = known = _rests(now, drawn, shape.mean, tuning)
    left, apart, slow = rests, np.zeros((tuning.draws, now.position.size)), False
    doubt = 1.0 if now.few else min(max((tuning.ready - plenty) / (tuning.ready - tuning.many), 0.0), 1.0)
    if now.steps and doubt > 1e-3:
        tuning = replace(
            tuning, along=doubt * tuning.along, off_centre=doubt * tuning.off_centre, entries=doubt * tuning.entries
        )
        evidence = evidence_of(now, unseen * now.prior + np.outer(now.gone, now.gone), expected, tuning)
        turns = drawn_bends(evidence, shape.mean, now.position, constant=constant, tuning=tuning)
        factors = np.exp(0.5 * _unsure(now, shape, expected, tuning) * np.random.default_rng(1).normal(size=drawn.shape[:2]))
        rests = _rests(now, _turned(turns, drawn * factors[:, :, None] * factors[:, None, :]), shape.mean, tuning)
        found = evidence.roots(_turned(turns, shape.mean)).positions
        slow = corrected(evidence, shape.mean, now.position, constant=constant, tuning=tuning).clearly
        apart = found - (now.position if slow else evidence.roots(shape.mean[None]).positions)  # corrected steps went too far
        left = rests if slow else left
    elif constant and now.curvature.precision == 0.0:
        rests = _rests(now, _tilted(drawn, tuning), shape.mean, tuning)
    if not now.steps:
        unsure = now.curvature.precision == 0.0 and tuning.bends > 0.0
        left = _rests(now, _bent(drawn, tuning) if unsure else drawn, shape.mean, tuning, of_start=True)
    rest = np.broadcast_to(np.eye(now.position.size), drawn.shape)
    for each in left:
        rest = each @ rest
    before = unseen * believed + tuning.start_found * np.outer(now.gone, now.gone)
    start = _turned(rest, before)
    surely = 1.0 - doubt if now.steps else 1.0  # what is doubted is in the mixture, and need not be added
    wide = 1.0 + (tuning.wide - 1.0) * surely + tuning.widen / max(plenty, 0.5)
    noise, sampling = (wide * each for each in _of_steps(now, rests, squares, inside))
    made = Covariances(noise=noise, sampling=sampling, start=start * wide, apart=apart, slow=slow, typical=now.at_tail)
    if rests is known or not now.steps:
        return made
    noise, sampling = (wide * each for each in _of_steps(now, known, squares, inside))
    return replace(made, undoubted=replace(made, noise=noise, sampling=sampling, apart=np.zeros_like(apart)))


def _of_steps(now: Filter, rests: list[Array], squares: Array, inside: float) -> tuple[Array, Array]:
    """Covariances of what noise and sampling added, step by step."""
    noise = answers = np.zeros((1, *now.prior.shape))
    for gain, rest in zip(now.gains, rests, strict=True):
        noise = _turned(rest, noise) + gain.added
        answers = rest @ answers + gain.matrix * (gain.slope / max(inside, 1e-300))
    return noise, _turned(answers, squares)


def _unsure(now: Filter, shape: Shape, expected: Expected, tuning: Tuning) -> Array:
    """How far each coordinate of the curvature may be from what the shape says, as a part of it."""
    scattered = np.diag(from_scatter(scatter_of(now, expected, tuning), expected, tuning).mean)
    seen = seen_curvature(now, expected) if now.curvature.precision > 0.0 else None
    told, spread = (None, 1.0) if seen is None else (np.diag(seen.matrix), seen.spread)
    unsure = told_factors(scattered, told, spread, tuning)[1]
    return np.asarray(np.minimum(unsure, _MOST_UNSURE))


_MOST_UNSURE = 0.3
"""Draws are no further apart: the tails of what is believed of an entry are for what is seen of it."""


def _rests(now: Filter, drawn: Array, mean: Array, tuning: Tuning, *, of_start: bool = False) -> list[Array]:
    """What each step left of an error, for every curvature drawn. A step with a shape of its own: drawn as far from that.

    What is left of the start is far from a step's position, so it met the curvature between there and the truth: that of the
    last position, which is between them.
    """
    root, inverse_root = roots(drawn)
    least = roots(mean)[1]
    identity, found = np.eye(now.position.size), []
    for gain in now.gains:
        if gain.shape is not None and not of_start:
            root, inverse_root = roots(_turned(roots(gain.shape)[0] @ least, drawn))
        made = root @ (gain.matrix * gain.slope) @ root
        parts, turned = eigen(made)  # of its symmetric part; a gain has another, which moves what is known by what is hidden
        kept = made - of_eigen(np.maximum(parts - tuning.overshoot, 0.0), turned)  # steps beyond that were damped
        found.append(identity - inverse_root @ kept @ root)
    return found


def expected_middle(now: Filter, scatter: Shape) -> Shape:
    """The sum of squared scores times w w', for normal residuals or as many ties as were seen."""
    squared = 1.0 - now.near_share if now.tied else now.score.mean_square(now.threshold / now.scale)
    return Shape(mean=squared * scatter.mean, spread=np.zeros_like(scatter.mean))


def _middle(now: Filter, base: Shape, counts: Array, tuning: Tuning) -> Array:
    if now.middle.precision == 0.0:
        return base.mean
    return blended(now.middle.mean, base, now.middle.spread, tuning, counts=counts).mean


def _last_slope(now: Filter) -> float:
    """h of the last step: a constant added to all gradients at the threshold k moves the position by the sum of K h over it."""
    return now.gains[-1].slope if now.gains else 1.0


def _drawn(shape: Shape, tuning: Tuning) -> Array:
    """Shapes that are likely; always the same draws, because post-processing needs no fresh noise.

    Diagonals are drawn coordinate by coordinate; the rest as matrices near the mean, which stay positive.
    """
    size = shape.mean.shape[0]
    drawn = np.random.default_rng(0).normal(size=(tuning.draws, size, size))
    drawn = np.triu(drawn) + np.triu(drawn, 1).swapaxes(1, 2)
    diagonal = np.maximum(np.diag(shape.mean), 1e-300)
    factors = 1.0 + np.diagonal(drawn, axis1=1, axis2=2) * np.diag(shape.spread) / diagonal
    factors = np.sqrt(np.maximum(factors, tuning.least_curve))
    products = np.sqrt(np.outer(diagonal, diagonal))
    values, vectors = eigen(shape.mean / products)
    roots = np.sqrt(np.maximum(values, 1e-12))
    half, inverse_half = of_eigen(roots, vectors), of_eigen(1.0 / roots, vectors)
    apart = tuning.draw_width * shape.spread * drawn * (1.0 - np.eye(size)) / products
    parts, turned = eigen(inverse_half @ apart @ inverse_half)
    least = 1.0 - tuning.cut
    below = least / (2.0 - (1.0 + np.minimum(parts, -tuning.cut)) / least)
    parts = np.where(parts > -tuning.cut, 1.0 + parts, below)  # 1 + parts, but positive
    made = half @ of_eigen(parts, turned) @ half
    return np.asarray(made * products * factors[:, :, None] * factors[:, None, :])


def _shares_drawn(now: Filter, tuning: Tuning) -> Array:
    """By what factor more residuals are near the line than was told: as unsure as that is."""
    from scipy.special import ndtri

    places = (np.random.default_rng(4).permutation(tuning.draws) + 0.5) / tuning.draws
    factors = 1.0 + now.near_unsure * np.asarray(ndtri(places))
    return np.maximum(factors, tuning.least_curve)[:, None, None]


def _maybe_empty(drawn: Array, rare: npt.NDArray[np.bool_], tuning: Tuning) -> Array:
    """The same where, in every other draw, levels whose count the noise hides have hardly any rows."""
    factors = np.ones(drawn.shape[:2])
    factors[::2, rare] = np.sqrt(tuning.least_curve)
    return np.asarray(drawn * factors[:, :, None] * factors[:, None, :])


def _tilted(drawn: Array, tuning: Tuning) -> Array:
    """The same where residuals may be larger on one side of the middle than on the other, which no scatter tells: rows with
    small ones have more curvature, so its centre is not that of the rows, and the constant (the last) is known less.
    """
    size = drawn.shape[1]
    values, vectors = eigen(drawn[:, :-1, :-1])
    tilts = np.random.default_rng(1).normal(size=(tuning.draws, size - 1, 1)) * (tuning.tilt / np.sqrt(max(size - 1, 1)))
    tilts = of_eigen(np.sqrt(np.maximum(values, 0.0)), vectors) @ tilts
    by = np.broadcast_to(np.eye(size), drawn.shape).copy()
    by[:, :-1, -1] = tilts[:, :, 0] / np.sqrt(np.maximum(drawn[:, -1:, -1], 1e-300))
    return _turned(by, drawn)


def _bent(drawn: Array, tuning: Tuning) -> Array:
    """The same where the curvature is not what a scatter tells at normal rows: more in some directions, less in others."""
    apart = np.random.default_rng(2).normal(size=drawn.shape)
    apart = (np.triu(apart) + np.triu(apart, 1).swapaxes(1, 2)) * tuning.bends
    diagonal = np.arange(drawn.shape[1])
    apart[:, diagonal, diagonal] *= tuning.entries / max(tuning.bends, 1e-9)
    values, vectors = eigen(apart)
    root = roots(drawn)[0]
    return np.asarray(root @ of_eigen(np.exp(values), vectors) @ root)


def _turned(by: Array, matrices: Array) -> Array:
    return np.asarray(by @ matrices @ by.swapaxes(-1, -2))


def _diagonals(to_columns: Array, matrices: Array) -> Array:
    """Variances of coefficients, one row a draw."""
    return np.asarray(np.maximum(np.einsum("ij,djk,ik->di", to_columns, matrices, to_columns), 0.0))


def _mixed(variances: Array, centres: Array) -> Array:
    """For each coefficient the error with which 1.96 of them hold 95% of a mixture of normals: one row a draw."""
    from scipy.special import ndtr

    spreads = np.sqrt(np.clip(variances, 1e-300, 1e200))
    centres = np.nan_to_num(np.clip(centres, -1e100, 1e100), nan=0.0)
    low, high = np.zeros(spreads.shape[1]), np.max(np.abs(centres) + 2.5 * spreads, axis=0)
    wanted = 2.0 * float(ndtr(1.96)) - 1.0
    for _ in range(48):
        middle = (low + high) / 2.0
        held = np.mean(ndtr((middle - centres) / spreads) - ndtr((-middle - centres) / spreads), axis=0) > wanted
        low, high = np.where(held, low, middle), np.where(held, middle, high)
    return np.asarray(high / 1.96)
