"""A small honest algorithm for the tests of curator and driver: averages a column over several noisy passes."""

from dataclasses import dataclass, replace

import numpy as np

import dpkit
from dpkit.release.curator import planned_event

STEP = 2.0**-20


def total_query(name="total", column="x"):
    def rows(block):
        return np.trunc(block[:, 0] / STEP) * STEP

    return dpkit.Query(
        name=name,
        columns=(column,),
        rows=rows,
        shape=(),
        grid=STEP,
        bound=1.0,
        sensitivity=lambda neighbours: (dpkit.l1(1.0), dpkit.l2(1.0)),
        because=dpkit.Citation(key="dpkit", locator="tests"),
    )


@dataclass(frozen=True)
class State:
    noise: float
    values: tuple = ()


@dataclass(frozen=True)
class Averaging:
    """`passes` releases of the total; finished when all are there."""

    setting: object
    passes: int = 3

    def mechanism(self, noise):
        return dpkit.Gaussian(scale=noise)

    def plan(self, noise):
        event = planned_event(self.setting, total_query(), self.mechanism(noise))
        return dpkit.Repeat(event=event, times=self.passes)

    def init(self, noise):
        return State(noise=noise)

    def step(self, state, curator):
        value = curator.release(total_query(), self.mechanism(state.noise))
        return replace(state, values=(*state.values, float(value)))

    def finished(self, state):
        return len(state.values) >= self.passes

    def result(self, state):
        return sum(state.values) / len(state.values) if state.values else None
