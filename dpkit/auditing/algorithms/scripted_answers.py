"""An algorithm under scripted answers: curators that play a part, the scripts, and one way through an algorithm."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.contracts.algorithm import AnyAlgorithm, Curator
from dpkit.contracts.engine import Engine
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.privacy.events import Compose, Event, flatten
from dpkit.release.curator import planned_event
from dpkit.release.purses import Purse

Value = npt.NDArray[np.float64]
Player = Callable[[int, Query], Value]
"""What a played curator answers to its n-th release."""
Asked = tuple[Query, Mechanism]


class PlayedCurator:
    """It prices and charges as the real curator does, answers what it is told to, and notes in `asked` what it was asked.

    With an engine, every query is evaluated over its rows before the scripted answer is given: whatever a query's function
    keeps of the data it has then seen.
    """

    def __init__(self, setting: Setting, purse: Purse | None, player: Player, engine: Engine | None = None) -> None:
        self._setting = setting
        self._purse = purse
        self._player = player
        self._engine = engine
        self.asked: list[Asked] = []

    def release(self, query: Query, mechanism: Mechanism) -> Value:
        """The answer to one query."""
        return self.release_all([(query, mechanism)])[0]

    def release_all(self, pairs: Sequence[Asked]) -> tuple[Value, ...]:
        """The answers to several, as one charge."""
        events: list[Event] = [planned_event(self._setting, query, mechanism) for query, mechanism in pairs]
        if self._purse is not None:
            self._purse.charge(events[0] if len(events) == 1 else Compose(events=tuple(events)), key=str(len(self.asked)))
        if self._engine is not None:
            self._engine.evaluate([query for query, _ in pairs])
        answers = []
        for query, mechanism in pairs:
            answers.append(_as_released(self._player(len(self.asked), query), query, mechanism))
            self.asked.append((query, mechanism))
        return tuple(answers)


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


def players(rng: np.random.Generator) -> dict[str, Player]:
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


def replayed(values: Sequence[Value]) -> Player:
    """The same answers again; after the last of them, zeros."""
    return lambda turn, query: values[turn] if turn < len(values) else np.zeros(query.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """One way through an algorithm: its states from the first to the last, and whether it ended by itself."""

    states: tuple[object, ...]
    done: bool


def walked(algorithm: AnyAlgorithm, curator: Curator, noise: float, *, most: int) -> Path:
    """Every state from the first to the last, or until the given number of steps is done."""
    states = [algorithm.init(noise)]
    with silence():
        while not algorithm.finished(states[-1]) and len(states) <= most:
            states.append(algorithm.step(states[-1], curator))
    return Path(states=tuple(states), done=bool(algorithm.finished(states[-1])))


def most_steps(plan: Event) -> int:
    """A step a release, and one to make up its mind."""
    return sum(flatten(plan).values()) + 1


@contextmanager
def silence() -> Iterator[None]:
    """Numbers made up by an adversary overflow; the driver judges states, not warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
