"""What `irls` makes of released values, stage by stage: post-processing, finite whatever was released."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dpkit_irls.bounded.expected_shapes import expected_shapes
from dpkit_irls.bounded.facts import Facts
from dpkit_irls.bounded.filter import Filter, moved, renewed, shapes_of, used_threshold
from dpkit_irls.bounded.frame import Frame
from dpkit_irls.bounded.histograms import likely_exponents, octave_median
from dpkit_irls.bounded.places import level_shares, located, shows_ties
from dpkit_irls.bounded.priors import coefficient_precisions, narrowed
from dpkit_irls.bounded.releases import LENGTHS, bins_of
from dpkit_irls.bounded.shapes import Pooled, floored, shrunk, whitening
from dpkit_irls.bounded.state import BoundedState
from dpkit_irls.bounded.step_query import mix_for, taken_apart
from dpkit_irls.fit import Array
from dpkit_irls.rows.fixed_point import fixed_point

Released = Mapping[str, tuple[Array, float]]
"""By the name of a query: its noisy value, and the sd of the noise."""


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
    counts, spread = released["targets"]
    most = float(np.max(np.convolve(counts, np.ones(facts.tuning.target_window), mode="valid")))
    rows = total if most > 0.85 * total - 6.0 * spread else max(most, 2.0 * spread)  # zeros are not counted
    middle = octave_median(counts, facts.targets, rows, window=facts.tuning.target_window)
    return replace(state, total=total, frame=replace(state.frame, units=tuple(units)), spread=middle / 0.6745)


def _places(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """Centres and scales of the columns, the target's place, shares of levels."""
    if "places" in released:
        state = _placed(facts, state, *released["places"])
    return _levelled(facts, state, *released["levels"]) if "levels" in released else state


def _placed(facts: Facts, state: BoundedState, counts: Array, spread: float) -> BoundedState:
    bins, frame, numbers = bins_of(facts, state), state.frame, facts.layout.numbers
    centres, units = list(frame.centres), list(frame.units)
    defaults = [*[(0.0, 1.0)] * len(numbers), (0.0, state.spread)]
    edges: list[Array] = [low + width * np.arange(bins.bins + 1.0) for low, width in zip(bins.lows, bins.widths, strict=True)]
    total, size, tuning = state.total, facts.layout.size, facts.tuning
    found = [
        located(each, spread, edge, default, total=total, size=size, tuning=tuning)
        for each, edge, default in zip(counts, edges, defaults, strict=True)
    ]
    widths = tuple(units[place] * seen.width for place, seen in zip(numbers, found, strict=False))
    for place, seen in zip(numbers, found, strict=False):
        centres[place] += units[place] * seen.centre
        units[place] *= seen.scale
    target = found[-1]
    tied = bins.widths[-1] > 0.0 and shows_ties(counts[-1], spread, total, target.shown / bins.widths[-1])
    may_be_yes_or_no = facts.setting.range(facts.columns[-1]) == (0.0, 1.0)
    tied = tied or (may_be_yes_or_no and state.schedule(facts.iterations, tuning).few)  # few rows do not show ties
    frame = replace(frame, centres=tuple(centres), units=tuple(units), origin=frame.origin + target.centre)
    return replace(state, frame=frame, spread=target.scale, tied=tied, widths=widths)


def _levelled(facts: Facts, state: BoundedState, counts: Array, spread: float) -> BoundedState:
    """Dummies against the most frequent level, centred by its share; against the first, as they are, without a constant."""
    frame, layout = state.frame, facts.layout
    centres, units, references = list(frame.centres), list(frame.units), list(frame.references)
    shares, few = [], []
    for row, category in zip(counts, layout.categories, strict=True):
        share = level_shares(row[: category.levels], state.total)
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


def _scatter(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """Numbers and constant are whitened, never dummies: a rare one looks like a short direction."""
    found, spread = released["scatter"]
    size, schedule, plain = facts.layout.size, state.schedule(facts.iterations, facts.tuning), facts.layout.plain
    block = found[np.ix_(plain, plain)]
    turn = np.eye(size)
    if plain.size:
        turn = facts.layout.turn(whitening(block, spread, facts.tuning, longest=schedule.amplified, shortest=0.125))
    frame, turn = _turned(state.frame, turn)
    scatter = turn @ floored(shrunk(found, np.eye(size) * state.total / size, spread), 0.0) @ turn.T
    scatter *= state.total / max(float(np.trace(scatter)), 1e-9)
    trusted = Pooled.none(size).plus(scatter, spread * math.sqrt(2.0 / facts.rounds))
    return replace(state, frame=frame, scatter=trusted)


def _lengths(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """The radii of weights, and where the steps start."""
    schedule, layout, size = state.schedule(facts.iterations, facts.tuning), facts.layout, facts.layout.size
    length = octave_median(released["lengths"][0], LENGTHS, state.total, window=facts.tuning.length_window)
    frame = replace(state.frame, near=schedule.near * length, far=schedule.far * length)
    expected = expected_shapes(layout, frame, state.levels, total=state.total, length=length, count_noise=state.count_noise)
    variances = np.full(size, (facts.tuning.level_prior * state.spread) ** 2 / size)
    variances[layout.plain] = (state.spread / length) ** 2
    believed = coefficient_precisions(layout, frame, state.widths, state.spread, facts.tuning)
    least = layout.intercept * max(facts.tuning.coefficient * state.spread, 1e-150) ** -2.0
    prior = narrowed(np.diag(variances), frame, np.maximum(believed, least))
    start = Filter(
        position=np.zeros(size),
        last=np.zeros(size),
        variance=prior,
        prior=prior,
        spread=state.spread,
        scale=state.spread,
        threshold=max(schedule.threshold * state.spread, facts.least_threshold),
        scatter=state.scatter.times(min(1.0, schedule.near**-2)),
        curvature=Pooled.none(size),
        middle=Pooled.none(size),
        tied=state.tied,
    )
    return replace(state, frame=frame, expected=expected, filter=start)


def _moved(facts: Facts, state: BoundedState, released: Released) -> BoundedState:
    """A step; now and then the frame is renewed, which only decorrelates."""
    (value, spread), now, expected = released["step"], state.filter, state.expected
    assert now is not None
    assert expected is not None
    schedule, layout, turn = state.schedule(facts.iterations, facts.tuning), facts.layout, now.turn
    mix = mix_for(schedule.carried[turn], facts.setting.neighbours)
    sums, threshold = taken_apart(value, layout.size, mix), used_threshold(now, schedule, facts.least_threshold)
    now = moved(now, sums, mix, spread, threshold=threshold, expected=expected, schedule=schedule, tuning=facts.tuning)
    if turn not in schedule.renewed or not layout.plain.size:
        return replace(state, filter=now)
    scatter, _ = shapes_of(now, expected, facts.tuning)
    block = scatter.mean[np.ix_(layout.plain, layout.plain)]
    whitened = whitening(block, 0.5 * now.scatter.spread, facts.tuning, longest=1.0, shortest=1.0)
    frame, made = _turned(state.frame, layout.turn(whitened))
    return replace(state, frame=frame, filter=renewed(now, made))


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
