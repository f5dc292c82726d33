"""Sensitivity: search for a pair of neighbouring datasets whose values are further apart than is claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dpkit.contracts.query import Block, Query
from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import whole_number
from dpkit.privacy.neighbours import Distance, Neighbours

Step = tuple[Block | None, Block | None]
"""A record that goes and a record that comes; None for neither. Rows are blocks of one."""
Generator = Callable[[np.random.Generator], Step]
"""Draws one neighbour step; hypothesis strategies are wrapped into it by dpkit.testing."""
Within = Callable[[Block], Block]
"""Maps any row to one that the data may hold."""

_SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A neighbour step that moves the query by more than its sensitivity says: a proof, up to rounding."""

    query: str
    claimed: Distance
    found: float
    gone: str
    came: str


def search_sensitivity(
    query: Query,
    neighbours: Neighbours,
    steps: Iterable[Step] | Generator,
    *,
    tries: int = 10_000,
    rng: int = 0,
    within: Within | None = None,
) -> Excess | None:
    """The first step that moves the sum too far, made as simple as it can be; None where none of the tries does.

    A query is a sum of row contributions, so a step moves it by what came less what went. `within` maps any row to one that
    the data may hold (clipping to declared bounds, say): with it the step that moves the sum furthest is climbed from, and what
    is found stays among such rows. It sees wrong bounds on contributions; it cannot see a contribution that depends on other
    rows, which a law of queries checks.
    """
    tries = whole_number(tries, field="tries", where="search_sensitivity", minimum=1)
    claimed = tuple(query.sensitivity(neighbours))
    stream = np.random.default_rng(rng)
    furthest: dict[Distance, tuple[float, Step]] = {}
    for step in islice(_drawn(steps, stream), tries):
        for distance in claimed:
            size = _size(query, step, distance, neighbours)
            if _exceeds(size, distance):
                return _told(query, _shrunk(query, step, distance, neighbours, within), distance)
            if size > furthest.get(distance, (0.0, step))[0]:
                furthest[distance] = (size, step)
    if within is not None:
        for distance, (size, step) in furthest.items():
            climbed = _climbed(query, step, size, distance, within)
            if _exceeds(_size(query, climbed, distance, neighbours), distance):
                return _told(query, _shrunk(query, climbed, distance, neighbours, within), distance)
    return None


def _climbed(query: Query, step: Step, size: float, distance: Distance, within: Within) -> Step:
    """Entry by entry, both ways, to where the sum moves further, by strides that shrink."""
    for stride in (1e6, 1e3, 10.0, 1.0, 0.3, 0.1, 0.03, 0.01):
        for side in (0, 1):
            block = step[side]
            if block is None:
                continue
            for place in np.ndindex(block.shape):
                for move in (stride, -stride):
                    trial = block.astype(np.float64)
                    trial[place] += move
                    trial = within(trial)
                    candidate: Step = (trial, step[1]) if side == 0 else (step[0], trial)
                    found = length(moved(query, candidate), distance.metric)
                    if found > size:
                        step, block, size = candidate, trial, found
    return step


def moved(query: Query, step: Step) -> Array:
    """By how much a step moves the sum."""
    change = np.zeros(query.shape)
    for sign, block in ((-1.0, step[0]), (1.0, step[1])):
        if block is not None:
            change = change + sign * asfloat(np.sum(query.rows(block), axis=0)).reshape(query.shape)
    return change


MEASURED = ("l1", "l2", "linf", "frobenius", "rank_one")
"""The metrics in which a change can be measured."""


def length(change: Array, metric: str) -> float:
    """The size of a change in a metric."""
    if metric in ("l2", "frobenius"):
        return float(np.sqrt(np.sum(change * change)))
    if metric == "l1":
        return float(np.sum(np.abs(change)))
    if metric == "linf":
        return float(np.max(np.abs(change), initial=0.0))
    if metric == "rank_one":
        return float(np.max(np.abs(np.linalg.eigvalsh(change)), initial=0.0))
    raise InvalidValueError(field="metric", found=metric, allowed=", ".join(MEASURED), where="sensitivity")


def _drawn(steps: Iterable[Step] | Generator, rng: np.random.Generator) -> Iterable[Step]:
    if callable(steps):
        while True:
            yield steps(rng)
    yield from steps


def _size(query: Query, step: Step, distance: Distance, neighbours: Neighbours) -> float:
    """How far a step moves the sum; 0 where it is not one step: who comes and who goes are two under add-remove."""
    if neighbours is Neighbours.ADD_REMOVE and step[0] is not None and step[1] is not None:
        return 0.0
    return length(moved(query, step), distance.metric)


def _exceeds(size: float, distance: Distance) -> bool:
    return not size <= distance.value * (1.0 + _SLACK)  # NaN is too far


def _shrunk(query: Query, step: Step, distance: Distance, neighbours: Neighbours, within: Within | None) -> Step:
    """A simpler step that is still too far: entries set to zero, then rounded to few digits, one at a time."""
    for side in (0, 1):
        block = step[side]
        if block is None:
            continue
        for place in np.ndindex(block.shape):
            for simpler in (0.0, float(np.sign(block[place])), round(float(block[place]), 2)):
                trial = block.copy()
                trial[place] = simpler
                trial = trial if within is None else within(trial)
                candidate: Step = (trial, step[1]) if side == 0 else (step[0], trial)
                if simpler != block[place] and _exceeds(_size(query, candidate, distance, neighbours), distance):
                    step, block = candidate, trial
                    break
    return step


def _told(query: Query, step: Step, distance: Distance) -> Excess:
    texts = ["none" if block is None else repr(block.tolist()) for block in step]
    return Excess(
        query=query.name,
        claimed=distance,
        found=length(moved(query, step), distance.metric),
        gone=texts[0],
        came=texts[1],
    )
