"""A plan of one pass less than are made."""

import sys
from dataclasses import replace
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory

CAUGHT_BY = "the_plan_covers_what_is_charged"


class Wrong(Averaging):
    def plan(self, noise):
        return replace(super().plan(noise), times=self.passes - 1)


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "plan-forgets-an-iteration")]
