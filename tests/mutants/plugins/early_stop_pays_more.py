"""Before it stops early, it asks once more with less noise: on most data it never does."""

import sys
from dataclasses import replace
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory, total

CAUGHT_BY = "the_plan_covers_what_is_charged"


class Wrong(Averaging):
    def step(self, state, curator):
        following = super().step(state, curator)
        if following.values[-1] < -1000.0:
            value = curator.release(total(self.column), self.mechanism(state.noise / 2.0))
            return replace(following, values=(*following.values, float(value)))
        return following


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "early-stop-pays-more")]
