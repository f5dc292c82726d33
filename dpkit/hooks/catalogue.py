"""What each hook may return and where that goes in the registry: the one table that loading, listing and docs read."""

from __future__ import annotations

from collections.abc import Mapping

from dpkit.contracts.accountant import Accountant
from dpkit.contracts.auditor import Auditor
from dpkit.contracts.command import Command
from dpkit.contracts.factories import AlgorithmFactory, EngineFactory, Factory, MechanismFactory, NeighbourPairs, QueryFactory
from dpkit.contracts.ledger_store import LedgerStoreFactory
from dpkit.contracts.zoo import ZooEntry
from dpkit.privacy.claims import LossRule
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """`hook` returns items of `product`; they are kept in the registry's `field`, unique by name among their `kind`."""

    hook: str
    field: str
    kind: str
    product: type


CATALOGUE: tuple[Contribution, ...] = (
    Contribution(hook="dpkit_mechanisms", field="mechanisms", kind="mechanism", product=MechanismFactory),
    Contribution(hook="dpkit_loss_rules", field="rules", kind="loss rule", product=LossRule),
    Contribution(hook="dpkit_accountants", field="accountants", kind="accountant", product=Accountant),
    Contribution(hook="dpkit_algorithms", field="algorithms", kind="algorithm", product=AlgorithmFactory),
    Contribution(hook="dpkit_queries", field="queries", kind="query", product=QueryFactory),
    Contribution(hook="dpkit_auditors", field="auditors", kind="auditor", product=Auditor),
    Contribution(hook="dpkit_neighbour_pairs", field="neighbour_pairs", kind="neighbour pairs", product=NeighbourPairs),
    Contribution(hook="dpkit_engines", field="engines", kind="engine", product=EngineFactory),
    Contribution(hook="dpkit_sources", field="sources", kind="source", product=Factory),
    Contribution(hook="dpkit_zoo", field="zoo", kind="zoo entry", product=ZooEntry),
    Contribution(hook="dpkit_commands", field="commands", kind="command", product=Command),
    Contribution(hook="dpkit_ledger_stores", field="ledger_stores", kind="ledger store", product=LedgerStoreFactory),
)
BY_HOOK: Mapping[str, Contribution] = {contribution.hook: contribution for contribution in CATALOGUE}
