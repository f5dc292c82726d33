"""Sensitivity: search for a pair of neighbouring datasets whose values are further apart than is claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dpkit.core.checks import whole_number
from dpkit.core.distances import Distance
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Block, Query
from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array, asfloat

Step = tuple[Block | None, Block | None]
"""A record that goes and a record that comes; None for neither. Rows are blocks of one."""
Generator = Callable[[np.random.Generator], Step]
"""Draws one neighbour step; hypothesis strategies are wrapped into it by dpkit.testing."""

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
    query: Query, neighbours: Neighbours, steps: Iterable[Step] | Generator, *, tries: int = 10_000, rng: int = 0
) -> Excess | None:
    """The first step that moves the sum too far, made as simple as it can be; None where none of the tries does.

    A query is a sum of row contributions, so a step moves it by what came less what went. It sees wrong bounds on
    contributions; it cannot see a contribution that depends on other rows, which a law of queries checks.
    """
    tries = whole_number(tries, field="tries", where="search_sensitivity", minimum=1)
    claimed = tuple(query.sensitivity(neighbours))
    for number, step in enumerate(_drawn(steps, np.random.default_rng(rng))):
        if number >= tries:
            return None
        for distance in claimed:
            if _too_far(query, step, distance, neighbours):
                return _told(query, _shrunk(query, step, distance, neighbours), distance)
    return None


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


def _too_far(query: Query, step: Step, distance: Distance, neighbours: Neighbours) -> bool:
    gone, came = step
    if neighbours is Neighbours.ADD_REMOVE and gone is not None and came is not None:
        return False  # not one step of this relation
    found = length(moved(query, step), distance.metric)
    return not found <= distance.value * (1.0 + _SLACK)  # NaN is too far


def _shrunk(query: Query, step: Step, distance: Distance, neighbours: Neighbours) -> Step:
    """A simpler step that is still too far: entries set to zero, then rounded to few digits, one at a time."""
    for side in (0, 1):
        block = step[side]
        if block is None:
            continue
        for place in np.ndindex(block.shape):
            for simpler in (0.0, float(np.sign(block[place])), round(float(block[place]), 2)):
                trial = block.copy()
                trial[place] = simpler
                candidate: Step = (trial, step[1]) if side == 0 else (step[0], trial)
                if simpler != block[place] and _too_far(query, candidate, distance, neighbours):
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
