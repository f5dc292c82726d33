"""A step adds noise of its own."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory

CAUGHT_BY = "a_step_is_pure"


class Wrong(Averaging):
    def step(self, state, curator):
        following = super().step(state, curator)
        return replace(following, values=(*state.values, following.values[-1] + float(np.random.default_rng().normal())))


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "step-with-its-own-dice")]
