"""The registry: everything that is known by name. A plain value, passed in; names are checked once, here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar

from dpkit.contracts.accountant import Accountant, AnyAccountant
from dpkit.contracts.auditor import Auditor
from dpkit.contracts.command import Command
from dpkit.contracts.factories import AlgorithmFactory, EngineFactory, Factory, MechanismFactory, NeighbourPairs, QueryFactory
from dpkit.contracts.ledger_store import LedgerStoreFactory
from dpkit.contracts.zoo import ZooEntry
from dpkit.errors import DuplicateNameError, InvalidValueError, UnknownNameError
from dpkit.privacy import events
from dpkit.privacy.claims import LossRule
from dpkit.privacy.events import Event
from dpkit.values import dataclass

Named = TypeVar("Named", bound=Factory[Any] | AnyAccountant | LedgerStoreFactory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Loss rules, accountants, and what plugins make by name; each unique by name within its kind.

    `problems` says in words which installed plugins were left out, so that a name that is missing can be explained.
    `foreign` holds, by name, the rules that speak of an event of somebody else, and in words whose they are: what is merely
    installed must not make another's releases cheaper, so they price only where the caller accepts them by name.
    """

    rules: tuple[LossRule, ...]
    accountants: tuple[AnyAccountant, ...]
    mechanisms: tuple[MechanismFactory, ...] = ()
    queries: tuple[QueryFactory, ...] = ()
    algorithms: tuple[AlgorithmFactory, ...] = ()
    auditors: tuple[Auditor, ...] = ()
    neighbour_pairs: tuple[NeighbourPairs, ...] = ()
    engines: tuple[EngineFactory, ...] = ()
    sources: tuple[Factory[Any], ...] = ()
    zoo: tuple[ZooEntry, ...] = ()
    commands: tuple[Command, ...] = ()
    ledger_stores: tuple[LedgerStoreFactory, ...] = ()
    problems: tuple[str, ...] = ()
    foreign: Mapping[str, str] = field(default_factory=dict)
    _by_event: dict[type[Event], tuple[LossRule, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for kind, items in (
            ("loss rule", self.rules),
            ("accountant", self.accountants),
            ("mechanism", self.mechanisms),
            ("query", self.queries),
            ("algorithm", self.algorithms),
            ("auditor", self.auditors),
            ("neighbour pairs", self.neighbour_pairs),
            ("engine", self.engines),
            ("source", self.sources),
            ("zoo entry", self.zoo),
            ("command", self.commands),
            ("ledger store", self.ledger_stores),
        ):
            _unique(kind, [item.name for item in items])
        _unique_classes({rule.event for rule in self.rules})
        object.__setattr__(self, "_by_event", {})

    def accountant(self, name_or_accountant: str | AnyAccountant) -> AnyAccountant:
        """The accountant of that name; an accountant object stands for itself."""
        if isinstance(name_or_accountant, Accountant):
            return name_or_accountant
        if not isinstance(name_or_accountant, str):
            allowed = "the name of an accountant, or an Accountant"
            raise InvalidValueError(field="accountant", found=name_or_accountant, allowed=allowed, where="account")
        return self._named("accountant", name_or_accountant, self.accountants)

    def mechanism(self, name: str) -> MechanismFactory:
        """The mechanism of that name."""
        return self._named("mechanism", name, self.mechanisms)

    def query(self, name: str) -> QueryFactory:
        """The query of that name."""
        return self._named("query", name, self.queries)

    def algorithm(self, name: str) -> AlgorithmFactory:
        """The algorithm of that name."""
        return self._named("algorithm", name, self.algorithms)

    def engine(self, name: str) -> EngineFactory:
        """The engine of that name."""
        return self._named("engine", name, self.engines)

    def source(self, name: str) -> Factory[Any]:
        """The source of that name."""
        return self._named("source", name, self.sources)

    def ledger_store(self, scheme: str) -> LedgerStoreFactory:
        """The kind of store whose addresses begin with this scheme."""
        return self._named("ledger store", scheme, self.ledger_stores)

    def _named(self, kind: str, name: str, items: tuple[Named, ...]) -> Named:
        for item in items:
            if item.name == name:
                return item
        note = f"Installed but left out: {' '.join(self.problems)}" if self.problems else ""
        raise UnknownNameError(kind=kind, name=name, known=[item.name for item in items], note=note)

    @property
    def accountant_names(self) -> tuple[str, ...]:
        """Every accountant's name, in the order of registration."""
        return tuple(accountant.name for accountant in self.accountants)

    def rules_for(self, kind: type[Event]) -> tuple[LossRule, ...]:
        """The rules that speak of this very kind of event."""
        found = self._by_event.get(kind)
        if found is None:
            found = tuple(rule for rule in self.rules if rule.event is kind)
            self._by_event[kind] = found
        return found

    def unused_rules(self, kind: type[Event]) -> tuple[str, ...]:
        """In words, the rules about this kind of event that do not price it unasked, because they are somebody else's."""
        return tuple(f"{rule.name}: {self.foreign[rule.name]}" for rule in self.rules_for(kind) if rule.name in self.foreign)

    def without(self, *names: str) -> Registry:
        """The same registry less these rules: what an analysis would cost if a theorem were not known."""
        known = {rule.name for rule in self.rules}
        for name in names:
            if name not in known:
                raise UnknownNameError(kind="loss rule", name=name, known=known)
        return replace(self, rules=tuple(rule for rule in self.rules if rule.name not in names))

    def extended(self, *, rules: Iterable[LossRule] = (), accountants: Iterable[AnyAccountant] = ()) -> Registry:
        """The same registry with more in it."""
        return replace(self, rules=(*self.rules, *rules), accountants=(*self.accountants, *accountants))


def _unique(kind: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DuplicateNameError(kind=kind, name=name, owners=["two contributors"])


def _unique_classes(kinds: set[type[Event]]) -> None:
    """Two event classes of one name could not be told apart in JSON."""
    own = (item for item in vars(events).values() if isinstance(item, type) and issubclass(item, Event))
    seen: dict[str, type[Event]] = {item.__name__: item for item in own}
    for kind in kinds:
        other = seen.setdefault(kind.__name__, kind)
        if other is not kind:
            owners = [f"{one.__module__}.{one.__qualname__}" for one in (other, kind)]
            raise DuplicateNameError(kind="event", name=kind.__name__, owners=owners)
