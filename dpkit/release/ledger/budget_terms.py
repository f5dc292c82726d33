"""The terms of a ledger: fixed when it is created, part of its chain, held against whoever opens it; and prices under them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields

from dpkit.contracts.accountant import Accountant, AnyAccountant
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError, LedgerDisagreementError, NoFilterTheoremError, SerialisationError
from dpkit.pricing.assess import assess
from dpkit.pricing.filters import filtering_names, open_filter
from dpkit.pricing.serialise import dump, parse
from dpkit.privacy.checks import instance_of, nonempty_text, whole_number
from dpkit.privacy.events import Event
from dpkit.privacy.filter_amounts import Amounts, Gauge, Gauging, plus
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.ledger.entries import canonical, digest
from dpkit.values import dataclass

Unit = str | Mapping[str, object]
"""What one person may be: "row", or {"column": name, "at_most": rows}."""

_REMEMBERED = 4096
"""How many prices are kept: a run asks for the same few events over and over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTerms:
    """What all runs on one ledger have agreed to.

    `schema` is the fingerprint of the declared columns (see `fingerprint`), empty when none was declared. `slack` and `order`
    are those of the filter (`dpkit.privacy_filter`). With `approval`, a run charges nothing before somebody else approves it.
    """

    budget: Loss
    accountant: AnyAccountant
    neighbours: Neighbours
    unit: Unit = "row"
    dataset: str
    schema: str = ""
    slack: float = 0.0
    order: float | None = None
    approval: bool = False

    def __post_init__(self) -> None:
        instance_of(self.budget, Loss, field="budget", where="ledger", allowed="a privacy loss such as ZCDP(rho=0.5)")
        instance_of(self.accountant, Accountant, field="accountant", where="ledger", allowed="an Accountant")
        instance_of(self.neighbours, Neighbours, field="neighbours", where="ledger", allowed="a member of Neighbours")
        nonempty_text(self.dataset, field="dataset", where="ledger")
        instance_of(self.schema, str, field="schema", where="ledger", allowed="a fingerprint, or an empty string")
        instance_of(self.approval, bool, field="approval", where="ledger", allowed="True or False")
        object.__setattr__(self, "unit", checked_unit(self.unit))

    def as_json(self) -> dict[str, object]:
        """The terms as they stand in the first entry of the log."""
        return {
            "budget": json.loads(dump(self.budget)),
            "accountant": json.loads(dump(self.accountant)),
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "dataset": self.dataset,
            "schema": self.schema,
            "slack": self.slack,
            "order": self.order,
            **({"approval": True} if self.approval else {}),  # ledgers without it are as they always were
        }

    @staticmethod
    def from_json(written: Mapping[str, object], *, registry: Registry) -> LedgerTerms:
        """The terms that `as_json` wrote; `SerialisationError` for anything else."""
        names = {part.name for part in fields(LedgerTerms)}
        if written.keys() | {"approval"} != names:
            raise SerialisationError(reason=f"the terms do not fit ({', '.join(sorted(written.keys() ^ names))}).")
        body = dict(written)
        body["budget"] = parse(json.dumps(written["budget"]), registry=registry)
        body["accountant"] = parse(json.dumps(written["accountant"]), registry=registry)
        try:
            body["neighbours"] = Neighbours(written["neighbours"])
            return LedgerTerms(**body)  # type: ignore[arg-type]
        except (ValueError, TypeError) as error:
            raise SerialisationError(reason=f"the terms refuse their fields: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTerms:
    """What a run takes for granted about a ledger; what is None is not compared."""

    budget: Loss | None = None
    accountant: str | AnyAccountant | None = None
    neighbours: Neighbours | None = None
    unit: Unit | None = None
    dataset: str | None = None
    schema: str | None = None

    def check(self, terms: LedgerTerms, *, path: object, registry: Registry) -> None:
        """Refuse the first field in which the two differ, with both values."""
        given: dict[str, object] = {part.name: getattr(self, part.name) for part in fields(self)}
        if self.accountant is not None:
            given["accountant"] = registry.accountant(self.accountant)
        if self.unit is not None:
            given["unit"] = checked_unit(self.unit)
        for field, value in given.items():
            fixed = getattr(terms, field)
            if value is not None and value != fixed:
                raise LedgerDisagreementError(
                    path=path,
                    field=field,
                    ledger=str(fixed) if isinstance(fixed, Neighbours) else fixed,
                    given=str(value) if isinstance(value, Neighbours) else value,
                    fix="It was fixed when the ledger was created: use the ledger of this dataset, or agree with it.",
                )


def checked_unit(unit: object) -> Unit:
    """ "row", or a column with the limit on the rows of one person."""
    if unit == "row":
        return "row"
    if isinstance(unit, Mapping) and unit.keys() == {"column", "at_most"}:
        column = nonempty_text(unit["column"], field="unit.column", where="ledger")
        return {"column": column, "at_most": whole_number(unit["at_most"], field="unit.at_most", where="ledger", minimum=1)}
    allowed = '"row", or {"column": name, "at_most": rows a person}'
    raise InvalidValueError(field="unit", found=unit, allowed=allowed, where="ledger")


def fingerprint(declared: object) -> str:
    """A digest of what was declared (a schema, an analysis) as JSON: equal declarations have equal fingerprints."""
    return digest(canonical(declared))


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedEvent:
    """An event as the log writes it, and its price."""

    written: object
    fingerprint: str
    amounts: Amounts


class Pricer:
    """Prices events under the terms of one ledger: by proved rules alone, and by the accountant of its filter theorem.

    `NoFilterTheoremError` where no theorem covers the terms.
    """

    def __init__(self, terms: LedgerTerms, registry: Registry) -> None:
        self.filter = open_filter(
            terms.budget,
            accountant=terms.accountant,
            registry=registry,
            neighbours=terms.neighbours,
            slack=terms.slack,
            order=terms.order,
        )
        theorem = self.filter.theorem
        gauge = theorem.accountant.gauge(theorem.limit) if isinstance(theorem.accountant, Gauging) else None
        if gauge is None:
            raise NoFilterTheoremError(
                accountant=terms.accountant.name,
                reason="it has a filter, but no gauge that counts its states exactly.",
                able=filtering_names(registry),
            )
        self.gauge: Gauge = gauge
        self._registry = registry
        self._known: dict[Event, PricedEvent] = {}

    def price(self, event: Event) -> PricedEvent:
        """The event's price; `UnpricedEventError` where no theorem gives one.

        Part by part, each as often as it happens: a plan then costs exactly what its releases cost one by one.
        """
        found = self._known.get(event)
        if found is None:
            guarantee = assess(
                event,
                accountant=self.filter.theorem.accountant,
                registry=self._registry,
                neighbours=self.filter.neighbours,
            )
            total = self.gauge.zero
            for part in guarantee.parts:
                total = plus(total, tuple(amount * part.times for amount in self.gauge.measure(part.state)))
            written = json.loads(dump(event))
            found = PricedEvent(written=written, fingerprint=fingerprint(written), amounts=total)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[event] = found
        return found
