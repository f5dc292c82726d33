"""Which answers of primitives a result shows: only what is shown is released, and only that has to be within the claim.

A program may hide what it was answered: a sparse vector returns an index, a noisy mean the quotient of two answers. Its claim
may hold though the answers together lose more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpkit.auditing.outcomes import canonical
from dpkit.auditing.recording.losses import loss_of
from dpkit.auditing.recording.tape import Call, Tape
from dpkit.numerics.special import Array

_MOST = 64
"""Answers that are looked for; each takes a run."""
_MOVED = 1.0
_ROUNDING = 1e-9


def shown_answers(tape: Tape, result: object, again: Callable[[Tape], object]) -> list[Call]:
    """The calls that lose something and whose answers stand in the result.

    One answer at a time is moved, and the program run `again` with it: where the same numbers of the result that were this
    answer are now the moved one, the result shows it. Each number of the result shows one answer.
    """
    before = canonical(result)
    free = set(range(len(before.numbers)))
    found = []
    certain = {id(call) for call in tape.certain if call.other_parameters is not None and loss_of(call) != []}
    for place, call in [(place, call) for place, call in enumerate(tape.calls) if id(call) in certain][:_MOST]:
        moved = _moved(call.answer)
        if moved is None:
            continue
        other = Tape()
        other.calls = [replace(one, other_value=None, other_parameters=None, given=[], other_given=[]) for one in tape.calls]
        other.calls[place].answer = moved
        other.rewind()
        after = canonical(again(other))
        if (after.kind, len(after.numbers)) != (before.kind, len(before.numbers)):
            continue
        one, two = _given(call, call.answer, replayed=False), _given(other.calls[place], moved, replayed=True)
        places = _places(one, two, np.array(before.numbers), np.array(after.numbers), free)
        if places:
            free -= places
            found.append(call)
    return found


def _moved(answer: object) -> object:
    """Another answer of the same kind; None where that is not known."""
    if isinstance(answer, bool | np.bool_):
        return not answer
    if isinstance(answer, list | tuple):
        parts = [_moved(part) for part in answer]
        return None if not parts or None in parts else type(answer)(parts)
    array = np.asarray(answer)
    if array.dtype.kind not in "iuf" or array.size == 0:
        return None
    moved = array + (_MOVED if array.dtype.kind == "f" else 1)
    return moved if isinstance(answer, np.ndarray) else type(answer)(moved)  # type: ignore[call-arg]


def _places(before: list[Array], after: list[Array], numbers: Array, others: Array, free: set[int]) -> set[int]:
    """Places in the result, one for each number, that held all of these numbers and now hold the others; empty without."""
    taken: set[int] = set()
    if not before or [part.shape for part in before] != [part.shape for part in after]:
        return taken
    for one, other in dict.fromkeys(zip(np.concatenate(before).tolist(), np.concatenate(after).tolist(), strict=True)):
        place = next(
            (j for j in sorted(free - taken) if _same(numbers[j], one) and _same(others[j], other) and one != other), None
        )
        if place is None:
            return set()
        taken.add(place)
    return taken


def _same(one: float, two: float) -> bool:
    return abs(one - two) <= _ROUNDING * max(1.0, abs(two))


def _given(call: Call, answer: object, *, replayed: bool) -> list[Array]:
    """The numbers that the program was given: the answer, or the sums of noise and values."""
    if isinstance(call.value, dict):
        return [np.ravel(part) for part in (call.other_given if replayed else call.given)]
    return [np.array(canonical(answer).numbers)]
