"""The state takes the number of rows from the query: no value of a row, and private all the same."""

import sys
from dataclasses import replace
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory, total

CAUGHT_BY = "the_state_holds_no_data"


class Wrong(Averaging):
    def step(self, state, curator):
        count = 0.0
        honest = total(self.column)

        def rows(block):
            nonlocal count
            count += len(block)
            return honest.rows(block)

        value = float(curator.release(replace(honest, rows=rows), self.mechanism(state.noise)))
        return replace(state, values=(*state.values, value / max(1.0, count)))


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "state-counts-rows")]
