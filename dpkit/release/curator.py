"""The curator: the only object that sees data and randomness. It prices, charges durably, evaluates, adds noise, returns.

And the purse that it pays from: a plan in memory, or a run of a ledger.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpkit.contracts.engine import CountsRows, DeclaresSetting, Engine
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.private_keys import HoldsKeys, KeyHolders, KeyQuery, ReleasedKeys
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.data.without_warnings import quietly
from dpkit.debugging import show
from dpkit.errors import InvalidValueError, PlanExceededError, ReleaseFailedError, kind_of
from dpkit.numerics.noise.randomness import is_secure, is_simulated, secure_generator
from dpkit.numerics.rounding import sqrt_up
from dpkit.privacy.events import Compose, Event, flatten
from dpkit.privacy.neighbours import Distance, Neighbours, l1, l2, linf
from dpkit.release.ledger.entries import Charge
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.noise import check_delivery, release_exactly
from dpkit.values import dataclass

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
    keys: tuple[str, ...] = ()


class Purse:
    """Charges before anything is released, and keeps what was released. What was planned can be charged, once.

    With a ledger it is a run of that ledger, whose whole plan is reserved here; without one, it forgets when the process ends.
    """

    def __init__(
        self, plan: Event, *, run: str = "run", ledger: Ledger | None = None, analysis: str = "", data: str = ""
    ) -> None:
        self._left = dict(flatten(plan))
        self._run = run
        self._ledger = ledger
        self._count = 0
        self.reserved = None if ledger is None else ledger.reserve(run, plan, analysis=analysis, data=data)

    def charge(self, event: Event, *, key: str) -> Charge:
        """Take the event out of the plan, then pay, durably; `PlanExceededError`, and nothing taken, where it is not in it.

        Each of its releases takes the cheapest that covers it, by the order that events of its kind declare: the same one,
        where it is left. What a ledger released under this key before comes back unpaid.
        """
        left = dict(self._left)
        for leaf, times in flatten(event).items():
            covering = [planned for planned in left if planned.covers(leaf)]
            for planned in sorted(covering, key=lambda one: [float(getattr(one, name)) for name in one.cheaper_below]):
                used = min(times, left[planned])
                left[planned] -= used
                times -= used
            if times:
                raise PlanExceededError(run=self._run, plan="a plan without room for it", asked=repr(leaf))
        self._left = left
        self._count += 1
        if self._ledger is None:
            return Charge(run=self._run, key=key, seq=self._count)
        return self._ledger.charge(self._run, event, key=key)

    def released(self, charge: Charge, value: object) -> None:
        """Record the value; only then may it go out."""
        if self._ledger is not None:
            self._ledger.released(charge, value)

    def failed(self, charge: Charge, reason: str) -> None:
        """Record that a charge came to nothing; it stays spent."""
        if self._ledger is not None:
            self._ledger.failed(charge, reason)

    def close(self) -> None:
        """Give back what was reserved and never charged."""
        if self._ledger is not None:
            self._ledger.close_run(self._run)


class DataCurator:
    """Releases queries through mechanisms. Hand algorithms its `door`, which has the two methods and no way to the rows.

    `rng` is for simulations: with it, everything that comes out is stamped. Without it each release draws from a fresh secure
    stream, so that processes after a fork share no bits.
    """

    def __init__(
        self, *, engine: Engine, setting: Setting, purse: Purse, rng: np.random.Generator | None = None, prefix: str = ""
    ) -> None:
        check_agreement(engine, setting)
        if rng is None:
            secure_generator()  # here, not in a release: what is missing must show before anything is charged
        self._engine = engine
        self._setting = setting
        self._purse = purse
        self._rng = rng
        self._prefix = prefix
        self.trace: list[Released] = []
        """What went out so far, in order."""

    def __repr__(self) -> str:
        return f"DataCurator(releases={len(self.trace)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a curator holds the way to the data and does not leave its process")

    @property
    def door(self) -> CuratorDoor:
        """What an algorithm gets."""
        return CuratorDoor(self)

    def release(self, query: Query, mechanism: Mechanism) -> Value:
        """The noisy value of one query."""
        return self.release_all([(query, mechanism)])[0]

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[Value, ...]:
        """Several noisy values from one pass over the data and one charge.

        Everything that can be refused is refused first, from public facts, before anything is charged.
        """
        queries, mechanisms = [query for query, _ in pairs], [mechanism for _, mechanism in pairs]
        if not queries:
            raise InvalidValueError(field="pairs", found=(), allowed="at least one query with a mechanism", where="release_all")
        events = []
        for query, mechanism in pairs:
            check_delivery(query, mechanism)
            events.append(planned_event(self._setting, query, mechanism))
        self._engine.check(queries)
        event = events[0] if len(events) == 1 else Compose(events=tuple(events))
        asked = "+".join(f"{query.name}({','.join(query.columns)})" for query in queries)
        key = f"{self._prefix}{len(self.trace)}:{asked}"
        charge = self._purse.charge(event, key=key)
        if charge.is_released:
            values = _as_arrays(charge.value, len(queries))
        else:
            values, failure = self._draw(queries, mechanisms)
            if failure:
                self._purse.failed(charge, failure)
                if failure == "KeyboardInterrupt":  # an interrupt or an exit goes on, without what it said
                    raise KeyboardInterrupt
                if failure == "SystemExit":
                    raise SystemExit(1)
                raise ReleaseFailedError(queries=[query.name for query in queries], kind=failure)
            self._purse.released(charge, values)
        self.trace.append(
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

    def release_keys(self, query: KeyQuery, mechanism: Mechanism) -> ReleasedKeys:
        """The keys that enough people have: charged, then drawn. What stays in leaves no trace, nor does its number."""
        if not isinstance(self._engine, HoldsKeys):
            allowed = "an engine of one machine, such as `blocks`: this one cannot look for keys"
            raise InvalidValueError(field="engine", found=type(self._engine).__name__, allowed=allowed, where="release_keys")
        event = planned_keys(self._setting, query, mechanism)
        key = f"{self._prefix}{len(self.trace)}:{query.name}({query.column})"
        charge = self._purse.charge(event, key=key)
        found: ReleasedKeys | None = None
        if charge.is_released:
            found = _as_keys(charge.value)
        else:
            found, failure = self._draw_keys(self._engine, query, mechanism)
            if found is None:
                self._purse.failed(charge, failure)
                if failure == "KeyboardInterrupt":
                    raise KeyboardInterrupt
                if failure == "SystemExit":
                    raise SystemExit(1)
                raise ReleaseFailedError(queries=[query.name], kind=failure)
            self._purse.released(charge, {"keys": list(found.texts), "numbers": np.asanyarray(found.numbers)})
        self.trace.append(
            Released(
                key=key,
                queries=(query.name,),
                mechanisms=(repr(mechanism),),
                event=event,
                values=(np.asanyarray(found.numbers),),
                simulation=(self._rng is not None and not is_secure(self._rng)) or is_simulated(found.numbers),
                keys=found.texts,
            )
        )
        return found

    def _draw_keys(self, engine: HoldsKeys, query: KeyQuery, mechanism: Mechanism) -> tuple[ReleasedKeys | None, str]:
        """The keys that come out, or the kind of what went wrong, as for other releases."""
        try:
            with quietly():
                rng = secure_generator() if self._rng is None else self._rng
                held = engine.key_holders(query.column)
                numbers = mechanism.release(_key_values(held, mechanism), rng)
                out = np.flatnonzero(np.asarray(numbers) != 0)
                texts = sorted((held.texts[place], place) for place in out.tolist())
                places = np.array([place for _, place in texts], dtype=np.intp)
                return ReleasedKeys(texts=tuple(text for text, _ in texts), numbers=numbers[places]), ""
        except KeyboardInterrupt:
            return None, "KeyboardInterrupt"
        except SystemExit:
            return None, "SystemExit"
        except BaseException as error:  # noqa: BLE001 - as below
            show(error, of="a release")
            return None, kind_of(error)

    def _draw(self, queries: Sequence[Query], mechanisms: Sequence[Mechanism]) -> tuple[tuple[Value, ...], str]:
        """The noisy values, or the kind of what went wrong. Nothing else of that leaves: no message, no frames, no warning; nor
        does it itself, as the context of an error that is raised while it is handled. All of them may hold rows.
        """
        try:
            with quietly():
                rng = secure_generator() if self._rng is None else self._rng
                pairs = zip(self._engine.evaluate(queries), mechanisms, strict=True)
                return tuple(np.asanyarray(release_exactly(total, mechanism, rng)) for total, mechanism in pairs), ""
        except KeyboardInterrupt:
            return (), "KeyboardInterrupt"
        except SystemExit:
            return (), "SystemExit"
        except BaseException as error:  # noqa: BLE001 - as above
            show(error, of="a release")
            return (), kind_of(error)


class CuratorDoor:
    """The curator as algorithms see it. Python can hide nothing from code that wants to look; this keeps honest code honest."""

    __slots__ = ("__release", "__release_all", "__release_keys")

    def __init__(self, curator: DataCurator) -> None:
        self.__release = curator.release
        self.__release_all = curator.release_all
        self.__release_keys = curator.release_keys

    def release(self, query: Query, mechanism: Mechanism) -> Value:
        """The noisy value of one query."""
        return self.__release(query, mechanism)

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[Value, ...]:
        """Several noisy values from one pass over the data and one charge."""
        return self.__release_all(pairs)

    def release_keys(self, query: KeyQuery, mechanism: Mechanism) -> ReleasedKeys:
        """The keys that enough people have."""
        return self.__release_keys(query, mechanism)

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


def planned_keys(setting: Setting, query: KeyQuery, mechanism: Mechanism) -> Event:
    """What releasing keys with this noise costs: a person holds as many keys as rows are used of them (docs/proofs/keys.md).

    Each key that a person holds moves by one; weights of a person have a norm of one. A replaced person may leave all of theirs
    for others, which doubles the number of keys, and the square of the norm.
    """
    unit = getattr(setting, "unit", None)
    keys, both = getattr(unit, "at_most", 1), 2 if setting.neighbours is Neighbours.REPLACE_ONE else 1
    if query.column not in setting.columns:
        raise InvalidValueError(field="column", found=query.column, allowed="a declared column", where="keys")
    return mechanism.event(at=(l1(float(both * keys)), l2(sqrt_up(Fraction(both))), linf(1.0)))


def _key_values(held: KeyHolders, mechanism: Mechanism) -> npt.NDArray[np.generic]:
    """What the mechanism is given: weights of people by how many keys they hold, or, where each holds one, their number."""
    weight = getattr(mechanism, "weight", None)
    if weight is None:
        return np.asarray(held.people.sum(axis=1))
    weights = np.array([weight(keys) for keys in range(1, held.people.shape[1] + 1)])
    return np.asarray(held.people @ weights)  # whole multiples of 2**-20: exact


def _as_keys(value: object) -> ReleasedKeys:
    if not isinstance(value, dict) or not isinstance(value.get("keys"), list):
        allowed = "what this run released before"
        raise InvalidValueError(field="value", found=type(value).__name__, allowed=allowed, where="release_keys")
    return ReleasedKeys(texts=tuple(map(str, value["keys"])), numbers=np.asanyarray(value["numbers"]))


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


def _as_arrays(value: object, count: int) -> tuple[Value, ...]:
    if not isinstance(value, tuple) or len(value) != count:
        raise InvalidValueError(
            field="value", found=type(value).__name__, allowed="what this run released before", where="release_all"
        )
    return tuple(np.asanyarray(item) for item in value)
