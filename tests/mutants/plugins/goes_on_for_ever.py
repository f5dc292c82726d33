"""It waits for a value that never comes, and releases nothing meanwhile."""

import sys
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory

CAUGHT_BY = "the_plan_covers_what_is_charged"


class Wrong(Averaging):
    def step(self, state, curator):
        return super().step(state, curator) if len(state.values) + 1 < self.passes else state

    def plan(self, noise):
        return dpkit.Repeat(event=super().plan(noise), times=1)


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "goes-on-for-ever")]
