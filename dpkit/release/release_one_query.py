"""`run: release`: one release of any registered query with any registered mechanism that suits it."""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from dpkit.contracts.algorithm import Curator
from dpkit.contracts.factories import AlgorithmFactory, QueryFactory
from dpkit.contracts.parameters import Choice, Parameter, as_choice
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.hooks.manager import default_registry
from dpkit.privacy.events import Event
from dpkit.release.noise import ADDITIVE, ScaledNoise, expected_error, noise_for
from dpkit.values import dataclass

CONFIDENCE = 0.95
_VALUES = (*ADDITIVE, "symmetric", "scores")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What came out of a mechanism. `error` bounds it in every entry with this confidence, where the mechanism says so."""

    query: str
    mechanism: str
    value: npt.NDArray[np.generic] = field(repr=False)
    error: float | None
    confidence: float

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, texts and lists."""
        plain = {"query": self.query, "mechanism": self.mechanism, "value": np.asarray(self.value).tolist()}
        return plain if self.error is None else {**plain, "error": self.error, "confidence": self.confidence}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryState:
    """The noise multiplier, and what was released, if anything."""

    noise: float
    released: npt.NDArray[np.generic] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneQuery:
    """An algorithm of one step: the total of a query, through a mechanism."""

    setting: Setting
    query: Query
    noise: ScaledNoise

    def plan(self, noise: float) -> Event:
        """One release: what the curator will charge, because both ask the same question."""
        from dpkit.release.curator import planned_event  # and with it the ledger, which listing plugins does not need

        return planned_event(self.setting, self.query, self.noise.at(noise))

    def init(self, noise: float) -> QueryState:
        """Nothing released yet."""
        return QueryState(noise=noise)

    def step(self, state: QueryState, curator: Curator) -> QueryState:
        """The release."""
        return replace(state, released=curator.release(self.query, self.noise.at(state.noise)))

    def finished(self, state: QueryState) -> bool:
        """After one step."""
        return state.released is not None

    def result(self, state: QueryState) -> Release | None:
        """What was released, with its error; None where nothing was."""
        if state.released is None:
            return None
        name, error = self.noise.factory.name, self.accuracy(state.noise)
        return Release(query=self.query.name, mechanism=name, value=state.released, error=error, confidence=CONFIDENCE)

    def accuracy(self, noise: float, confidence: float = CONFIDENCE) -> float | None:
        """The mechanism's own bound on the error of every entry; None where it has none, or gives no estimate of the total."""
        if self.noise.factory.values == "scores":
            return None
        found = expected_error(self.noise.at(noise), self.query.shape, confidence)
        return found if np.isfinite(found) else None


def chosen_query(query: object) -> Query:
    """A registered query by name, from checked parameters."""
    choice = as_choice(query)
    if choice is None:
        allowed = "the name of a query, or {NAME: {parameters}}"
        raise InvalidValueError(field="query", found=query, allowed=allowed, where="release")
    known: tuple[QueryFactory, ...] = choice.among or default_registry().queries
    for factory in known:
        if factory.name == choice.name:
            return factory.build(**choice.parameters)
    raise UnknownNameError(kind="query", name=choice.name, known=[factory.name for factory in known])


def _release(setting: Setting, *, query: Choice, mechanism: Choice) -> OneQuery:
    chosen = chosen_query(query)
    for column in chosen.columns:
        if column not in setting.columns:
            raise UnknownNameError(kind="declared column", name=column, known=setting.columns)
    return OneQuery(setting=setting, query=chosen, noise=noise_for(setting, chosen, mechanism, values=_VALUES))


RELEASE = AlgorithmFactory(
    name="release",
    doc="Any registered query, released once with any registered mechanism that suits it.",
    make=_release,
    parameters=(
        Parameter(name="query", kind="query", doc="What is added up: a query of a plugin, with its parameters."),
        Parameter(
            name="mechanism",
            kind="mechanism",
            doc="The noise: any registered mechanism whose metric suits the query.",
            default="gaussian",
            examples=("gaussian", "laplace"),
        ),
    ),
)
