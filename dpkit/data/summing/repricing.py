"""By how much a query's total can move: the author's sensitivity, repriced for what really happens to rows.

Four things can widen it, each proved in docs/proofs/exact-sums.md: a dropped row contributes zero, a person has several rows,
contributions without a declared grid are cut to one, and a replaced row is at worst a removed and an added one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpkit.contracts.query import Query
from dpkit.data.columns.schema import ROW, PrivacyUnit
from dpkit.errors import InvalidValueError
from dpkit.numerics.exact_sums import grid_below
from dpkit.numerics.rounding import round_up, sqrt_up
from dpkit.privacy.neighbours import Distance, Neighbours, frobenius

# What one step in each of a number of coordinates adds to a norm. Only norms obey the triangle inequality and never grow
# when a coordinate shrinks; other metrics survive only where nothing has to be widened.
_STEP_IN: dict[str, Callable[[int], Fraction]] = {
    "l1": Fraction,
    "l2": lambda entries: Fraction(sqrt_up(Fraction(entries))),
    "frobenius": lambda entries: Fraction(sqrt_up(Fraction(entries))),
    "linf": lambda entries: Fraction(1),
}

_BOUNDS_ENTRIES = (*_STEP_IN, "rank_one")


def contribution_bound(query: Query) -> float:
    """The largest magnitude of an entry of a contribution: as declared, or the least of its norms under add-remove."""
    if query.bound is not None:
        return query.bound
    known = [item.value for item in query.sensitivity(Neighbours.ADD_REMOVE) if item.metric in _BOUNDS_ENTRIES]
    if not known or not min(known) > 0.0:
        raise InvalidValueError(
            field="bound",
            found=query.bound,
            allowed="the largest magnitude of an entry of a contribution",
            where=f"Query({query.name})",
            fix="Declare it, or an add-remove distance above 0 from which it follows.",
        )
    return min(known)


def contribution_grid(query: Query) -> float:
    """The grid of the query's contributions: as declared, or the engine's own, 2**-40 of the bound."""
    return query.grid if query.grid is not None else grid_below(contribution_bound(query))


def priced_distances(
    query: Query, neighbours: Neighbours, *, unit: PrivacyUnit = ROW, may_drop: bool = False
) -> tuple[Distance, ...]:
    """Every distance that is known between the exact totals of neighbouring datasets. Reads no data."""
    if neighbours is Neighbours.ADD_REMOVE:
        found = _cut(query, _by_metric(query, Neighbours.ADD_REMOVE))
    else:
        found = _replaced(query, contributes_nothing=may_drop or unit.column is not None)
    if unit.at_most > 1:
        found = {metric: distance.times(unit.at_most) for metric, distance in found.items() if metric in _STEP_IN}
    if not found:
        raise InvalidValueError(
            field="sensitivity",
            found=f"no distance that holds under {neighbours} here",
            allowed="l1, l2, linf or frobenius, under add-remove too where rows may be dropped",
            where=f"Query({query.name})",
        )
    return tuple(found.values())


def _replaced(query: Query, *, contributes_nothing: bool) -> dict[str, Distance]:
    """Under replace-one. Where a row may contribute nothing, the change from something to nothing is a change, too."""
    gone = _by_metric(query, Neighbours.ADD_REMOVE)
    twice = {metric: distance.times(2) for metric, distance in gone.items() if metric in _STEP_IN}
    found = _cut(query, {**twice, **_by_metric(query, Neighbours.REPLACE_ONE)}, replaced=True)
    if not contributes_nothing:
        return found
    gone = _cut(query, gone)
    both = [metric for metric in found if metric in gone]
    return {metric: max(found[metric], gone[metric], key=lambda distance: distance.value) for metric in both}


def _cut(query: Query, found: dict[str, Distance], *, replaced: bool = False) -> dict[str, Distance]:
    """What cutting contributions towards zero leaves: norms of one contribution never grow; differences by a step at most."""
    if query.grid is not None:
        return found
    norms = {metric: distance for metric, distance in found.items() if metric in _STEP_IN}
    if not replaced:
        return norms
    step, entries = Fraction(contribution_grid(query)), math.prod(query.shape)
    return {
        metric: Distance(metric=metric, value=round_up(Fraction(distance.value) + step * _STEP_IN[metric](entries)))
        for metric, distance in norms.items()
    }


def _by_metric(query: Query, neighbours: Neighbours) -> dict[str, Distance]:
    listed: Sequence[Distance] = query.sensitivity(neighbours)
    found: dict[str, Distance] = {}
    for distance in listed:
        if distance.metric not in found or distance.value < found[distance.metric].value:
            found[distance.metric] = distance
    if "rank_one" in found and "frobenius" not in found:  # c v v' has the Frobenius norm c
        found["frobenius"] = frobenius(found["rank_one"].value)
    return found
