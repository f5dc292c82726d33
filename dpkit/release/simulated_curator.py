"""The made-up curator: it prices and charges as the real one does, and answers what it is told to. It has no real data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from dpkit.contracts.engine import Engine
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.private_keys import KeyQuery, ReleasedKeys
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.numerics.exact_sums import ExactSum
from dpkit.privacy.events import Compose
from dpkit.release.curator import Purse, planned_event, planned_keys
from dpkit.values import dataclass

Value = npt.NDArray[np.float64]
Asked = tuple[Query, Mechanism]
MADE_UP_KEYS = ("made-up key 1", "made-up key 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One release that is asked for: its place in the run, and the query's total by each engine."""

    turn: int
    query: Query
    mechanism: Mechanism
    totals: tuple[ExactSum, ...]


class SimulatedCurator:
    """Answers each request by a function, and notes in `asked` what it was asked. A rehearsal, audits and laws use it.

    With a setting every release is priced, with a purse it is charged. Every query is evaluated over the made-up rows of each
    engine before its answer is given: whatever a query's function keeps of rows, it has then seen them.
    """

    def __init__(
        self,
        answer: Callable[[Request], Value],
        *,
        setting: Setting,
        purse: Purse | None = None,
        engines: Sequence[Engine] = (),
    ) -> None:
        self._answer = answer
        self._setting = setting
        self._purse = purse
        self._engines = engines
        self.asked: list[Asked] = []

    def release(self, query: Query, mechanism: Mechanism) -> Value:
        """The answer to one query."""
        return self.release_all([(query, mechanism)])[0]

    def release_keys(self, query: KeyQuery, mechanism: Mechanism) -> ReleasedKeys:
        """Two keys that nobody holds, whatever the rows say: enough to see what an algorithm does with keys."""
        event = planned_keys(self._setting, query, mechanism)
        if self._purse is not None:
            self._purse.charge(event, key=f"keys of {len(self.asked)}")
        return ReleasedKeys(texts=MADE_UP_KEYS, numbers=np.array([100.0, 200.0]))

    def release_all(self, pairs: Sequence[Asked]) -> tuple[Value, ...]:
        """The answers to several, as one charge."""
        events = [planned_event(self._setting, query, mechanism) for query, mechanism in pairs]
        if self._purse is not None:
            self._purse.charge(events[0] if len(events) == 1 else Compose(events=tuple(events)), key=str(len(self.asked)))
        totals = [engine.evaluate([query for query, _ in pairs]) for engine in self._engines]
        answers = []
        for place, (query, mechanism) in enumerate(pairs):
            found = tuple(each[place] for each in totals)
            self.asked.append((query, mechanism))
            answers.append(self._answer(Request(turn=len(self.asked) - 1, query=query, mechanism=mechanism, totals=found)))
        return tuple(answers)
