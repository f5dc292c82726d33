"""What an event costs a ledger: its JSON, its fingerprint and its exact amounts, worked out before any lock is taken."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from dpkit.contracts.guarantee import Part
from dpkit.contracts.registry import Registry
from dpkit.pricing.assess import assess
from dpkit.pricing.serialise import dump
from dpkit.privacy.events import Event
from dpkit.privacy.gauges import Amounts, plus
from dpkit.release.ledger.terms import LedgerTerms, fingerprint

_REMEMBERED = 4096
"""How many prices are kept: a run asks for the same few events over and over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedEvent:
    """An event as the log writes it, and its price."""

    written: object
    fingerprint: str
    amounts: Amounts


class Pricer:
    """Prices events under the terms of one ledger: by proved rules alone, and by the accountant of its filter theorem."""

    def __init__(self, terms: LedgerTerms, registry: Registry) -> None:
        self.filter = terms.filter(registry)
        self.gauge = terms.gauge(registry)
        self._registry = registry
        self._known: dict[Event, PricedEvent] = {}

    def price(self, event: Event) -> PricedEvent:
        """The event's price; `UnpricedEventError` where no theorem gives one."""
        found = self._known.get(event)
        if found is None:
            guarantee = assess(
                event,
                accountant=self.filter.theorem.accountant,
                registry=self._registry,
                neighbours=self.filter.neighbours,
            )
            written = json.loads(dump(event))
            found = PricedEvent(written=written, fingerprint=fingerprint(written), amounts=self._amounts(guarantee.parts))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[event] = found
        return found

    def _amounts(self, parts: Iterable[Part]) -> Amounts:
        """Part by part, each as often as it happens: a plan then costs exactly what its releases cost one by one."""
        total = self.gauge.zero
        for part in parts:
            total = plus(total, tuple(amount * part.times for amount in self.gauge.measure(part.state)))
        return total
