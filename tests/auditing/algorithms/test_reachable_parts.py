"""Whatever hides a thing (a closure, a default, a slot, a bound method, an array's base), it is found."""

import math
from collections import deque
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from dpkit.auditing.algorithms.reachable_parts import differs, holds_number, parts

MARK = 81917.8203125


class Slotted:
    __slots__ = ("__hidden",)

    def __init__(self, hidden):
        self.__hidden = hidden

    def method(self):
        return self.__hidden


@dataclass
class Holder:
    held: object


def closure():
    held = MARK
    return lambda: held


HIDDEN = {
    "list": [[MARK]],
    "key of a mapping": {MARK: 1},
    "field": Holder(MARK),
    "slot": Slotted(MARK),
    "bound method": Slotted(MARK).method,
    "closure": closure(),
    "default": (lambda held=MARK: held),
    "array": np.array([0.0, MARK]),
    "base of a view": np.array([0.0, MARK])[:1],
    "array of objects": np.array([Holder(MARK)], dtype=object),
    "partial": partial(print, MARK),
    "keyword of a partial": partial(print, end=MARK),
    "deque": deque([MARK]),
    "iterator": iter([MARK]),
    "generator": (item for item in [MARK]),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_number_is_found_wherever_it_is(name):
    assert holds_number(HIDDEN[name], frozenset({MARK}))
    assert not holds_number(HIDDEN[name], frozenset({MARK + 1.0}))


def test_a_thing_that_holds_itself_is_walked_once():
    loop = []
    loop.append(loop)
    assert list(parts(loop)) == [loop]


def test_equal_parts_do_not_differ():
    assert not differs(
        Holder([math.nan, {"a": np.array([1.0, math.nan])}]), Holder([math.nan, {"a": np.array([1.0, math.nan])}])
    )
    for other in (Holder([1.0]), Holder([math.nan, {"b": np.zeros(2)}]), [math.nan], None):
        assert differs(Holder([math.nan, {"a": np.zeros(2)}]), other)
