"""An algorithm under test: its factory, and settings to try it in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpkit.auditing.algorithms.made_up_rows import Table, engine_over
from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.factories import AlgorithmFactory
from dpkit.contracts.registry import Registry
from dpkit.contracts.setting import Setting
from dpkit.data.columns.kinds import Category, Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import DpkitError
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.curator import DataCurator, Purse
from dpkit.testing.cases import typical_parameters
from dpkit.testing.conformance import LawNotApplicable

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
    """Both relations, a row and a person as the unit, rows that may be dropped and rows that may not, and ranges of both kinds.

    Within 0 and 1 a distance of one is right by chance, as is the upper end for the largest magnitude. In `wide` neither is.
    """
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
    wide = Schema(
        columns=(
            Number(name="x", lower=-6.0, upper=2.0),
            Number(name="y", lower=-10.0, upper=3.0),
            Category(name="c", levels=("a", "b", "other")),
        )
    )
    person = PrivacyUnit(column=PERSON, at_most=2)
    return [
        DeclaredSetting(schema=dropped, neighbours=Neighbours.ADD_REMOVE),
        DeclaredSetting(schema=kept, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=dropped, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=wide, neighbours=Neighbours.ADD_REMOVE, unit=person, rows=ROWS),
        DeclaredSetting(schema=wide, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=kept, neighbours=Neighbours.REPLACE_ONE, unit=person),
    ]


def declared(setting: Setting) -> DeclaredSetting:
    """The setting with its schema, without which no data can be made up."""
    if not isinstance(setting, DeclaredSetting):
        raise LawNotApplicable("the kit makes up data for a DeclaredSetting only")
    return setting


def curator_over(setting: Setting, table: Table, purse: Purse, rng: np.random.Generator) -> DataCurator:
    """A real curator over a made-up table."""
    return DataCurator(engine=engine_over(declared(setting), table), setting=setting, purse=purse, rng=rng)
