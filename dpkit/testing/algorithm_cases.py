"""An algorithm under test: its factory, settings to try it in, data that is hard, and curators that play a part."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.core.algorithm import AnyAlgorithm
from dpkit.core.events import Compose, Event
from dpkit.core.factories import AlgorithmFactory
from dpkit.core.mechanism import Mechanism, OnGrid
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Query
from dpkit.core.registry import Registry
from dpkit.core.setting import Setting
from dpkit.data.columns import Boolean, Category, Column, Number
from dpkit.data.engine import BlockEngine
from dpkit.data.opening import open_source
from dpkit.data.schema import Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.data.unit import PrivacyUnit
from dpkit.errors import DpkitError
from dpkit.running.curator import DataCurator, planned_event
from dpkit.running.purses import Purse
from dpkit.testing.cases import typical_parameters
from dpkit.testing.conformance import LawNotApplicable

Value = npt.NDArray[np.float64]
Player = Callable[[int, Query], Value]
"""What a played curator answers to its n-th release."""

ROWS = 40
PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmSubject:
    """One algorithm, made from these parameters in this setting."""

    parameters: dict[str, object]
    setting: Setting
    algorithm: AnyAlgorithm

    def __str__(self) -> str:
        return f"with {self.parameters} under {self.setting.neighbours}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmCase:
    """A factory of algorithms and what the laws need beside it."""

    factory: AlgorithmFactory
    registry: Registry
    seed: int = 0

    def rng(self, *salt: int) -> np.random.Generator:
        """A generator of its own for each use: laws are deterministic given the seed."""
        return np.random.default_rng([self.seed, *salt])

    def subjects(self, limit: int = 4) -> list[AlgorithmSubject]:
        """In every setting, algorithms with typical parameters: the declared examples and defaults first."""
        settings = default_settings() if self.factory.settings is None else self.factory.settings()
        found = [subject for setting in settings for subject in itertools.islice(self._prepared(setting), limit)]
        assert found, "no typical parameters prepare this algorithm: declare `examples` for them, or `settings` that suit them"
        return found

    def _prepared(self, setting: Setting) -> Iterator[AlgorithmSubject]:
        for values in itertools.islice(typical_parameters(self.factory), 16):
            try:
                algorithm = self.factory.prepare(setting, **values)
                algorithm.plan(1.0)  # some look at their parameters only here
            except (DpkitError, ValueError):
                continue
            yield AlgorithmSubject(parameters=values, setting=setting, algorithm=algorithm)


def default_settings() -> list[DeclaredSetting]:
    """Both relations, a row and a person as the unit, rows that may be dropped and rows that may not."""
    kept = Schema(
        columns=(
            Number(name="x", lower=0.0, upper=1.0, missing=0.5),
            Number(name="y", lower=-3.0, upper=10.0, missing=0.0),
            Category(name="c", levels=("a", "b", "other"), missing="other", unknown="other"),
        )
    )
    dropped = Schema(
        columns=(
            Number(name="x", lower=0.0, upper=1.0),
            Number(name="y", lower=-3.0, upper=10.0),
            Category(name="c", levels=("a", "b", "other")),
        )
    )
    person = PrivacyUnit(column=PERSON, at_most=2)
    return [
        DeclaredSetting(schema=dropped, neighbours=Neighbours.ADD_REMOVE),
        DeclaredSetting(schema=kept, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=dropped, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=kept, neighbours=Neighbours.ADD_REMOVE, unit=person, rows=ROWS),
        DeclaredSetting(schema=kept, neighbours=Neighbours.REPLACE_ONE, unit=person),
    ]


def hard_tables(setting: Setting, rng: np.random.Generator) -> dict[str, dict[str, list[object]]]:
    """Datasets by name: none, one, equal, extreme, broken and ordinary rows."""
    columns = declared(setting).schema.columns
    return {
        "no row": _table(setting, {column.name: [] for column in columns}),
        "one row": _table(setting, {column.name: _cells(column, [0.3]) for column in columns}),
        "equal rows": _table(setting, {column.name: _cells(column, [1.0] * ROWS) for column in columns}),
        "lowest rows": _table(setting, {column.name: _cells(column, [0.0] * ROWS) for column in columns}),
        "broken rows": _table(setting, {column.name: list(_BROKEN) for column in columns}),
        "ordinary rows": _table(setting, {column.name: _cells(column, rng.random(ROWS).tolist()) for column in columns}),
    }


_BROKEN = (float("nan"), float("inf"), float("-inf"), None, "text", "", 1e308, -1e308, 5e-324)


def _cells(column: Column, shares: Sequence[float]) -> list[object]:
    """Cells at these places between the lower and the upper end of a column."""
    lower, upper = column.range
    if isinstance(column, Category):
        return [column.levels[round(share * upper)] for share in shares]
    if isinstance(column, Boolean):
        return [share > 0.5 for share in shares]
    return [lower + share * (upper - lower) for share in shares]


def _table(setting: Setting, cells: dict[str, list[object]]) -> dict[str, list[object]]:
    person = declared(setting).unit.column
    count = len(next(iter(cells.values())))
    return cells if person is None else {**cells, person: [f"p{place // 3}" for place in range(count)]}


def declared(setting: Setting) -> DeclaredSetting:
    """The setting with its schema, without which no data can be made up."""
    if not isinstance(setting, DeclaredSetting):
        raise LawNotApplicable("the kit makes up data for a DeclaredSetting only")
    return setting


class _AnySizeEngine(BlockEngine):
    """It does not count rows: a setting may declare more than a made-up table has, and laws hold for every number."""

    def public_rows(self) -> int | None:
        return None


def engine_over(setting: Setting, table: dict[str, list[object]]) -> BlockEngine:
    """An engine over a made-up table."""
    known = declared(setting)
    return _AnySizeEngine(open_source(table, known.schema, unit=known.unit, neighbours=known.neighbours))


def curator_over(setting: Setting, table: dict[str, list[object]], purse: Purse, rng: np.random.Generator) -> DataCurator:
    """A real curator over a made-up table."""
    return DataCurator(engine=engine_over(setting, table), setting=setting, purse=purse, rng=rng)


class PlayedCurator:
    """A curator without data: it prices and charges as the real one does, and answers what it is told to."""

    def __init__(self, setting: Setting, purse: Purse | None, player: Player) -> None:
        self._setting = setting
        self._purse = purse
        self._player = player
        self.releases = 0

    def release(self, query: Query, mechanism: Mechanism) -> Value:
        """The answer to one query."""
        return self.release_all([(query, mechanism)])[0]

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[Value, ...]:
        """The answers to several, as one charge."""
        events: list[Event] = [planned_event(self._setting, query, mechanism) for query, mechanism in pairs]
        if self._purse is not None:
            self._purse.charge(events[0] if len(events) == 1 else Compose(events=tuple(events)), key=str(self.releases))
        answers = []
        for query, mechanism in pairs:
            answers.append(_on_grid(self._player(self.releases, query), mechanism))
            self.releases += 1
        return tuple(answers)


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
    """The same answers again."""
    return lambda turn, query: values[turn]


def _on_grid(value: Value, mechanism: Mechanism) -> Value:
    """Integer noise answers in whole numbers."""
    whole = isinstance(mechanism, OnGrid) and mechanism.grid == 1.0
    return np.rint(value) if whole else np.asanyarray(value)
