"""The steps' filter for families with a link: the curvature is that of the family's law at the predictors, so no threshold, no
scale of residuals and no ties. Post-processing of released values, finite whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.evidence import Step
from dpkit_irls.bounded.expected_shapes import Expected
from dpkit_irls.bounded.filter import Filter, Gain, damped, from_scatter, scatter_of
from dpkit_irls.bounded.kalman import inflated, innovation, solve_positive, surprise_of, symmetric, tame
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.schedule import Schedule
from dpkit_irls.bounded.shapes import Shape, blended_along, floored, inverse, roots
from dpkit_irls.bounded.step_query import Carried, Mix, StepSums
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.count_law import count_law
from dpkit_irls.fit import Array, solved
from dpkit_irls.loss import LinkScore


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPredictors:
    """Of rows of the level of one coordinate, a dummy: how far their mean is from that of all rows, their variance, and which
    part of the dummy's square they make.
    """

    place: int
    apart: float
    variance: float
    part: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictors:
    """What is known of the predictors of rows: their mean, their variance, the position without the constant's part, and what
    a position of the constant alone is (zeros without one). `levels`: what is known among rows of a level alone.
    """

    mean: float
    variance: float
    direction: Array
    constant: Array
    levels: tuple[LevelPredictors, ...] = ()

    def moments(self, link: LinkScore, values: Array) -> tuple[float, float, float]:
        """The mean over normal predictors of one of a link's lists, the same times the deviation, and times its square."""
        nodes, weights = _normal_nodes()
        found = weights * link.looked_up(values, self.mean + math.sqrt(self.variance) * nodes)
        return float(np.sum(found)), float(nodes @ found), float(nodes**2 @ found)

    def of_levels(self, link: LinkScore, values: Array) -> Array:
        """How many times as much as all rows those of a coordinate's level weigh, by one of a link's lists; 1 for numbers."""
        nodes, weights = _normal_nodes()
        found, whole = np.ones(self.direction.size), self.moments(link, values)[0]
        for level in self.levels:
            places = self.mean + level.apart + math.sqrt(level.variance) * nodes
            told = float(weights @ link.looked_up(values, places)) / max(whole, 1e-300)
            found[level.place] = 1.0 + level.part * (told - 1.0)
        return found


@cache
def _normal_nodes() -> tuple[Array, Array]:
    """Where a mean over normal predictors is taken, and the weights, whose sum is one."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(48)
    return nodes, weights / np.sum(weights)


def predictors_at(position: Array, frame: Frame, metric: Array, noise: Array | None = None) -> Predictors:
    """Of rows with these second moments of z; the constant is the last entry of what the preconditioner turns. A position with
    this variance of noise looks longer than it is.
    """
    coefficients = frame.preconditioner @ position
    mean, constant = 0.0, np.zeros(position.size)
    if frame.intercept:
        mean, constant[-1] = float(coefficients[-1]), 1.0
        constant = solved(frame.preconditioner, constant, np.zeros(position.size))
    direction = position - mean * constant
    variance = min(max(float(direction @ metric @ direction), 0.0), 400.0)
    if noise is not None:
        variance -= min(max(float(np.sum(metric * noise)), 0.0), 0.75 * variance)
    levels = _levels(coefficients, frame, variance, noise)
    return Predictors(mean=min(max(mean, -1e3), 1e3), variance=variance, direction=direction, constant=constant, levels=levels)


def _levels(coefficients: Array, frame: Frame, variance: float, noise: Array | None) -> tuple[LevelPredictors, ...]:
    """Of each level's rows: without what levels of that category make predictors vary by, and with what its own effect may be
    off by.
    """
    if not any(frame.levels):
        return ()
    centres, units, found = np.array(frame.centres), np.array(frame.units), []
    unsure = np.zeros(coefficients.size) if noise is None else np.diag(frame.preconditioner @ noise @ frame.preconditioner.T)
    for category in Layout(levels=frame.levels, intercept=frame.intercept).categories:
        part = category.part
        effects, shares = coefficients[part] / units[part], centres[part]
        apart = np.clip(effects - float(effects @ shares), -1e3, 1e3)
        between = float(shares @ apart**2) + (1.0 - float(np.sum(shares))) * float(effects @ shares) ** 2
        within = max(variance - max(between, 0.0), 0.25 * variance)
        for place, off, share in zip(range(part.start, part.stop), apart, shares, strict=True):
            own = within + min(max(float(unsure[place]), 0.0) / units[place] ** 2, 4.0)
            found.append(LevelPredictors(place=place, apart=float(off), variance=own, part=1.0 - float(share)))
    return tuple(found)


def predictors_of(now: Filter, frame: Frame, expected: Expected, tuning: Tuning) -> Predictors:
    """Of a filter's position."""
    return predictors_at(now.position, frame, metric_of(scatter_of(now, expected, tuning), expected), _noise_in(now))


def lengthened(now: Filter, frame: Frame) -> Array:
    """What a position lacks in length because the start pulls it to zero, at most half of it.

    Steps of precision Q told values b, and a start of precision R at zero gave m with (Q + R) m = Q b. Of all multiples of m
    the one that fits b best, in the metric Q, is m (1 + m'Rm / m'Qm). Without noise that is m.
    """
    direction = predictors_at(now.position, frame, np.zeros_like(now.variance)).direction
    pulled = inverse(now.prior)
    whole = float(direction @ inverse(now.variance) @ direction)
    pull = float(direction @ pulled @ direction)
    return np.asarray(direction * min(max(pull, 0.0) / max(whole - pull, 2.0 * pull, 1e-300), 0.5))


def dispersion_error(link: LinkScore, seen: Predictors) -> float:
    """How far the constant may be off because a dispersion above 1 is found in steps of 2^(1/4): what half a step moves it by.

    The score is centred for the law of a dispersion, so another one moves the log-mean at which scores are 0 on average.
    """
    if link.nears is None or link.dispersion <= 1.0:
        return 0.0
    nodes, weights = _normal_nodes()
    places = np.clip(seen.mean + math.sqrt(seen.variance) * nodes, link.low, link.low + (link.middles.size - 1) / link.per)
    middles, widths, slopes = (link.looked_up(values, places) for values in (link.middles, link.widths, link.slopes))
    scores = []
    for place, middle, width in zip(places, middles, widths, strict=True):
        counts, shares = count_law(float(place), link.dispersion * 2.0**0.25)
        scores.append(float(shares @ np.clip((counts - middle) / width, -1.0, 1.0)))
    return 0.5 * abs(float(weights @ np.array(scores))) / max(float(weights @ slopes), 1e-300)


def bend_error(link: LinkScore, seen: Predictors, frame: Frame, metric: Array, left: Array) -> float:
    """How far the constant may be off because of effects that were not found. `left` is the variance of the position that is
    left of the start: by it predictors may vary among rows, more than a fit knows, by v.

    The mean of targets whose predictors vary by v around c is m(c + v m''/(2 m')), about: a fit that finds no effects answers
    that, so the constant is off by half of v m''/m'. That is v (1 - 2p)/2 for answers, and v/2 for counts.
    """
    back = np.linalg.pinv(frame.preconditioner)
    effects, rows = frame.preconditioner @ left @ frame.preconditioner.T, back.T @ metric @ back
    vary = max(float(np.sum(effects[:-1, :-1] * rows[:-1, :-1])), 0.0)
    place, step = min(max(seen.mean, link.low + 1.0), link.low + (link.middles.size - 1) / link.per - 1.0), 1.0 / 64.0
    below, here, above = (float(np.dot(*link.law(each))) for each in (place - step, place, place + step))
    bend = 2.0 * (above - 2.0 * here + below) / (step * max(above - below, 1e-300))
    return 0.5 * min(vary, 400.0) * min(abs(bend), 1.0)


def weighted_shape(base: Shape, seen: Predictors, link: LinkScore, values: Array) -> Shape:
    """A shape with the rows weighted by one of a link's lists, were predictors normal: what they weigh on average, more or
    less along the direction in which predictors vary, and as much as rows of its level do along a dummy.
    """
    mean, tilt, along = seen.moments(link, values)
    found = mean * base.mean
    turned, size = _with_size(base.mean, seen.direction)
    if size > 0.0 and seen.variance > 1e-9:
        found = found + (along - mean) * np.outer(turned, turned)
        crossed, size = _with_size(base.mean, seen.constant)
        if size > 0.0:
            found = found + tilt * (np.outer(turned, crossed) + np.outer(crossed, turned))
        found = _weighing(found, base.mean, _LEAST_WEIGHED * mean)
    told = np.sqrt(np.maximum(seen.of_levels(link, values), 1e-3))
    return Shape(mean=found, spread=base.spread * mean).scaled(np.outer(told, told))


_LEAST_WEIGHED = 0.01
"""No direction weighs less than that part of what rows weigh on average."""


def _weighing(found: Array, base: Array, least: float) -> Array:
    """A weighted shape, of at least that weight everywhere: predictors are not quite normal, and what follows from that may be
    no shape.
    """
    try:
        np.linalg.cholesky(found - least * base)  # it nearly always is, and this is the cheapest look
    except np.linalg.LinAlgError:
        root, inverse_root = roots(base)
        return np.asarray(root @ floored(inverse_root @ found @ inverse_root, least) @ root)
    return found


def _with_size(base: Array, direction: Array) -> tuple[Array, float]:
    """A direction turned by a shape, and its length in it: 0 where it is none."""
    turned = base @ direction
    size = math.sqrt(max(float(direction @ turned), 0.0))
    return turned / max(size, 1e-150), size if size > 1e-6 else 0.0


def metric_of(scatter: Shape, expected: Expected) -> Array:
    """The mean of z z', about: long rows are longer than the median tells, as much as normal ones are."""
    size = scatter.mean.shape[0]
    longer = (size + 1.0) / (size * (1.0 - 2.0 / (9.0 * size)) ** 3 + 1.0)
    return np.asarray(scatter.mean * (longer * max(expected.near, expected.length) ** 2 / expected.total))


def link_shapes(
    now: Filter, link: LinkScore, frame: Frame, expected: Expected, tuning: Tuning, pull: Array
) -> tuple[Shape, Shape, Shape]:
    """The sum of w w', the curvature over the steepest slope (with the pull of a ridge), and the middle as the law tells it."""
    scatter = scatter_of(now, expected, tuning)
    seen = predictors_at(now.position, frame, metric_of(scatter, expected), _noise_in(now))
    seen = replace(seen, levels=_unseen(seen.levels, now, expected, from_scatter(scatter, expected, tuning).mean))
    shape = weighted_shape(from_scatter(scatter, expected, tuning), seen, link, link.slopes / link.steepest)
    if now.curvature.precision > 0.0:
        found, spread = now.curvature.mean * expected.far, now.curvature.spread * expected.far
        plain = Layout(levels=frame.levels, intercept=frame.intercept).plain
        shape = blended_along(found, shape, spread, tuning, plain=plain, counts=expected.counts)
    shape = Shape(mean=shape.mean + pull, spread=shape.spread)
    return scatter, shape, weighted_shape(scatter, seen, link, link.squares)


def _unseen(levels: tuple[LevelPredictors, ...], now: Filter, expected: Expected, base: Array) -> tuple[LevelPredictors, ...]:
    """Levels whose released curvature the noise hides; where it is seen, it tells more than predictors do, and none before."""
    if now.curvature.precision == 0.0:
        return ()
    noise = (now.curvature.spread * expected.far) ** 2
    parts = [noise / max(noise + 0.01 * float(base[level.place, level.place]) ** 2, 1e-300) for level in levels]
    return tuple(replace(level, part=level.part * part) for level, part in zip(levels, parts, strict=True) if part > 0.1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surroundings:
    """What a step with a link was made in; `pull` is the curvature that a ridge adds."""

    link: LinkScore
    frame: Frame
    expected: Expected
    schedule: Schedule
    tuning: Tuning
    pull: Array


def moved_by_link(now: Filter, sums: StepSums, mix: Mix, noise: float, known: Surroundings) -> Filter:
    """After a step whose entries had noise of this sd."""
    link, frame, expected, schedule, tuning = known.link, known.frame, known.expected, known.schedule, known.tuning
    if now.turn == schedule.fixed_from or (schedule.fresh and now.turn):
        kept = 1.0 / tuning.forget  # of what was told, not of what is believed
        now = replace(now, variance=inverse(kept * inverse(now.variance) + (1.0 - kept) * inverse(now.prior)))
    older = 0.0 if schedule.fresh else tuning.older
    now, noise = _with_matrix(now, sums, mix, noise, older), noise / mix.gradient
    slope, gradient = link.steepest, sums.gradient - known.pull @ now.position
    scatter, shape, _ = link_shapes(now, link, frame, expected, tuning, known.pull / slope)
    metric, variance, curve = metric_of(scatter, expected), now.variance, shape.mean
    surprise = surprise_of(variance, slope * curve, gradient, noise)
    if surprise > tuning.surprise:  # far off: the variance was too small
        variance = variance * min(2.0 * surprise / tuning.surprise, 1e4)
    gain = here = _gain(variance, slope * curve, noise)
    for _ in range(tuning.middles):  # the curvature changes along a step: that in its middle counts
        middle = now.position + _moved_by(gain @ gradient, now, metric, known) / 2.0
        unsure = (_noise_in(now) + noise * noise * gain @ gain.T) / 2.0
        curve = _moved_shape(shape.mean, scatter, (now.position, _noise_in(now)), (middle, unsure), known)
        gain = _gain(variance, slope * curve, noise)
    if schedule.fresh and _runs_away(gain @ gradient, here @ gradient, shape.mean):
        curve = shape.mean / _LONGEST
        gain = _gain(variance, slope * curve, noise)
    move = _moved_by(gain @ gradient, now, metric, known)
    inflation = 0.0 if schedule.few else tuning.inflation  # each of few rows counts as much, however early it was seen
    after = inflated(symmetric(variance - slope * gain @ curve @ variance), variance, inflation)
    added = noise * noise * np.eye(len(gain))
    look = Step(position=now.position, gradient=gradient, noise=added, threshold=1.0, slope=slope, link=link)
    moved = replace(
        now,
        position=tame(now.position + move),
        last=tame(move),
        variance=tame(after + _bent(now.position, move, metric, known)),
        gains=(*now.gains, Gain(matrix=gain, slope=slope, added=noise * noise * gain @ gain.T, shape=curve)),
        scales=(*now.scales, now.scale),
        looks=(*now.looks, look) if schedule.few else (),
    )
    again = schedule.few and (now.turn in schedule.renewed or moved.turn == len(schedule.carried))
    return _weighed_again(moved, known) if again else moved


_LONGEST = 2.5
"""So many times as far as the curvature says where it was measured, a step may go for becoming flatter along the way."""


def _runs_away(move: Array, local: Array, curve: Array) -> bool:
    """Whether a step goes much further than the curvature says that was measured where it begins: normal predictors, of which
    the law makes a curvature along the way, may be far from what predictors are.
    """
    return float(move @ curve @ move) > _LONGEST**2 * float(local @ curve @ local)


def _weighed_again(now: Filter, known: Surroundings) -> Filter:
    """The same looks with the curvature as it is known now: early ones took rows to be alike in all directions, and counted for
    more, or less, than they tell.
    """
    scatter, shape, _ = link_shapes(
        now, known.link, known.frame, known.expected, known.tuning, known.pull / known.link.steepest
    )
    here, unsure = (now.position, now.variance), now.variance / 2.0
    middles = ((look.position + now.position) / 2.0 for look in now.looks)
    curves = [
        _moved_shape(shape.mean, scatter, here, (middle, unsure), known, look.link)
        for middle, look in zip(middles, now.looks, strict=True)
    ]
    position, variance, gains = weighed(now.looks, curves, now.prior)
    apart = position - now.position
    if not float(apart @ metric_of(scatter, known.expected) @ apart) <= known.tuning.again**2:
        return now  # that far no curvature is known
    return replace(now, position=position, variance=variance, gains=gains)


def weighed(looks: Sequence[Step], curves: Sequence[Array], prior: Array) -> tuple[Array, Array, tuple[Gain, ...]]:
    """The position, its variance and the gains by looks with these curvatures (over their slopes), from the first one on."""
    position, variance, gains = looks[0].position, prior, []
    for look, curve in zip(looks, curves, strict=True):
        turned = look.slope * curve @ variance
        gain = solve_positive(symmetric(turned @ (look.slope * curve)) + look.noise, turned).T
        position = tame(position + gain @ (look.gradient + look.slope * curve @ (look.position - position)))
        variance = tame(symmetric(variance - gain @ turned))
        gains.append(Gain(matrix=gain, slope=look.slope, added=gain @ look.noise @ gain.T, shape=curve))
    return position, variance, tuple(gains)


def _moved_by(move: Array, now: Filter, metric: Array, known: Surroundings) -> Array:
    """A step within the trust region. Among few rows noise turns steps back, which does not say that they overshot."""
    return damped(move, replace(now, last=np.zeros_like(now.last)) if known.schedule.few else now, metric, known.tuning)


def _gain(variance: Array, curvature: Array, noise: float) -> Array:
    return solve_positive(innovation(variance, curvature, noise), curvature @ variance).T


def _bent(here: Array, move: Array, metric: Array, known: Surroundings) -> Array:
    """What a step may be off by because the curvature changed along it, in every direction alike."""
    link, size = known.link, max(float(move @ metric @ move), 0.0)
    before, after = (predictors_at(each, known.frame, metric).moments(link, link.slopes)[2] for each in (here, here + move))
    part = known.tuning.bent * min(abs(1.0 - after / max(before, 1e-300)), 1.0)
    return np.asarray(part * part * size / here.size * roots(metric)[1] @ roots(metric)[1])


def _noise_in(now: Filter) -> Array:
    """The variance of noise in the position: none where the steps start."""
    return now.variance if now.turn else np.zeros_like(now.variance)


def _moved_shape(
    shape: Array,
    scatter: Shape,
    here: tuple[Array, Array],
    there: tuple[Array, Array],
    known: Surroundings,
    other: LinkScore | None = None,
) -> Array:
    """A curvature as it is expected to be at another position, by the link that was used there; each with the noise in it."""
    base, metric = from_scatter(scatter, known.expected, known.tuning), metric_of(scatter, known.expected)
    before, after = (
        weighted_shape(
            base, replace(predictors_at(at[0], known.frame, metric, at[1]), levels=()), link, link.slopes / link.steepest
        ).mean
        + known.pull / link.steepest
        for at, link in ((here, known.link), (there, other or known.link))
    )
    turn = roots(after)[0] @ roots(before)[1]
    return np.asarray(turn @ shape @ turn.T)


def _with_matrix(now: Filter, sums: StepSums, mix: Mix, noise: float, older: float) -> Filter:
    """Curvatures and middles change with the position: older ones count for less."""
    spread = noise / mix.diagonal
    if mix.carried is Carried.SCATTER:
        return replace(now, scatter=now.scatter.plus(sums.matrix, spread))
    if mix.carried is Carried.WEIGHTED:
        return replace(now, curvature=now.curvature.faded(older).plus(sums.matrix, spread))
    return replace(now, middle=now.middle.faded(older).plus(sums.matrix, spread))
