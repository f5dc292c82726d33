"""A result that needs the first value, also when there is none yet."""

import sys
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory

CAUGHT_BY = "degenerate_data_gives_an_answer"


class Wrong(Averaging):
    def result(self, state):
        return state.values[0]


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "no-answer-when-cancelled")]
