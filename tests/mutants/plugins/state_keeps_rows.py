"""The query keeps the block that it sees, and the state takes it from there."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, State, factory, total

CAUGHT_BY = "the_state_holds_no_data"


class Wrong(Averaging):
    def step(self, state, curator):
        seen = []
        honest = total(self.column)

        def rows(block):
            seen.append(block)
            return honest.rows(block)

        value = float(curator.release(replace(honest, rows=rows), self.mechanism(state.noise)))
        return Keeping(noise=state.noise, values=(*state.values, value), seen=tuple(seen))


@dataclass(frozen=True)
class Keeping(State):
    seen: object = None


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "state-keeps-rows")]
