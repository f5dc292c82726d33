"""The steps' filter: a matrix Kalman filter for the position, with the scale of residuals and the shapes carried along.

Post-processing of released values, finite whatever they are.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.evidence import CurvatureEvidence, Step, corrected
from dpkit_irls.bounded.expected_shapes import Expected
from dpkit_irls.bounded.kalman import inflated, innovation, solve_positive, surprise_of, symmetric, tame
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.schedule import Schedule
from dpkit_irls.bounded.shapes import Pooled, Seen, Shape, blended, by_block, by_entries, eigen, floored, of_eigen
from dpkit_irls.bounded.step_query import Carried, Mix, StepSums
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array
from dpkit_irls.loss import BISQUARE, HUBER, RobustScore, is_tail


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gain:
    """A step that was made: its gain, the slope that goes with the shape of the curvature, and the variance that it added.

    `shape` is that of the curvature where the step was made, if it changes from step to step.
    """

    matrix: Array
    slope: float
    added: Array
    shape: Array | None = None

    def turned(self, turn: Array, back: Array) -> Gain:
        """In turned coordinates; `back` is the inverse's transpose."""
        shape = None if self.shape is None else turn @ self.shape @ turn.T
        return replace(self, matrix=back @ self.matrix @ back.T, added=tame(back @ self.added @ back.T), shape=shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filter:
    """Where the steps are. `prior` is the variance they started with, in the present frame; `spread` is the target's. With
    `few` rows the curvature is told by all gradients together, so `steps` are kept; with a link
    `looks` are, to be weighed again. The scale is `settled` where residuals were
    most of what the last step saw; `probed`: that there are no ties.
    """

    position: Array
    last: Array
    variance: Array
    prior: Array
    spread: float
    scale: float
    threshold: float
    scatter: Pooled
    curvature: Pooled
    middle: Pooled
    score: RobustScore = HUBER
    gains: tuple[Gain, ...] = ()
    steps: tuple[Step, ...] = ()
    looks: tuple[Step, ...] = ()
    scales: tuple[float, ...] = ()
    near_share: float = 0.5
    settled: bool = True
    probed: bool = False
    few: bool = False
    tied: bool = False
    tied_steps: int = 0
    begun: Array | None = None
    at_tail: bool = False
    nears: tuple[tuple[float, float], ...] = ()
    near_unsure: float = 0.0

    @property
    def gone(self) -> Array:
        """How far steps went from where they began."""
        return self.position if self.begun is None else np.asarray(self.position - self.begun)

    @property
    def turn(self) -> int:
        """How many steps were made."""
        return len(self.scales)

    def fitted_spread(self, scatter: Array, expected: Expected) -> float:
        """Of the target, as the fit tells it: that of the signal and of the residuals."""
        signal = float(self.position @ _metric(scatter, expected) @ self.position)
        return math.sqrt(max(signal, 0.0) + self.scale**2)


def used_threshold(now: Filter, schedule: Schedule, least: float) -> float:
    """k of the estimand as it is known: fixed from a step on, and by the target's spread where there are ties."""
    if now.tied:
        return max(1.345 * now.spread, least)
    per = schedule.redescended if now.score == BISQUARE else schedule.threshold
    per *= max(2.0 * 0.8 ** len(now.nears), 1.0) if now.at_tail else 1.0
    return now.threshold if now.turn > schedule.fixed_from else max(per * now.scale, least)


def scored_by(now: Filter, score: RobustScore, schedule: Schedule) -> Filter:
    """With the score of the next step: Tukey's has several roots, so steps come to it from Huber's fit, and not with ties."""
    if is_tail(score):
        return replace(now, score=score if now.at_tail or now.tied or schedule.tail_from <= 0 else HUBER)
    waits = score == BISQUARE and (now.tied or now.turn < schedule.redescends_from)
    return replace(now, score=HUBER if waits else score)


def ridge_slope(now: Filter, schedule: Schedule, threshold: float) -> float:
    """The slope that a ridge is measured by: that of the score, on average over residuals of the scale that is aimed at."""
    per = schedule.redescended if now.score == BISQUARE else schedule.threshold
    return (1.0 if now.tied else now.score.inside(per)) / threshold


def is_probe(now: Filter, schedule: Schedule) -> bool:
    """Whether the next step looks for ties, with a quarter of the threshold. With many rows that waits for a settled scale:
    after a signal far larger than the residuals, these are smaller than was seen, which looks like ties.
    """
    if now.tied or now.probed or now.at_tail:
        return False
    last = schedule.probe if schedule.few else max(schedule.probe, schedule.fixed_from - 2)
    return (now.settled or schedule.few) and 0 <= schedule.probe <= now.turn <= last


def shapes_of(now: Filter, expected: Expected, tuning: Tuning) -> tuple[Shape, Shape]:
    """The sum of w w', and the sum of w z', which is the curvature up to the share of small residuals."""
    scatter = scatter_of(now, expected, tuning)
    shape = from_scatter(scatter, expected, tuning)
    if now.curvature.precision > 0.0:
        seen = seen_curvature(now, expected)
        if now.few:
            return scatter, by_entries(shape, seen, tuning)
        shape = blended(seen.matrix, shape, seen.spread, tuning, counts=expected.counts)
    return scatter, shape


def seen_curvature(now: Filter, expected: Expected) -> Seen:
    """The released curvatures together, in the units of a shape."""
    per = max(now.curvature.near / max(now.curvature.precision, 1e-300) / expected.total, 0.1)
    if now.at_tail:
        per = max(now.near_share, 1e-6)
    return Seen(matrix=now.curvature.mean * (expected.far / per), spread=now.curvature.spread * (expected.far / per))


def evidence_of(now: Filter, prior: Array, expected: Expected, tuning: Tuning) -> CurvatureEvidence:
    """What the steps tell."""
    seen = seen_curvature(now, expected) if now.curvature.precision > 0.0 else None
    begun, steps = now.begun, now.steps
    if begun is not None:
        steps = tuple(replace(step, position=step.position - begun) for step in steps)
    return CurvatureEvidence.of(steps, prior, now.threshold, seen, tuning)


def _metric(scatter: Array, expected: Expected) -> Array:
    """The squared size of a position: the mean square of what it predicts."""
    return np.asarray(scatter * max(expected.near, expected.length) ** 2 / expected.total)


def entry_spreads(now: Filter, frame: Frame, expected: Expected, tuning: Tuning) -> Array:
    """The standard deviations of the entries of x, in the columns' units, as scatters tell them."""
    back = np.linalg.pinv(frame.preconditioner)
    moments = back.T @ _metric(scatter_of(now, expected, tuning).mean, expected) @ back
    squares = np.diag(moments).copy()
    if frame.intercept:
        squares = (squares - moments[-1] ** 2 / max(float(moments[-1, -1]), 1e-300))[:-1]
    return np.asarray(np.sqrt(np.maximum(squares, 1e-12)) * np.array(frame.units))


def scatter_of(now: Filter, expected: Expected, tuning: Tuning) -> Shape:
    """The sum of w w', with a trace of at most the number of rows."""
    scatter = blended(now.scatter.mean, expected.scatter, now.scatter.spread, tuning)
    most = min(1.0, expected.total / max(float(np.trace(scatter.mean)), 1e-300))
    return Shape(mean=scatter.mean * most, spread=scatter.spread)


def from_scatter(scatter: Shape, expected: Expected, tuning: Tuning) -> Shape:
    """The sum of w z' as the scatter tells it."""
    return scatter.scaled(np.outer(expected.ratio, expected.ratio) * tuning.overlap)


def _inside(now: Filter, share: float, ratio: float, scatter: Array) -> float:
    """The share of residuals below the threshold: of normal ones of this ratio. With ties residuals have no law, and their mean
    nearness n (the share) and mean square s of scores tell it: inside, the mean of n is about 1 - 0.6 that of s^2.
    """
    if now.at_tail and not now.tied:  # about evenly spread within so short a way
        return min(share * now.score.inside(ratio) / max(now.score.share_near(ratio), 1e-300), 1.0)
    if not now.tied:
        return now.score.inside(ratio)
    most = min(1.0, share * 4.0 / math.pi)  # evenly spread
    if now.middle.precision == 0.0:
        return min(1.0, 1.15 * share)
    squares = float(np.trace(now.middle.mean)) / max(float(np.trace(scatter)), 1e-300)
    return min(max((share - 0.6 * (1.0 - squares)) / 0.4, min(share, most)), most)


def moved(
    now: Filter,
    sums: StepSums,
    mix: Mix,
    noise: float,
    *,
    threshold: float,
    expected: Expected,
    schedule: Schedule,
    tuning: Tuning,
    constant: bool,
    pull: Array,
) -> Filter:
    """After a step at this threshold, whose entries had noise of this sd; `pull` is what a ridge adds to the curvature."""
    now = _with_matrix(now, sums, mix, noise)
    total, near_noise = expected.total, noise / mix.near
    share = min(max(sums.near / total, 0.05, near_noise / total), 0.97)
    probe = is_probe(now, schedule)
    if now.turn == schedule.fixed_from or (now.turn == schedule.redescends_from and now.score == BISQUARE):
        now = replace(now, variance=now.variance * tuning.forget)
    here = threshold / 4.0 if probe else threshold
    told = (sums.near / total, near_noise / total)
    if now.at_tail:
        normal = now.score.share_near(here / now.scale)
        share, unsure_share = near_told(now, *told, here, tuning)
        nears = (*now.nears, (told[0] / normal, told[1] / normal))
        now = replace(now, near_share=share, near_unsure=unsure_share / share, nears=nears)
    ratio = here / now.scale if now.at_tail else now.score.ratio_of_share(share)
    seen = here / ratio
    scatter, shape = shapes_of(now, expected, tuning)
    slope = _inside(now, share, ratio, scatter.mean) / here
    shape = Shape(mean=shape.mean + pull / slope, spread=shape.spread)
    metric, gradient = _metric(scatter.mean, expected), sums.gradient - pull @ now.position
    whole = from_scatter(scatter, expected, tuning).mean + pull / slope
    curvature, variance = slope * shape.mean, now.variance
    if now.curvature.precision > 0.0 and not now.few:  # rows beyond the threshold have none yet; do not overshoot them
        curvature = slope * _at_least(shape.mean, whole, tuning.least_of_scatter)
    unsure = slope * np.hypot(shape.spread, now.near_unsure * shape.mean)
    surprise = surprise_of(variance, curvature, gradient, noise, unsure)
    if surprise > tuning.surprise:  # far off: the variance was too small, and rows out of reach hide the curvature
        variance = variance * min(2.0 * surprise / tuning.surprise, 1e4)
        if now.curvature.precision > 0.0 and not now.few:
            curvature = whole / here  # that of all rows, which is larger
    gain = solve_positive(innovation(variance, curvature, noise, unsure), curvature @ variance).T
    move = damped(gain @ gradient, now, metric, tuning)
    after = inflated(symmetric(variance - gain @ curvature @ variance), variance, tuning.inflation)
    if now.at_tail:  # residuals get rarer on the way, so a step falls short
        after = after + tuning.tail_short**2 * np.outer(move, move)
    explained = surprise <= tuning.surprise
    settled = explained and float(np.sum(metric * now.variance)) < 0.5 * seen * seen
    scale = now.scale
    if not now.tied and not probe and not now.at_tail:
        gained = float(np.sum(metric * (variance - after))) if explained else 0.0
        low = min(max(float(np.sum(metric * after)), 0.0), seen * seen)
        scale = math.sqrt(max(seen * seen - gained, low, (scale / 6.0) ** 2))
    made = Gain(matrix=gain, slope=slope, added=noise * noise * gain @ gain.T)
    step = Step(position=now.position, gradient=gradient, noise=noise * noise * np.eye(len(gain)), threshold=here, slope=slope)
    excess = share - 3.0 * near_noise / total
    following = replace(
        now,
        position=tame(now.position + move),
        last=tame(move),
        variance=tame(after),
        scale=min(max(scale, 1e-150), 1e150),
        threshold=threshold,
        gains=(*now.gains, made),
        steps=(*now.steps, step),
        near_share=share,
        settled=settled,
        probed=now.probed or probe,
        tied_steps=_tied_steps(now, excess, schedule, tuning, probe=probe),
    )
    following = _corrected(following, shape.mean, expected, metric, tuning, constant=constant)
    found = _ties(following, metric, excess, here, schedule, tuning, probe=probe and explained)
    following = _restarted(following) if found else following
    return replace(following, scales=(*now.scales, following.scale))


def _corrected(now: Filter, shape: Array, expected: Expected, metric: Array, tuning: Tuning, *, constant: bool) -> Filter:
    """With few rows: where gradients tell that the curvature is smaller than its shape says, the step goes on, and the variance
    is larger.
    """
    if not now.few or len(now.steps) < tuning.correct_from:
        return now
    evidence = evidence_of(now, now.prior + np.outer(now.gone, now.gone), expected, tuning)
    found = corrected(evidence, shape, now.position, constant=constant, tuning=tuning)
    reach = math.sqrt(max(float(found.further @ metric @ found.further), 0.0)) / now.scale
    if reach < tuning.correct_least:
        return now
    further = found.further * min(1.0, tuning.trust / reach)
    return replace(now, position=tame(now.position + further), last=tame(now.last + further), variance=tame(found.variance))


def renewed(now: Filter, turn: Array, *, blocks: int = 1) -> Filter:
    """In coordinates turned by this matrix: positions turn by its inverse's transpose. Unchanged where that is not found.

    Positions of several `blocks` turn block by block.
    """
    try:
        back: Array = np.asarray(np.linalg.inv(turn).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        back = np.eye(turn.shape[0])

    def both(matrix: Array) -> Array:
        return tame(back @ matrix @ back.T)

    scatter = now.scatter.faded(0.7)
    turned = scatter.turned(turn)
    if blocks > 1:
        turn, back = by_block(turn, blocks), by_block(back, blocks)
    size = float(np.trace(turned.total))
    turned = turned.times(float(np.trace(scatter.total)) / size if abs(size) > 1e-300 else 1.0)
    return replace(
        now,
        position=tame(back @ now.position),
        last=tame(back @ now.last),
        begun=None if now.begun is None else tame(back @ now.begun),
        variance=both(now.variance),
        prior=both(now.prior),
        scatter=turned,
        curvature=now.curvature.turned(turn),
        middle=now.middle.turned(turn),
        gains=tuple(gain.turned(turn, back) for gain in now.gains),
        steps=tuple(step.turned(turn, back) for step in now.steps),
        looks=tuple(look.turned(turn, back) for look in now.looks),
    )


def near_told(now: Filter, share: float, noise: float, threshold: float, tuning: Tuning) -> tuple[float, float]:
    """At a quantile away from the middle: the share of residuals near the line, and how unsure that is, by all steps there.

    Late ones count more. Before them it is that of normal residuals, up to a part `near_believed`.
    """
    normal = now.score.share_near(threshold / now.scale)
    weights = sums = tuning.near_believed**-2.0
    for age, (each, spread) in enumerate(reversed((*now.nears, (share / normal, noise / normal)))):
        weight = tuning.near_fades**age / spread**2
        weights, sums = weights + weight, sums + weight * each
    unsure = float(weights**-0.5)
    return min(normal * max(float(sums / weights), 0.1, 0.7 * unsure), 0.97), normal * unsure


def _with_matrix(now: Filter, sums: StepSums, mix: Mix, noise: float) -> Filter:
    spread = noise / mix.diagonal
    if mix.carried is Carried.SCATTER:
        return replace(now, scatter=now.scatter.plus(sums.matrix, spread))
    if mix.carried is Carried.CURVATURE:
        return replace(now, curvature=now.curvature.plus(sums.matrix, spread, sums.near))
    return replace(now, middle=now.middle.plus(sums.matrix, spread))


def _at_least(shape: Array, scatter: Array, least: float) -> Array:
    """The shape, in every direction at least this share of what the scatter of all rows says."""
    values, vectors = eigen(scatter)
    roots = np.sqrt(np.maximum(values, 1e-12 * max(float(np.sum(np.abs(values))), 1e-300)))
    half, inverse = of_eigen(roots, vectors), of_eigen(1.0 / roots, vectors)
    return np.asarray(half @ floored(inverse @ shape @ inverse, least) @ half)


def damped(move: Array, now: Filter, metric: Array, tuning: Tuning) -> Array:
    """Within the trust region; a step that turns back has overshot (the curvature is that of small residuals) and is cut."""

    def size(step: Array) -> float:
        return math.sqrt(max(float(step @ metric @ step), 0.0))

    reach = size(move)
    if reach > tuning.trust * now.scale:
        move = move * (tuning.trust * now.scale / reach)
    before, after = size(now.last), size(move)
    turns = float(move @ metric @ now.last) < -0.5 * before * after
    return move * (tuning.turning * before / after) if turns and after > tuning.turning * before else move


def _tied_steps(now: Filter, excess: float, schedule: Schedule, tuning: Tuning, *, probe: bool) -> int:
    """For how many steps too many residuals were too small."""
    looked = not now.tied and not probe and 0 < now.turn < schedule.fixed_from and now.score != BISQUARE
    return now.tied_steps + 1 if looked and excess > now.score.share_near(schedule.threshold) + tuning.tie_share else 0


def _ties(now: Filter, metric: Array, excess: float, here: float, schedule: Schedule, tuning: Tuning, *, probe: bool) -> bool:
    """Whether many targets are equal: residuals pile up near zero, or the scale falls where it should stand."""
    if now.tied:
        return False
    atom = probe and excess > now.score.share_near(here / now.scale) + tuning.atom
    fitted = float(now.position @ metric @ now.position) + now.scale**2
    return atom or now.tied_steps >= tuning.tie_steps or (_falls(now, schedule) and fitted < (now.spread / 3.0) ** 2)


def _falls(now: Filter, schedule: Schedule) -> bool:
    if schedule.few:
        if now.turn <= schedule.probe + 2:
            return False
        return max(now.scale, now.scales[-1]) < 0.5 * min(now.scales[schedule.probe - 2 : schedule.probe + 1])
    return now.turn == schedule.fixed_from - 1 and now.turn >= 2 and now.scale < 0.5 * now.scales[now.turn - 2]


def _restarted(now: Filter) -> Filter:
    """From the beginning, at the target's spread."""
    size = now.position.size
    return replace(
        now,
        position=np.zeros(size),
        last=np.zeros(size),
        variance=now.prior,
        scale=now.spread,
        curvature=Pooled.none(size),
        middle=Pooled.none(size),
        gains=(),
        steps=(),
        tied=True,
    )
