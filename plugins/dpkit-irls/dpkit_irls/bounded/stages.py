"""What `irls` makes of released values, stage by stage: post-processing, finite whatever was released."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dpkit_irls.bounded.class_filter import ClassSurroundings, moved_by_classes
from dpkit_irls.bounded.class_step import classes_apart, contrasts_of
from dpkit_irls.bounded.column_centres import level_shares, located, shows_ties
from dpkit_irls.bounded.expected_shapes import expected_shapes
from dpkit_irls.bounded.facts import Facts
from dpkit_irls.bounded.filter import Filter, moved, renewed, ridge_slope, scatter_of, scored_by, used_threshold
from dpkit_irls.bounded.histograms import likely_exponents, likely_window, octave_median, on_simplex
from dpkit_irls.bounded.link_filter import Surroundings, moved_by_link, predictors_of
from dpkit_irls.bounded.priors import coefficient_precisions, narrowed
from dpkit_irls.bounded.releases import LENGTHS, bins_of, carried_by
from dpkit_irls.bounded.ridge import pull_of
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.schedule import Schedule
from dpkit_irls.bounded.shapes import Pooled, by_block, floored, shrunk, whitening
from dpkit_irls.bounded.state import BoundedState
from dpkit_irls.bounded.step_query import Carried, mix_for, taken_apart
from dpkit_irls.bounded.tails import at_tail, told_of_middle, waits
from dpkit_irls.bounded.tuning import TUNING
from dpkit_irls.fit import Array, solved
from dpkit_irls.loss import BISQUARE, HUBER, is_tail, poisson
from dpkit_irls.rows.class_scores import slope_of_classes
from dpkit_irls.rows.fixed_point import fixed_point

Released = Mapping[str, tuple[Array, float]]
"""By the name of a query: its noisy value, and the sd of the noise."""


NO_BOUNDS = 2.0**40
"""Ranges as wide are those of estimators without bounds: a unit that is not found there is not told by the range either."""


def _octaves(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """Units of the numbers, and a first spread of the target."""
    total = state.total
    if "rows" in released:
        counted, spread = released["rows"]
        total = max(float(counted[0, 0]), spread, 1.0)
    units = list(state.frame.units)
    if "magnitudes" in released:
        counts, spread = released["magnitudes"]
        found = likely_exponents(counts, facts.magnitudes, spread=spread, prior=facts.tuning.units)
        for place, exponent in zip(facts.released_units, found, strict=True):
            units[place] *= math.ldexp(1.0, min(exponent, 0))
        if not any(found):
            state = replace(state, unscaled=tuple(place for place in facts.released_units if units[place] >= NO_BOUNDS))
    state = replace(state, total=total, frame=replace(state.frame, units=tuple(units)))
    if "answers" in released:
        return (_classed if facts.classes else _answered)(facts, state, *released["answers"])
    counts, spread = released["targets"]
    if facts.family.target == "count":
        return _counted(facts, state, counts, spread)
    wide, sure = facts.tuning.target_window, facts.tuning.surely_seen
    start, clear = likely_window(
        counts, facts.targets, spread=spread, window=wide, surely=sure, octave=facts.tuning.unseen_octave
    )
    most = float(np.sum(counts[start : start + wide]))
    rows = total if most > 0.85 * total - 6.0 * spread else max(most, 2.0 * spread)  # zeros are not counted
    middle = octave_median(counts, facts.targets, rows, window=wide, start=start)
    return replace(state, spread=middle / 0.6745, unseen=not clear, guessed=not clear)


def _counted(facts: Facts, state: BoundedState, counts: Array, spread: float) -> BoundedState:
    """Where a regression of counts starts: at their mean, as octaves that are surely filled tell it."""
    middles = np.array([1.5 * facts.targets.edge(place) for place in range(counts.size)])
    mean = float(np.sum(np.where(counts > 4.0 * spread, counts, 0.0) * middles)) / state.total
    constant = min(max(math.log(max(mean, spread / state.total, 0.5 / state.total)), -11.0), 23.0)
    link = poisson(1.0, round(constant))
    slope = min(float(link.looked_up(link.slopes, np.array([constant]))[0]) / 0.5, 1.0)
    constant = constant if facts.layout.intercept else 0.0
    return replace(state, spread=facts.family.spread, constant=constant, slope=max(slope, 1e-3), link=link)


def _dispersed(state: BoundedState, now: Filter, near: float, noise: float) -> BoundedState:
    """The dispersion of counts after a step that told nearness: as many times larger as scores are, in steps of 2^(1/4)."""
    link, expected = state.link, state.expected
    assert link is not None
    assert expected is not None
    if link.nears is None or now.turn < 2:
        return state
    seen = predictors_of(now, state.frame, expected, TUNING)
    told = max(1.0 - seen.moments(link, link.nears)[0], 1e-3)
    found = max(1.0 - near / expected.total, 0.02 * told)
    if abs(found - told) * expected.total < 2.0 * noise:
        return state
    factor = min(max((found / told) ** 1.25, 0.5), 4.0)  # counts beyond the cut hide a part of it
    dispersion = 2.0 ** (max(round(4.0 * math.log2(link.dispersion * factor)), 0) / 4.0)
    middle = min(max(round(seen.mean), -11), 23)
    other = poisson(min(dispersion, 1024.0), float(middle))
    return replace(state, link=other, filter=replace(now, curvature=Pooled.none(now.position.size)))


def _answered(facts: Facts, state: BoundedState, counts: Array, spread: float) -> BoundedState:
    """Where a regression of yes and no starts, and how much less its rows tell than if both were as frequent."""
    link = state.link
    assert link is not None
    total, few = state.total, tuple(np.flatnonzero(counts[0] < 3.0 * spread).tolist())
    yes = min(max((float(counts[0, 1]) + total - float(counts[0, 0])) / 2.0 / total, spread / total, 0.5 / total), 1.0)
    yes = min(yes, 1.0 - min(max(spread, 0.5) / total, 0.5))
    constant = math.log(yes / (1.0 - yes))
    slope = float(link.looked_up(link.slopes, np.array([constant]))[0]) / link.steepest
    constant = constant if facts.layout.intercept else 0.0
    error = min(math.sqrt(0.5) * spread / (total * yes * (1.0 - yes)), 10.0) if facts.layout.intercept else 0.0
    return replace(state, spread=facts.family.spread, constant=constant, constant_error=error, slope=slope, answers=few)


def _classed(facts: Facts, state: BoundedState, counts: Array, spread: float) -> BoundedState:
    """Shares of the classes, which steps start from; rows tell as much less as the rarest class is rarer than the others."""
    total, few = state.total, tuple(np.flatnonzero(counts[0] < 3.0 * spread).tolist())
    shares = np.maximum(on_simplex(counts[0], total) / total, max(spread, 0.5) / total)
    shares = shares / np.sum(shares)
    slope = min(1.0, facts.classes * float(np.min(shares)) ** 0.5 * facts.classes**-0.5)
    return replace(state, spread=facts.family.spread, class_shares=tuple(shares.tolist()), slope=slope, answers=few)


def _places(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """Centres and scales of the columns, the target's place, shares of levels."""
    if "places" in released:
        state = _placed(facts, state, *released["places"], target=facts.family.link is None)
    return _levelled(facts, state, *released["levels"]) if "levels" in released else state


def _placed(facts: Facts, state: BoundedState, counts: Array, spread: float, *, target: bool) -> BoundedState:
    bins, frame, numbers = bins_of(facts, state), state.frame, facts.layout.numbers
    centres, units = list(frame.centres), list(frame.units)
    defaults = [*[(0.0, 1.0)] * len(numbers), *[(0.0, state.spread)] * target]
    edges: list[Array] = [low + width * np.arange(bins.bins + 1.0) for low, width in zip(bins.lows, bins.widths, strict=True)]
    total, size, tuning = state.total, facts.layout.size, facts.tuning
    found = [
        located(each, spread, edge, default, total=total, size=size, tuning=tuning, weighs=place < len(numbers))
        for place, (each, edge, default) in enumerate(zip(counts, edges, defaults, strict=True))
    ]
    declared, twice = facts.numbers(), tuning.range_prior / tuning.level_range
    widths = tuple(
        max(units[place] * seen.width, twice * (known.high - known.low) * known.may_be_truth)  # a truth value is as a level
        for place, seen, known in zip(numbers, found, declared, strict=False)
    )
    for place, seen in zip(numbers, found, strict=False):
        centres[place] += units[place] * seen.centre
        units[place] *= seen.scale
    from scipy.special import ndtri

    state = replace(state, frame=replace(frame, centres=tuple(centres), units=tuple(units)), widths=widths)
    blurs = tuple(frame.units[place] * seen.blur for place, seen in zip(numbers, found, strict=False))
    state = replace(state, blurs=blurs)
    if not target:
        return state
    last = found[-1]
    tied = bins.widths[-1] > 0.0 and shows_ties(counts[-1], spread, total, last.shown / bins.widths[-1])
    may_be_yes_or_no = facts.setting.range(facts.columns[-1]) == (0.0, 1.0)
    if state.unseen and _all_at(0.0, counts[-1], spread, edges[-1], total):
        return replace(state, spread=min(last.scale, 1.0), tied=tied, guessed=False)  # a unit far from 1 was noise
    state = replace(state, guessed=state.guessed and not _within(counts[-1], spread, total))
    tied = tied or (may_be_yes_or_no and state.schedule(facts.iterations, tuning).few)  # few rows do not show ties
    quantile = facts.family.residuals.quantile  # a line at another quantile starts nearer to it
    frame = replace(state.frame, origin=frame.origin + last.centre + 0.4 * last.scale * float(ndtri(quantile)))
    return replace(state, frame=frame, spread=last.scale, tied=tied)


def _all_at(place: float, counts: Array, spread: float, edges: Array, total: float) -> bool:
    """Whether surely most rows are in a bin, which holds this place or ends there."""
    top, slack = int(np.argmax(counts)), 0.01 * float(edges[1] - edges[0])
    return bool(counts[top] - 3.0 * spread > 0.7 * total and edges[top] - slack <= place <= edges[top + 1] + slack)


def _within(counts: Array, spread: float, total: float) -> bool:
    """Whether surely most rows lie between the end bins, into which falls all that is further away."""
    return float(np.sum(counts[1:-1])) - 3.0 * spread * math.sqrt(counts.size - 2.0) > 0.5 * total


def _levelled(facts: Facts, state: BoundedState, counts: Array, spread: float) -> BoundedState:
    """Dummies against the most frequent level, centred by its share; against the first, as they are, without a constant."""
    frame, layout = state.frame, facts.layout
    centres, units, references = list(frame.centres), list(frame.units), list(frame.references)
    shares, few = [], []
    for row, category in zip(counts, layout.categories, strict=True):
        state = _seen(facts, state, float(np.sum(row[: category.levels])), spread * math.sqrt(category.levels))
    for row, category in zip(counts, layout.categories, strict=True):
        share = level_shares(row[: category.levels], counted_rows(state))
        references[category.feature] = int(np.argmax(share)) if facts.layout.intercept else 0
        shares.append(share)
        few.append(tuple(np.flatnonzero(row[: category.levels] < 3.0 * spread).tolist()))
    frame = replace(frame, references=tuple(references))
    for share, category in zip(shares, layout.categories, strict=True):
        for place, level in enumerate(category.others(frame), start=category.start):
            centres[place] = float(share[level]) if facts.layout.intercept else 0.0
            units[place] = max(math.sqrt(share[level] * (1.0 - share[level])), 1.0 / math.sqrt(layout.size))
    frame = replace(frame, centres=tuple(centres), units=tuple(units))
    return replace(state, frame=frame, levels=tuple(shares), count_noise=spread, few=tuple(few))


def _seen(facts: Facts, state: BoundedState, rows: float, noise: float) -> BoundedState:
    """With one more look at how many rows count, of this noise. Without a constant rows of zeros are not seen, but count."""
    if not facts.layout.intercept:
        return state
    weighted, precision = state.counted
    return replace(state, counted=(weighted + rows / noise**2, precision + noise**-2.0))


def counted_rows(state: BoundedState) -> float:
    """How many rows count: all, unless what was released shows clearly that some have missing cells. At least the noise."""
    weighted, precision = state.counted
    if precision == 0.0:
        return state.total
    rows, noise = weighted / precision, precision**-0.5
    return state.total if rows + max(3.0 * noise, 0.01 * state.total) > state.total else max(rows, noise, 1.0)


def _scatter(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """Numbers and constant are whitened, never dummies: a rare one looks like a short direction."""
    found, spread = released["scatter"]
    state = _seen(facts, state, float(np.trace(found)), spread * math.sqrt(facts.layout.size))
    size, schedule, plain = facts.layout.size, state.schedule(facts.iterations, facts.tuning), facts.layout.plain
    block = found[np.ix_(plain, plain)]
    turn = np.eye(size)
    if plain.size:
        turn = facts.layout.turn(whitening(block, spread, facts.tuning, longest=schedule.amplified, shortest=0.125))
    frame, turn = _turned(state.frame, turn)
    scatter = turn @ floored(shrunk(found, np.eye(size) * state.total / size, spread), 0.0) @ turn.T
    scatter *= state.total / max(float(np.trace(scatter)), 1e-9)
    doubted = facts.tuning.first_scatter if schedule.few else 1.0  # with many rows the noise is too small for that to matter
    trusted = Pooled.none(size).plus(scatter, doubted * spread * math.sqrt(2.0 / facts.rounds))
    return replace(state, frame=frame, scatter=trusted)


def _lengths(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """The radii of weights, and where the steps start."""
    counts, noise = released["lengths"]
    wide = facts.tuning.length_window
    within = float(np.max(np.convolve(counts, np.ones(2 * wide), mode="valid")))
    state = _seen(facts, state, within, noise * math.sqrt(2.0 * wide))
    state = replace(state, total=counted_rows(state), slope=state.slope * told_of_middle(facts.family.residuals))
    schedule, layout, size = state.schedule(facts.iterations, facts.tuning), facts.layout, facts.layout.size
    length = octave_median(counts, LENGTHS, state.total, window=wide)
    frame = replace(state.frame, near=schedule.near * length, far=schedule.far * length)
    expected = expected_shapes(layout, frame, state.levels, total=state.total, length=length, count_noise=state.count_noise)
    variances = np.full(size, (facts.tuning.level_prior * state.spread) ** 2 / size)
    variances[layout.plain] = (facts.tuning.number_prior * state.spread / length) ** 2
    believed = coefficient_precisions(layout, frame, state.widths, state.spread, facts.tuning)
    least = layout.intercept * max(facts.tuning.coefficient * state.spread, 1e-150) ** -2.0
    prior = narrowed(np.diag(variances), frame, np.maximum(believed, least))
    start = Filter(
        position=first_position(facts, state),
        last=np.zeros(size),
        variance=prior,
        prior=prior,
        spread=state.spread,
        scale=state.spread,
        threshold=max(schedule.threshold * state.spread, facts.least_threshold),
        scatter=state.scatter.times(min(1.0, schedule.near**-2)),
        curvature=Pooled.none(size),
        middle=Pooled.none(size),
        few=schedule.few and state.link is None,
        score=HUBER if facts.family.residuals == BISQUARE else facts.family.residuals,
        tied=state.tied,
    )
    if facts.classes:
        whole = by_block(prior, facts.classes - 1)
        start = replace(start, position=_first_classes(facts, state), variance=whole, prior=whole)
        none = Pooled.none(whole.shape[0])
        start = replace(start, last=np.zeros(whole.shape[0]), curvature=none, middle=none)
    return replace(state, frame=frame, expected=expected, filter=start)


def _first_classes(facts: Facts, state: BoundedState) -> Array:
    """Where steps of classes start: at the released shares, or at the public coefficients, class by class."""
    size, contrasts = facts.layout.size, contrasts_of(facts.classes)
    if facts.start:
        given = np.vstack([np.zeros(size), np.array(facts.start).reshape(-1, size)])
        found = [solved(facts.layout.to_columns(state.frame), each, np.zeros(size)) for each in given]
        return np.asarray((contrasts.T @ np.array(found)).ravel())
    constant = np.zeros(size)
    if facts.layout.intercept:
        constant[-1] = 1.0
        constant = solved(state.frame.preconditioner, constant, np.zeros(size))
    return np.asarray(np.outer(contrasts.T @ np.log(np.array(state.class_shares)), constant).ravel())


def first_position(facts: Facts, state: BoundedState) -> Array:
    """Where the steps start: at zero; with a link at the public coefficients, or at the released share of answers."""
    size, layout = facts.layout.size, facts.layout
    if state.link is None or facts.classes:
        return np.zeros(size)
    if facts.start:
        return solved(layout.to_columns(state.frame), np.array(facts.start), np.zeros(size))
    constant = np.zeros(size)
    constant[-1] = state.constant if layout.intercept else 0.0
    return solved(state.frame.preconditioner, constant, np.zeros(size))


def _moved(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """A step; now and then the frame is renewed, which only decorrelates."""
    (value, spread), now, expected = released["step"], state.filter, state.expected
    assert now is not None
    assert expected is not None
    schedule, layout, turn = state.schedule(facts.iterations, facts.tuning), facts.layout, now.turn
    mix = mix_for(carried_by(facts, schedule, turn), facts.setting.neighbours)
    tuning = facts.tuning
    if facts.classes:
        found = classes_apart(value, contrasts_of(facts.classes), layout.size, mix)
        now = moved_by_classes(now, found, mix, spread, class_surroundings(facts, state))
        return _renewed(facts, state, now, turn)
    sums = taken_apart(value, layout.size, mix)
    if state.link is not None:
        pull = pull_of(state.frame, facts.ridge, expected.total, state.link.steepest)
        known = Surroundings(link=state.link, frame=state.frame, expected=expected, schedule=schedule, tuning=tuning, pull=pull)
        now = moved_by_link(now, sums, mix, spread, known)
        if mix.carried is Carried.SCATTER and now.turn <= max(schedule.fixed_from, 5) and now.turn <= 6:
            state = _dispersed(replace(state, filter=now), now, sums.near, spread / mix.near)
            now = state.filter or now
    else:
        now = scored_by(now, facts.family.residuals, schedule)
        threshold = used_threshold(now, schedule, facts.least_threshold)
        now = moved(
            now,
            sums,
            mix,
            spread,
            threshold=threshold,
            expected=expected,
            schedule=schedule,
            tuning=tuning,
            constant=layout.intercept,
            pull=pull_of(state.frame, facts.ridge, expected.total, ridge_slope(now, schedule, threshold)),
        )
        state = _renewed(facts, state, now, turn)
        return _at_tail(facts, state, schedule)
    return _renewed(facts, state, now, turn)


def _at_tail(facts: Facts, state: BoundedState, schedule: Schedule) -> BoundedState:
    """With the line moved to a quantile away from the middle, where it is time."""
    now, score = state.filter, facts.family.residuals
    if now is None or not is_tail(score) or now.at_tail or waits(now, score, schedule) or now.tied or schedule.tail_from <= 0:
        return state
    constant = np.zeros(facts.layout.size)
    constant[-1] = float(facts.layout.intercept)
    return replace(state, filter=at_tail(now, score, solved(state.frame.preconditioner, constant, constant), facts.tuning))


def class_surroundings(facts: Facts, state: BoundedState) -> ClassSurroundings:
    """What steps of classes are made in."""
    assert state.expected is not None
    pull = pull_of(state.frame, facts.ridge, state.expected.total, slope_of_classes(facts.classes))
    return ClassSurroundings(
        classes=facts.classes,
        frame=state.frame,
        expected=state.expected,
        schedule=state.schedule(facts.iterations, facts.tuning),
        tuning=facts.tuning,
        pull=by_block(pull, facts.classes - 1),
    )


def _renewed(facts: Facts, state: BoundedState, now: Filter, turn: int) -> BoundedState:
    """With the frame renewed where it is time."""
    schedule, layout, expected = state.schedule(facts.iterations, facts.tuning), facts.layout, state.expected
    assert expected is not None
    if turn not in schedule.renewed or not layout.plain.size:
        return replace(state, filter=now)
    scatter = scatter_of(now, expected, facts.tuning)
    block = scatter.mean[np.ix_(layout.plain, layout.plain)]
    whitened = whitening(block, 0.5 * now.scatter.spread, facts.tuning, longest=1.0, shortest=1.0)
    frame, made = _turned(state.frame, layout.turn(whitened))
    return replace(state, frame=frame, filter=renewed(now, made, blocks=max(facts.classes - 1, 1)))


def _turned(frame: Frame, turn: Array) -> tuple[Frame, Array]:
    """The frame turned, its preconditioner cut to 20 bits; and the turn that was really made."""
    matrix, scale = fixed_point(frame.preconditioner @ turn.T)
    try:
        made: Array = np.asarray(np.linalg.solve(frame.preconditioner, matrix * scale).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        return frame, np.eye(turn.shape[0])
    if not (np.isfinite(made).all() and np.linalg.cond(made) < 1e8):
        return frame, np.eye(turn.shape[0])
    return replace(frame, preconditioner=matrix * scale), made


AFTER: dict[str, Callable[[Facts, BoundedState, Released], BoundedState]] = {
    "octaves": _octaves,
    "places": _places,
    "scatter": _scatter,
    "lengths": _lengths,
    "step": _moved,
}
"""What follows from a stage's releases, by its name."""
