"""Whether what a target gives call after call is independent: a stranger's noise may come from a clock or a common stream.

Outputs of one call are looked at before an audit (`independence`). These tests are of the outputs in the order in which they
were drawn, at the end: where they depend on each other, they do not say what one release tells.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpkit.auditing.call_timer import TimeUp
from dpkit.auditing.draw_outputs import NotABatch, PairOutputs, flat
from dpkit.numerics.special import Array, asfloat

REPEATED = "successive outputs are the same too often"
TOGETHER = "successive outputs go up and down together"
CLOCKED = "the outputs change with the time alone"
ADVICE = "give every call random numbers of its own and audit again"
_LEAST, _ENTRIES, _SHUFFLES = 32, 2, 200
_FAR, _BEYOND = 8.0, 3
"""Standard deviations, and repetitions beside them, by which the count must exceed that of shuffled outputs."""
_RHO = 6.0
"""Standard deviations of a rank correlation: independent outputs are called dependent with probability below 1e-8."""
_DISTINCT = 0.9
_WAIT, _AGAIN = 1.1, 4
"""Seconds after which a clock of seconds shows another one; outputs that are drawn then."""


def find_succession(source: PairOutputs, *, wait: bool) -> str:
    """How successive outputs of a source depend on each other; nothing where no dependence is seen.

    Where each side gave one output again and again, and `wait` allows, a few more are drawn a second later.
    """
    sides = source.recent()
    for side in sides:
        found = depend(side)
        if found:
            return found
    if wait and all(len(side) >= _LEAST and (side == side[0]).all() for side in sides):
        return _clocked(source, [side[0] for side in sides])
    return ""


def depend(outputs: Array) -> str:
    """The same for outputs of one side, in the order in which they were drawn."""
    rows = flat(outputs)
    if len(rows) < _LEAST:
        return ""
    _, places = np.unique(rows, axis=0, return_inverse=True)
    places = places.ravel()
    if _repeats(places):
        return REPEATED
    return TOGETHER if any(_correlated(rows[:, entry]) for entry in range(min(rows.shape[1], _ENTRIES))) else ""


def _repeats(places: npt.NDArray[np.intp]) -> bool:
    """Whether more neighbours are equal than if the outputs were shuffled."""
    seen = int(np.count_nonzero(places[1:] == places[:-1]))
    if seen <= _BEYOND:
        return False
    rng = np.random.default_rng(len(places))
    shuffled = rng.permuted(np.tile(places, (_SHUFFLES, 1)), axis=1)
    counts = np.count_nonzero(shuffled[:, 1:] == shuffled[:, :-1], axis=1)
    return bool(seen > counts.mean() + _FAR * counts.std() + _BEYOND)


def _correlated(values: Array) -> bool:
    """Whether ranks of neighbours are correlated; of values that are nearly all distinct, for rare ones have no ranks."""
    distinct, ranks = np.unique(values, return_inverse=True)
    if distinct.size < _DISTINCT * values.size:
        return False
    centred = asfloat(ranks.ravel()) - ranks.mean()
    rho = float(centred[1:] @ centred[:-1] / (centred @ centred))
    return bool(abs(rho) * math.sqrt(values.size) > _RHO)


def _clocked(source: PairOutputs, usual: Sequence[Array]) -> str:
    """Whether both sides, which gave one output each, give others after a while."""
    time.sleep(_WAIT)
    try:
        later = source.draw(_AGAIN)
    except (NotABatch, TimeUp):
        return ""
    changed = [(flat(side) != before.ravel()).any(axis=1).all() for side, before in zip(later, usual, strict=True)]
    return CLOCKED if all(changed) else ""
