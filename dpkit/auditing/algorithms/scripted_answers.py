"""An algorithm under scripted answers: curators that follow a script, the scripts, and one way through an algorithm."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dpkit.contracts.algorithm import AnyAlgorithm, Curator
from dpkit.contracts.engine import Engine
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.privacy.events import Event, flatten
from dpkit.release.curator import Purse
from dpkit.release.driver import states_of
from dpkit.release.simulated_curator import Request, SimulatedCurator, Value
from dpkit.values import dataclass

Script = Callable[[int, Query], Value]
"""What a scripted curator answers to its n-th release."""


def scripted_curator(
    script: Script, *, setting: Setting, purse: Purse | None = None, engines: Sequence[Engine] = ()
) -> SimulatedCurator:
    """A curator whose answers are scripted, in the form in which the noise that is asked for answers."""

    def answer(asked: Request) -> Value:
        return _as_released(script(asked.turn, asked.query), asked.query, asked.mechanism)

    return SimulatedCurator(answer, setting=setting, purse=purse, engines=engines)


def _as_released(value: Value, query: Query, mechanism: Mechanism) -> Value:
    """The scripted number in the form in which this noise answers: whole numbers, or an index among the candidates."""
    given = np.asanyarray(value)
    try:
        sample = np.asarray(mechanism.release(np.zeros(query.shape), np.random.default_rng(0)))
    except (ValueError, TypeError):  # noise that takes integers only
        sample = np.asarray(mechanism.release(np.zeros(query.shape, dtype=np.int64), np.random.default_rng(0)))
    if given.shape != sample.shape:  # a choice: scripted scores choose the largest
        return np.asarray(np.argmax(given) if sample.shape == () else np.resize(given, sample.shape)).astype(sample.dtype)
    if sample.dtype.kind in "iu":
        return np.rint(np.clip(given, -(2.0**62), 2.0**62)).astype(sample.dtype)
    return given


def make_scripts(rng: np.random.Generator) -> dict[str, Script]:
    """Answers that no honest data would give often: zero, huge, negative, alternating, falling, random."""
    noise = rng.standard_normal(4096)
    return {
        "zeros": lambda turn, query: np.zeros(query.shape),
        "huge": lambda turn, query: np.full(query.shape, 1e30),
        "huge and negative": lambda turn, query: np.full(query.shape, -1e30),
        "alternating": lambda turn, query: np.full(query.shape, 1e6 * (-1.0) ** turn),
        "falling": lambda turn, query: np.full(query.shape, 10.0 ** (3 - 3 * turn)),
        "random": lambda turn, query: 50.0 * np.resize(np.roll(noise, turn), query.shape),
    }


def answer_again(values: Sequence[Value]) -> Script:
    """The same answers again; after the last of them, zeros."""
    return lambda turn, query: values[turn] if turn < len(values) else np.zeros(query.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One way through an algorithm: its states from the first to the last, and whether it ended by itself."""

    states: tuple[object, ...]
    done: bool


def walk(algorithm: AnyAlgorithm, curator: Curator, noise: float, *, most: int) -> Walk:
    """Every state from the first to the last, or until the given number of steps is done."""
    with silence():
        states = tuple(states_of(algorithm, curator, noise=noise, most=most))
    return Walk(states=states, done=bool(algorithm.finished(states[-1])))


def most_steps(plan: Event) -> int:
    """A step a release, and one to make up its mind."""
    return sum(flatten(plan).values()) + 1


@contextmanager
def silence() -> Iterator[None]:
    """Numbers made up by an adversary overflow; the driver judges states, not warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
