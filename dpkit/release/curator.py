"""The curator: the only object that sees data and randomness. It prices, charges durably, evaluates, adds noise, returns."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.contracts.engine import CountsRows, DeclaresSetting, Engine
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.data.silence import quietly
from dpkit.data.summing.delivery import check_delivery, release_exactly
from dpkit.debugging import show
from dpkit.errors import InvalidValueError, ReleaseFailedError, kind_of
from dpkit.numerics.noise.randomness import is_secure, secure_generator
from dpkit.numerics.noise.simulated import is_simulated
from dpkit.privacy.events import Compose, Event
from dpkit.privacy.neighbours import Distance
from dpkit.release.purses import Purse

Value = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """One release as the trace keeps it: what was asked, with which noise, at which price, and what came out."""

    key: str
    queries: tuple[str, ...]
    mechanisms: tuple[str, ...]
    event: Event
    values: tuple[Value, ...]
    simulation: bool


class DataCurator:
    """Releases queries through mechanisms. Hand algorithms its `door`, which has the two methods and no way to the rows.

    `rng` is for simulations: with it, everything that comes out is stamped. Without it each release draws from a fresh secure
    stream, so that processes after a fork share no bits.
    """

    def __init__(
        self, *, engine: Engine, setting: Setting, purse: Purse, rng: np.random.Generator | None = None, prefix: str = ""
    ) -> None:
        check_agreement(engine, setting)
        self._engine = engine
        self._setting = setting
        self._purse = purse
        self._rng = rng
        self._prefix = prefix
        self._trace: list[Released] = []

    def __repr__(self) -> str:
        return f"DataCurator(releases={len(self._trace)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a curator holds the way to the data and does not leave its process")

    @property
    def trace(self) -> tuple[Released, ...]:
        """What went out so far, in order."""
        return tuple(self._trace)

    @property
    def door(self) -> CuratorDoor:
        """What an algorithm gets."""
        return CuratorDoor(self)

    def release(self, query: Query, mechanism: Mechanism) -> Value:
        """The noisy value of one query."""
        return self.release_all([(query, mechanism)])[0]

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[Value, ...]:
        """Several noisy values from one pass over the data and one charge."""
        queries, mechanisms, event = self._priced(pairs)
        asked = "+".join(f"{query.name}({','.join(query.columns)})" for query in queries)
        key = f"{self._prefix}{len(self._trace)}:{asked}"
        charge = self._purse.charge(event, key=key)
        if charge.is_released:
            values = _as_arrays(charge.value, len(queries))
        else:
            values, failure = self._drawn_or_failure(queries, mechanisms)
            if failure:
                self._purse.failed(charge, failure)
                raise _replaced(failure, queries)
            self._purse.released(charge, values)
        self._trace.append(
            Released(
                key=key,
                queries=tuple(query.name for query in queries),
                mechanisms=tuple(map(repr, mechanisms)),
                event=event,
                values=values,
                simulation=(self._rng is not None and not is_secure(self._rng)) or any(map(is_simulated, values)),
            )
        )
        return values

    def _priced(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[list[Query], list[Mechanism], Event]:
        """Everything that can be refused is refused here, from public facts, before anything is charged."""
        queries = [query for query, _ in pairs]
        mechanisms = [mechanism for _, mechanism in pairs]
        if not queries:
            raise InvalidValueError(field="pairs", found=(), allowed="at least one query with a mechanism", where="release_all")
        events = []
        for query, mechanism in pairs:
            check_delivery(query, mechanism)
            events.append(planned_event(self._setting, query, mechanism))
        self._engine.check(queries)
        return queries, mechanisms, events[0] if len(events) == 1 else Compose(events=tuple(events))

    def _drawn_or_failure(self, queries: Sequence[Query], mechanisms: Sequence[Mechanism]) -> tuple[tuple[Value, ...], str]:
        """The noisy values, or the kind of what went wrong. Nothing else of that leaves: no message, no frames, no warning; nor
        does it itself, as the context of an error that is raised while it is handled. All of them may hold rows.
        """
        try:
            with quietly():
                return self._drawn(queries, mechanisms), ""
        except KeyboardInterrupt:
            return (), "KeyboardInterrupt"
        except SystemExit:
            return (), "SystemExit"
        except BaseException as error:  # noqa: BLE001 - as above
            show(error, of="a release")
            return (), kind_of(error)

    def _drawn(self, queries: Sequence[Query], mechanisms: Sequence[Mechanism]) -> tuple[Value, ...]:
        rng = secure_generator() if self._rng is None else self._rng
        totals = self._engine.evaluate(queries)
        return tuple(
            np.asanyarray(release_exactly(total, mechanism, rng)) for total, mechanism in zip(totals, mechanisms, strict=True)
        )


class CuratorDoor:
    """The curator as algorithms see it. Python can hide nothing from code that wants to look; this keeps honest code honest."""

    __slots__ = ("__release", "__release_all")

    def __init__(self, curator: DataCurator) -> None:
        self.__release = curator.release
        self.__release_all = curator.release_all

    def release(self, query: Query, mechanism: Mechanism) -> Value:
        """The noisy value of one query."""
        return self.__release(query, mechanism)

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[Value, ...]:
        """Several noisy values from one pass over the data and one charge."""
        return self.__release_all(pairs)

    def __repr__(self) -> str:
        return "CuratorDoor()"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a curator's door does not leave its process")


def check_agreement(engine: Engine, setting: Setting) -> None:
    """Refuse a plan for one dataset on the rows of another: relation, unit and columns must be those of the engine's source.

    So must a declared number of rows where it is public: answers are divided by it. Where it is private it is a guess that
    nobody may hold against the data; no price depends on it.
    """
    declared = engine.setting if isinstance(engine, DeclaresSetting) else None
    if declared is None:
        return
    for field in ("neighbours", "unit", "schema"):
        if hasattr(setting, field) and getattr(setting, field) != getattr(declared, field):
            raise InvalidValueError(
                field=field,
                found=getattr(setting, field),
                allowed=f"what the source declares, {getattr(declared, field)}",
                where="DataCurator",
                fix="Plan and read with one declaration.",
            )
    if setting.size is not None and setting.size_is_public and isinstance(engine, CountsRows):
        found = engine.public_rows()
        if found is not None and found != setting.size:
            raise InvalidValueError(
                field="rows",
                found=setting.size,
                allowed=f"the number of rows, which is public here: {found}",
                where="setting",
                fix="Correct it: the plan was made with it. Nothing was charged.",
            )


def planned_event(setting: Setting, query: Query, mechanism: Mechanism) -> Event:
    """What releasing this query with this noise costs in this setting: plans and charges ask here, so they agree."""
    distances = tuple(setting.distances(query))
    try:
        return mechanism.event(at=distances)  # every distance that is known: the mechanism takes the one that suits it
    except (TypeError, AttributeError):
        return _event_at_one(mechanism, distances, where=query.name)


def _event_at_one(mechanism: Mechanism, distances: Sequence[Distance], *, where: str) -> Event:
    """The event of a mechanism that can take one distance only: at the first that it accepts.

    One that does not even look at the metric gets the L1 distance, which bounds those in L2 and Linf, or nothing at all.
    """
    try:
        mechanism.event(at=Distance(metric="a metric of nobody", value=1.0))
        suiting = [distance for distance in distances if distance.metric == "l1"]
    except InvalidValueError:
        suiting = list(distances)
    for distance in suiting:
        with contextlib.suppress(InvalidValueError):
            return mechanism.event(at=distance)
    known = ", ".join(distance.metric for distance in distances) or "none"
    allowed = f"a mechanism that takes a distance in a metric that is known here ({known})"
    fix = "`event(at=)` takes one distance, or all: choose by the metric, with dpkit.authoring.distance_in."
    raise InvalidValueError(field="mechanism", found=type(mechanism).__name__, allowed=allowed, where=where, fix=fix)


def _replaced(kind: str, queries: Sequence[Query]) -> BaseException:
    """What is raised in place of what went wrong: an interrupt or an exit goes on, without what it said."""
    if kind == "KeyboardInterrupt":
        return KeyboardInterrupt()
    if kind == "SystemExit":
        return SystemExit(1)
    return ReleaseFailedError(queries=[query.name for query in queries], kind=kind)


def _as_arrays(value: object, count: int) -> tuple[Value, ...]:
    if not isinstance(value, tuple) or len(value) != count:
        raise InvalidValueError(
            field="value", found=type(value).__name__, allowed="what this run released before", where="release_all"
        )
    return tuple(np.asanyarray(item) for item in value)
