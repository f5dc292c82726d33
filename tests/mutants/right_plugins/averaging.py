"""A total over several noisy passes, which stops early once it is far from zero: an honest algorithm."""

from dataclasses import dataclass, replace

import numpy as np

import dpkit

STEP = 2.0**-20


def total(column):
    def rows(block):
        return np.trunc(np.clip(np.nan_to_num(block[:, 0]), 0.0, 1.0) / STEP) * STEP

    return dpkit.Query(
        name="total",
        columns=(column,),
        rows=rows,
        shape=(),
        grid=STEP,
        bound=1.0,
        sensitivity=lambda neighbours: (dpkit.l1(1.0), dpkit.l2(1.0)),
        because=dpkit.Citation(key="DR14", locator="sum"),
    )


@dataclass(frozen=True)
class State:
    noise: float
    values: tuple = ()


@dataclass(frozen=True)
class Averaging:
    """At most `passes` releases; a value beyond 1000 in magnitude ends it."""

    setting: dpkit.Setting
    column: str
    passes: int

    def mechanism(self, noise):
        return dpkit.Gaussian(scale=noise)

    def plan(self, noise):
        event = dpkit.planned_event(self.setting, total(self.column), self.mechanism(noise))
        return dpkit.Repeat(event=event, times=self.passes)

    def init(self, noise):
        return State(noise=noise)

    def step(self, state, curator):
        value = curator.release(total(self.column), self.mechanism(state.noise))
        return replace(state, values=(*state.values, float(value)))

    def finished(self, state):
        return len(state.values) >= self.passes or any(abs(value) > 1000.0 for value in state.values)

    def result(self, state):
        return sum(state.values) / max(1, len(state.values))


def factory(make, name):
    """One algorithm of this class, under this name."""
    return dpkit.AlgorithmFactory(
        name=name,
        doc="A total over several passes.",
        make=lambda setting, column, passes: make(setting=setting, column=column, passes=passes),
        parameters=(
            dpkit.Parameter(name="column", kind="text", doc="A column.", examples=("x",)),
            dpkit.Parameter(name="passes", kind="integer", doc="How often.", minimum=1, maximum=20, examples=(3, 1)),
        ),
    )


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Averaging, "averaging")]
