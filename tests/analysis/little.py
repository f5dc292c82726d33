"""A small plugin for the tests of analyses: noisy totals of columns, and algorithms that misbehave."""

from dataclasses import dataclass, replace

import numpy as np

import dpkit
from dpkit.release.curator import planned_event

STEP = 2.0**-20


def total_query(column, bounds):
    lower, upper = bounds
    largest = max(abs(lower), abs(upper), 1.0)

    def rows(block):
        return np.trunc(block[:, 0] / largest / STEP) * STEP

    def sensitivity(neighbours):
        width = 2.0 if neighbours is dpkit.Neighbours.REPLACE_ONE else 1.0
        return dpkit.l1(width), dpkit.l2(width)

    return dpkit.Query(
        name="total",
        columns=(column,),
        rows=rows,
        shape=(),
        grid=STEP,
        bound=1.0,
        sensitivity=sensitivity,
        because=dpkit.Citation(key="DMNS06", locator="section 3.2"),
    )


@dataclass(frozen=True)
class State:
    noise: float
    values: tuple = ()


@dataclass(frozen=True)
class Total:
    """The total of a column from several noisy passes; `extra` passes are released and not planned."""

    setting: object
    column: str
    passes: int = 1
    extra: int = 0
    kind: str = "gaussian"

    def query(self):
        return total_query(self.column, self.setting.range(self.column))

    def mechanism(self, noise):
        return dpkit.Gaussian(scale=noise) if self.kind == "gaussian" else dpkit.Laplace(scale=noise)

    def plan(self, noise):
        event = planned_event(self.setting, self.query(), self.mechanism(noise))
        return dpkit.Repeat(event=event, times=self.passes)

    def init(self, noise):
        return State(noise=noise)

    def step(self, state, curator):
        value = curator.release(self.query(), self.mechanism(state.noise))
        return replace(state, values=(*state.values, float(value)))

    def finished(self, state):
        return len(state.values) >= self.passes + self.extra

    def result(self, state):
        low, high = self.setting.range(self.column)
        unit = max(abs(low), abs(high), 1.0)
        return {"total": unit * sum(state.values) / len(state.values)} if state.values else None

    def accuracy(self, noise, confidence):
        low, high = self.setting.range(self.column)
        return {"total": max(abs(low), abs(high), 1.0) * self.mechanism(noise).accuracy((), confidence)}


def make_total(setting, *, column, passes, noise):
    setting.range(column)
    return Total(setting=setting, column=column, passes=passes, kind=noise)


def make_greedy(setting, *, column):
    return Total(setting=setting, column=column, extra=1)


COLUMN = dpkit.Parameter(name="column", kind="text", doc="The column to add up.")


@dpkit.hookimpl
def dpkit_algorithms():
    return [
        dpkit.AlgorithmFactory(
            name="total",
            doc="The total of a column.",
            make=make_total,
            parameters=(
                COLUMN,
                dpkit.Parameter(name="passes", kind="integer", doc="Noisy passes.", minimum=1, maximum=50, default=1),
                dpkit.Parameter(
                    name="noise", kind="choice", doc="The noise.", choices=("gaussian", "laplace"), default="gaussian"
                ),
            ),
        ),
        dpkit.AlgorithmFactory(name="greedy", doc="Releases more than it planned.", make=make_greedy, parameters=(COLUMN,)),
    ]
