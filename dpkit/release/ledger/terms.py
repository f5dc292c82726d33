"""The terms of a ledger: fixed when it is created, part of its chain, and held against whoever opens it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields

from dpkit.contracts.accountant import Accountant, AnyAccountant
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError, LedgerDisagreementError, NoFilterTheoremError, SerialisationError
from dpkit.pricing.filters import PrivacyFilter, filtering_names, open_filter
from dpkit.pricing.serialise import dump, parse
from dpkit.privacy.checks import instance_of, nonempty_text, whole_number
from dpkit.privacy.gauges import Gauge, Gauging
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours

Unit = str | Mapping[str, object]
"""What one person may be: "row", or {"column": name, "at_most": rows}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTerms:
    """What all runs on one ledger have agreed to.

    `schema` is the fingerprint of the declared columns (see `fingerprint`), empty when none was declared. `slack` and `order`
    are those of the filter (`dpkit.privacy_filter`).
    """

    budget: Loss
    accountant: AnyAccountant
    neighbours: Neighbours
    unit: Unit = "row"
    dataset: str
    schema: str = ""
    slack: float = 0.0
    order: float | None = None

    def __post_init__(self) -> None:
        instance_of(self.budget, Loss, field="budget", where="ledger", allowed="a privacy loss such as ZCDP(rho=0.5)")
        instance_of(self.accountant, Accountant, field="accountant", where="ledger", allowed="an Accountant")
        instance_of(self.neighbours, Neighbours, field="neighbours", where="ledger", allowed="a member of Neighbours")
        nonempty_text(self.dataset, field="dataset", where="ledger")
        instance_of(self.schema, str, field="schema", where="ledger", allowed="a fingerprint, or an empty string")
        object.__setattr__(self, "unit", checked_unit(self.unit))

    def filter(self, registry: Registry) -> PrivacyFilter:
        """The unspent filter of these terms; `NoFilterTheoremError` where no theorem covers them."""
        return open_filter(
            self.budget,
            accountant=self.accountant,
            registry=registry,
            neighbours=self.neighbours,
            slack=self.slack,
            order=self.order,
        )

    def gauge(self, registry: Registry) -> Gauge:
        """How the filter of these terms counts."""
        theorem = self.filter(registry).theorem
        gauge = theorem.accountant.gauge(theorem.limit) if isinstance(theorem.accountant, Gauging) else None
        if gauge is None:
            raise NoFilterTheoremError(
                accountant=self.accountant.name,
                reason="it has a filter, but no gauge that counts its states exactly.",
                able=filtering_names(registry),
            )
        return gauge

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
        }

    @staticmethod
    def from_json(written: Mapping[str, object], *, registry: Registry) -> LedgerTerms:
        """The terms that `as_json` wrote; `SerialisationError` for anything else."""
        names = {part.name for part in fields(LedgerTerms)}
        if written.keys() != names:
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
                    ledger=_shown(fixed),
                    given=_shown(value),
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
    text = json.dumps(declared, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _shown(value: object) -> object:
    return str(value) if isinstance(value, Neighbours) else value
