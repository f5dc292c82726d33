"""A list in the state grows in place."""

import sys
from dataclasses import replace
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, State, factory, total

CAUGHT_BY = "a_step_is_pure"


class Wrong(Averaging):
    def init(self, noise):
        return State(noise=noise, values=[])

    def step(self, state, curator):
        state.values.append(float(curator.release(total(self.column), self.mechanism(state.noise))))
        return replace(state)


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "step-changes-its-state")]
