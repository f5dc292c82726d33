"""The steps' filter: a matrix Kalman filter for the position, with the scale of residuals and the shapes carried along.

Post-processing of released values, finite whatever they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpkit_irls.bounded.expected_shapes import Expected
from dpkit_irls.bounded.schedule import Schedule
from dpkit_irls.bounded.shapes import Pooled, Shape, blended, eigen, floored, of_eigen
from dpkit_irls.bounded.step_query import Carried, Mix, StepSums
from dpkit_irls.bounded.tuning import Tuning
from dpkit_irls.fit import Array
from dpkit_irls.loss import ratio_of_share, share_near


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gain:
    """A step that was made: its gain, the slope that goes with the shape of the curvature, and the variance that it added."""

    matrix: Array
    slope: float
    added: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filter:
    """Where the steps are. `prior` is the variance they started with, in the present frame; `spread` is the target's."""

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
    gains: tuple[Gain, ...] = ()
    scales: tuple[float, ...] = ()
    near_share: float = 0.5
    tied: bool = False
    tied_steps: int = 0

    @property
    def turn(self) -> int:
        """How many steps were made."""
        return len(self.scales)


def used_threshold(now: Filter, schedule: Schedule, least: float) -> float:
    """k of the estimand as it is known: fixed from a step on, and by the target's spread where there are ties."""
    if now.tied:
        return max(1.345 * now.spread, least)
    return now.threshold if now.turn > schedule.fixed_from else max(schedule.threshold * now.scale, least)


def is_probe(now: Filter, schedule: Schedule) -> bool:
    """Whether the next step looks for ties, with a quarter of the threshold."""
    return now.turn == schedule.probe and not now.tied


def shapes_of(now: Filter, expected: Expected, tuning: Tuning) -> tuple[Shape, Shape]:
    """The sum of w w', and the sum of w z', which is the curvature up to the share of small residuals."""
    scatter = blended(now.scatter.mean, expected.scatter, now.scatter.spread, tuning)
    most = min(1.0, expected.total / max(float(np.trace(scatter.mean)), 1e-300))
    scatter = Shape(mean=scatter.mean * most, spread=scatter.spread)
    shape = _from_scatter(scatter, expected, tuning)
    if now.curvature.precision > 0.0:
        per = max(now.curvature.near / now.curvature.precision / expected.total, 0.1)
        factor = expected.far / per
        shape = blended(now.curvature.mean * factor, shape, now.curvature.spread * factor, tuning, counts=expected.counts)
    return scatter, shape


def _from_scatter(scatter: Shape, expected: Expected, tuning: Tuning) -> Shape:
    """The sum of w z' as the scatter tells it."""
    return scatter.scaled(np.outer(expected.ratio, expected.ratio) * tuning.overlap)


def _inside(share: float, ratio: float, *, tied: bool) -> float:
    """The share of residuals below the threshold: of normal ones of this ratio, or of any of which that share is near."""
    from scipy.special import ndtr

    return min(1.0, share * 4.0 / math.pi) if tied else 2.0 * float(ndtr(ratio)) - 1.0


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
) -> Filter:
    """After a step at this threshold, whose entries had noise of this sd."""
    now = _with_matrix(now, sums, mix, noise)
    total, near_noise = expected.total, noise / mix.near
    share = min(max(sums.near / total, 0.05, near_noise / total), 0.97)
    probe = is_probe(now, schedule)
    if now.turn == schedule.fixed_from:
        now = replace(now, variance=now.variance * tuning.forget)
    here = threshold / 4.0 if probe else threshold
    ratio = ratio_of_share(share)
    seen = here / ratio
    slope = _inside(share, ratio, tied=now.tied) / here
    scatter, shape = shapes_of(now, expected, tuning)
    metric = scatter.mean * max(expected.near, expected.length) ** 2 / total
    whole = _from_scatter(scatter, expected, tuning).mean
    curvature, variance = slope * shape.mean, now.variance
    if now.curvature.precision > 0.0:  # rows beyond the threshold have no curvature yet; a step must not overshoot them
        curvature = slope * _at_least(shape.mean, whole, tuning.least_of_scatter)
    surprise = _surprise(variance, curvature, sums.gradient, noise)
    if surprise > tuning.surprise:  # far off: the variance was too small, and rows out of reach hide the curvature
        variance = variance * min(2.0 * surprise / tuning.surprise, 1e4)
        if now.curvature.precision > 0.0:
            curvature = whole / here  # that of all rows, which is larger
    gain = _solved(_innovation(variance, curvature, noise), curvature @ variance).T
    move = _damped(gain @ sums.gradient, now, metric, tuning)
    after = _inflated(_symmetric(variance - gain @ curvature @ variance), variance, tuning.inflation)
    explained = surprise <= tuning.surprise
    scale = now.scale
    if not now.tied and not probe:
        gained = float(np.sum(metric * (variance - after))) if explained else 0.0
        low = min(max(float(np.sum(metric * after)), 0.0), seen * seen)
        scale = math.sqrt(max(seen * seen - gained, low, (scale / 6.0) ** 2))
    made = Gain(matrix=gain, slope=slope, added=noise * noise * gain @ gain.T)
    excess = share - 3.0 * near_noise / total
    following = replace(
        now,
        position=_tame(now.position + move),
        last=_tame(move),
        variance=_tame(after),
        scale=min(max(scale, 1e-150), 1e150),
        threshold=threshold,
        gains=(*now.gains, made),
        near_share=share,
        tied_steps=_tied_steps(now, excess, schedule, tuning, probe=probe),
    )
    found = _ties(following, metric, excess, here, schedule, tuning, probe=probe and explained)
    following = _restarted(following) if found else following
    return replace(following, scales=(*now.scales, following.scale))


def renewed(now: Filter, turn: Array) -> Filter:
    """In coordinates turned by this matrix: positions turn by its inverse's transpose. Unchanged where that is not found."""
    try:
        back = np.linalg.inv(turn).T
    except np.linalg.LinAlgError:
        back = np.eye(turn.shape[0])

    def both(matrix: Array) -> Array:
        return _tame(back @ matrix @ back.T)

    scatter = now.scatter.faded(0.7)
    turned = scatter.turned(turn)
    size = float(np.trace(turned.total))
    turned = turned.times(float(np.trace(scatter.total)) / size if abs(size) > 1e-300 else 1.0)
    return replace(
        now,
        position=_tame(back @ now.position),
        last=_tame(back @ now.last),
        variance=both(now.variance),
        prior=both(now.prior),
        scatter=turned,
        curvature=now.curvature.turned(turn),
        middle=now.middle.turned(turn),
        gains=tuple(Gain(matrix=back @ gain.matrix @ back.T, slope=gain.slope, added=both(gain.added)) for gain in now.gains),
    )


def _with_matrix(now: Filter, sums: StepSums, mix: Mix, noise: float) -> Filter:
    spread = noise / mix.diagonal
    if mix.carried is Carried.SCATTER:
        return replace(now, scatter=now.scatter.plus(sums.matrix, spread))
    if mix.carried is Carried.CURVATURE:
        return replace(now, curvature=now.curvature.plus(sums.matrix, spread, sums.near))
    return replace(now, middle=now.middle.plus(sums.matrix, spread))


def _innovation(variance: Array, curvature: Array, noise: float) -> Array:
    """The variance of a gradient."""
    return np.asarray(_symmetric(curvature @ variance @ curvature) + noise * noise * np.eye(len(variance)))


def _surprise(variance: Array, curvature: Array, gradient: Array, noise: float) -> float:
    """How much larger a gradient is than expected, in variances."""
    return float(gradient @ _solved(_innovation(variance, curvature, noise), gradient)) / gradient.size


def _at_least(shape: Array, scatter: Array, least: float) -> Array:
    """The shape, in every direction at least this share of what the scatter of all rows says."""
    values, vectors = eigen(scatter)
    roots = np.sqrt(np.maximum(values, 1e-12 * max(float(np.sum(np.abs(values))), 1e-300)))
    half, inverse = of_eigen(roots, vectors), of_eigen(1.0 / roots, vectors)
    return np.asarray(half @ floored(inverse @ shape @ inverse, least) @ half)


def _damped(move: Array, now: Filter, metric: Array, tuning: Tuning) -> Array:
    """Within the trust region; a step that turns back has overshot (the curvature is that of small residuals) and is cut."""

    def size(step: Array) -> float:
        return math.sqrt(max(float(step @ metric @ step), 0.0))

    reach = size(move)
    if reach > tuning.trust * now.scale:
        move = move * (tuning.trust * now.scale / reach)
    before, after = size(now.last), size(move)
    turns = float(move @ metric @ now.last) < -0.5 * before * after
    return move * (tuning.turning * before / after) if turns and after > tuning.turning * before else move


def _inflated(after: Array, before: Array, inflation: float) -> Array:
    """The variance after a step, plus a part of that before it, and nowhere more than before: what a step said nothing of must
    not become more uncertain step by step.
    """
    values, vectors = eigen(before)
    roots = np.sqrt(np.maximum(values, 1e-14 * max(float(np.max(values)), 1e-300)))
    root, inverse = of_eigen(roots, vectors), of_eigen(1.0 / roots, vectors)
    parts, turned = eigen(inverse @ after @ inverse)
    half = root @ turned
    return np.asarray((half * np.clip(parts + inflation, 0.0, 1.0)) @ half.T)


def _tied_steps(now: Filter, excess: float, schedule: Schedule, tuning: Tuning, *, probe: bool) -> int:
    """For how many steps too many residuals were too small."""
    looked = not now.tied and not probe and 0 < now.turn < schedule.fixed_from
    return now.tied_steps + 1 if looked and excess > share_near(schedule.threshold) + tuning.tie_share else 0


def _ties(now: Filter, metric: Array, excess: float, here: float, schedule: Schedule, tuning: Tuning, *, probe: bool) -> bool:
    """Whether many targets are equal: residuals pile up near zero, or the scale falls where it should stand."""
    if now.tied:
        return False
    atom = probe and excess > share_near(here / now.scale) + tuning.atom
    fitted = float(now.position @ metric @ now.position) + now.scale**2
    return atom or now.tied_steps >= tuning.tie_steps or (_falls(now, schedule) and fitted < (now.spread / 3.0) ** 2)


def _falls(now: Filter, schedule: Schedule) -> bool:
    if schedule.few:
        return now.turn > schedule.probe + 2 and now.scale < 0.5 * now.scales[schedule.probe]
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
        tied=True,
    )


def _solved(matrix: Array, right: Array) -> Array:
    """matrix^-1 right for a positive matrix, however close to singular it is."""
    try:
        found = np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
    if np.isfinite(found).all():
        return found
    values, vectors = eigen(matrix)
    least = 1e-14 * max(float(np.max(np.abs(values))), 1e-300)
    return np.asarray(vectors @ ((vectors.T @ right).T / np.maximum(values, least)).T)


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + matrix.T) / 2.0)


def _tame(values: Array) -> Array:
    """Of moderate size, whatever was released."""
    return np.nan_to_num(np.clip(values, -1e60, 1e60), nan=0.0)
