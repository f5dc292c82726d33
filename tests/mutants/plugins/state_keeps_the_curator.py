"""The state keeps the door to the data for later."""

import sys
from dataclasses import dataclass
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, State, factory

CAUGHT_BY = "the_state_holds_no_data"


class Wrong(Averaging):
    def step(self, state, curator):
        following = super().step(state, curator)
        return Keeping(noise=state.noise, values=following.values, curator=curator)


@dataclass(frozen=True)
class Keeping(State):
    curator: object = None


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "state-keeps-the-curator")]
