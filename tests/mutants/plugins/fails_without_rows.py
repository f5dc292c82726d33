"""A logarithm of the total: of no rows, it fails about every second time."""

import sys
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory

CAUGHT_BY = "degenerate_data_gives_an_answer"


class Wrong(Averaging):
    def result(self, state):
        if any(value <= 0.0 for value in state.values):
            raise ZeroDivisionError
        return super().result(state)


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "fails-without-rows")]
