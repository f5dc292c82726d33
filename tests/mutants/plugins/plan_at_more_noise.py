"""A plan at twice the noise that is used."""

import sys
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory

CAUGHT_BY = "the_plan_covers_what_is_charged"


class Wrong(Averaging):
    def plan(self, noise):
        return super().plan(2.0 * noise)


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "plan-at-more-noise")]
