"""What `irls` asks of the data, stage by stage, and how much of the budget each release gets."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpkit import Gaussian, Mechanism, Query, SymmetricGaussian
from dpkit_irls.bounded import influence_query as ask
from dpkit_irls.bounded.class_step import MOST_CURVED, class_step, contrasts_of
from dpkit_irls.bounded.facts import Facts
from dpkit_irls.bounded.filter import is_probe, scored_by, used_threshold
from dpkit_irls.bounded.influence_query import EqualBins, Octaves
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.schedule import Schedule, step_shares
from dpkit_irls.bounded.state import BoundedState
from dpkit_irls.bounded.step_query import Carried, Mix, mix_for, step
from dpkit_irls.loss import LinkScore, ResidualScore

Pair = tuple[Query, Mechanism]
LENGTHS = Octaves(low=-24, bins=49)


def stages_of(facts: Facts) -> list[str]:
    """The stages, in order; each is one pass over the data."""
    places = ["places"] if _has_places(facts) or facts.layout.categories else []
    return ["octaves", *places, *["scatter"] * facts.rounds, "lengths", *["step"] * facts.iterations]


def asked(facts: Facts, stage: str, state: BoundedState, turn: int) -> list[Pair]:
    """The queries of a stage with their noise."""
    frame = state.frame
    queries: list[tuple[str, Query]] = []
    if stage == "octaves":
        if facts.rows is None:
            queries.append(("rows", ask.row_count(frame)))
        if facts.released_units:
            queries.append(("units", ask.column_histograms(frame, facts.magnitudes, facts.released_units)))
        queries.append(("targets", _targets(facts, state)))
    elif stage == "places":
        if _has_places(facts):
            query = ask.place_histograms(frame, bins_of(facts, state), facts.layout.numbers, target=facts.family.link is None)
            queries.append(("places", query))
        if facts.layout.categories:
            queries.append(("levels", ask.level_counts(frame)))
    elif stage == "scatter":
        queries.append(("scatter", ask.scatter(frame)))
    elif stage == "lengths":
        queries.append(("lengths", ask.length_histogram(frame, LENGTHS)))
    else:
        queries.append(("steps", _step(facts, state, turn)))
    return [_noisy(facts, query, state.noise, share_of(facts, kind, state.needed, turn)) for kind, query in queries]


def _targets(facts: Facts, state: BoundedState) -> Query:
    """What is asked of the target alone."""
    if facts.classes:
        return ask.class_counts(state.frame, facts.classes)
    return (
        ask.answer_counts(state.frame)
        if facts.family.target == "yes or no"
        else ask.target_histogram(state.frame, facts.targets)
    )


def _has_places(facts: Facts) -> bool:
    """Whether columns are centred: with a constant, where there is something to place."""
    return facts.layout.intercept and bool(facts.layout.numbers or facts.family.link is None)


def share_of(facts: Facts, kind: str, needed: float, turn: int = 0) -> float:
    """Of mu^2, for one release; from public facts alone."""
    released = {
        "rows": facts.rows is None,
        "units": bool(facts.released_units),
        "targets": True,
        "places": _has_places(facts),
        "levels": bool(facts.layout.categories),
        "scatter": True,
        "lengths": True,
        "steps": True,
    }
    size = facts.layout.size
    whole = math.fsum(facts.parts.weight(each, size) for each, given in released.items() if given)
    part = facts.parts.weight(kind, size) / whole
    if kind == "steps":
        plenty = math.inf if facts.setting.size is None else facts.setting.size / needed
        return part * step_shares(plenty, facts.iterations, facts.tuning, fresh=facts.abundant)[turn]
    return part / facts.rounds if kind == "scatter" else part


def bins_of(facts: Facts, state: BoundedState) -> EqualBins:
    """Of the numbers in units of the frame, and of the target: around the middles, as far as columns reach.

    The ends of a column's range lie in the middle of a bin, so that atoms there (zeros, ones) are placed exactly.
    """
    units = state.frame.units
    windows = [
        tuple(end / units[place] for end in declared.window(units[place]))
        for place, declared in zip(facts.layout.numbers, facts.numbers(), strict=True)
    ]
    if facts.family.link is None:
        windows.append(facts.target().window(state.spread))
    bins = min(max(round(8.0 * state.plenty), 10), 64)
    widths = tuple(max((high - low) / (bins - 1), 0.0) for low, high in windows)
    lows = tuple(low - width / 2.0 for (low, _), width in zip(windows, widths, strict=True))
    return EqualBins(lows=lows, widths=widths, bins=bins)


def _step(facts: Facts, state: BoundedState, turn: int) -> Query:
    schedule, now = state.schedule(facts.iterations, facts.tuning), state.filter
    mix = mix_for(carried_by(facts, schedule, turn), facts.setting.neighbours)
    if facts.classes:
        contrasts, size = contrasts_of(facts.classes), facts.layout.size
        position = np.zeros((facts.classes - 1, size)) if now is None else now.position.reshape(-1, size)
        return class_step(state.frame, contrasts @ position, mix)
    if now is None:  # the plan: what it costs does not depend on where it is
        return _planned_step(state.frame, facts.layout.size, mix, state.link or facts.family.residuals)
    if state.link is not None:
        return step(state.frame, now.position, 1.0, mix, state.link)
    now = scored_by(now, facts.family.residuals, schedule)
    threshold = used_threshold(now, schedule, facts.least_threshold)
    threshold = threshold / 4.0 if is_probe(now, schedule) else threshold
    return step(state.frame, now.position, threshold, mix, now.score)


def carried_by(facts: Facts, schedule: Schedule, turn: int) -> Carried:
    """What a step carries: of many classes the scatter alone, because their curvature has too many entries."""
    many = facts.classes * facts.layout.size > MOST_CURVED
    return Carried.SCATTER if many else schedule.carried[turn]


@lru_cache(maxsize=8)
def _planned_step(frame: Frame, size: int, mix: Mix, score: ResidualScore | LinkScore) -> Query:
    """The steps of a plan that carry the same are one query."""
    return step(frame, np.zeros(size), 1.0, mix, score)


def _noisy(facts: Facts, query: Query, noise: float, share: float) -> Pair:
    """The query with noise that is a multiple of its distance: its mu is sqrt(share) / noise."""
    metric = "frobenius" if query.name == "scatter" else "l2"
    distance = next(found for found in facts.setting.distances(query) if found.metric == metric)
    scale = distance.value * noise / math.sqrt(share)
    return query, SymmetricGaussian(scale=scale) if metric == "frobenius" else Gaussian(scale=scale)
