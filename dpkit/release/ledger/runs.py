"""What a run has reserved and spent, and what the ledger therefore holds for it: pure values, in exact amounts.

The total that the filter sees is the sum of `held` over all runs. Soundness needs one thing of it: that it is never below
what was charged. What is held beyond that is a promise among runs, so giving it back when a run closes is no refund: a filter
theorem composes the charges that were made, in whatever adaptive order, and a reservation charges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpkit.errors import SerialisationError
from dpkit.privacy.gauges import Amounts, larger, minus, plus, within
from dpkit.release.ledger.chain import read_amounts, written_amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAmounts:
    """One run's account. `plan` is None for a run that pays as it goes; `live` was charged and is pending or released, `lost`
    was charged and came to nothing: a crash, a failure.
    """

    plan: Amounts | None
    live: Amounts
    lost: Amounts
    is_open: bool = True

    @property
    def spent(self) -> Amounts:
        """Everything that was charged, whatever became of it."""
        return plus(self.live, self.lost)

    @property
    def held(self) -> Amounts:
        """What counts against the total: the whole plan until the run closes, and never less than what was charged."""
        return larger(self.plan, self.spent) if self.is_open and self.plan is not None else self.spent

    def covers(self, price: Amounts) -> bool:
        """Whether the plan has room. What was lost takes none: it is paid from the total, on top of the plan."""
        return self.plan is None or within(plus(self.live, price), self.plan)

    def charged(self, price: Amounts) -> RunAmounts:
        """After a charge."""
        return replace(self, live=plus(self.live, price))

    def failed(self, price: Amounts) -> RunAmounts:
        """After a charge came to nothing: it stays spent."""
        return replace(self, live=minus(self.live, price), lost=plus(self.lost, price))

    def closed(self) -> RunAmounts:
        """After the run ended."""
        return replace(self, is_open=False)

    def as_json(self) -> dict[str, object]:
        """As it stands in each entry of the run."""
        return {
            "plan": None if self.plan is None else written_amounts(self.plan),
            "live": written_amounts(self.live),
            "lost": written_amounts(self.lost),
            "open": self.is_open,
        }

    @staticmethod
    def from_json(written: object) -> RunAmounts:
        """What `as_json` wrote."""
        if not isinstance(written, Mapping) or written.keys() != {"plan", "live", "lost", "open"}:
            raise SerialisationError(reason="the account of a run is malformed.")
        return RunAmounts(
            plan=None if written["plan"] is None else read_amounts(written["plan"]),
            live=read_amounts(written["live"]),
            lost=read_amounts(written["lost"]),
            is_open=written["open"] is True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sums over all runs: what was charged, and what is held."""

    spent: Amounts
    held: Amounts

    def after(self, before: RunAmounts | None, now: RunAmounts) -> Totals:
        """The totals once one run's account has changed."""
        if before is None:
            return Totals(spent=plus(self.spent, now.spent), held=plus(self.held, now.held))
        return Totals(spent=_moved(self.spent, before.spent, now.spent), held=_moved(self.held, before.held, now.held))

    def as_json(self) -> dict[str, object]:
        """As they stand in each entry."""
        return {"spent": written_amounts(self.spent), "held": written_amounts(self.held)}

    @staticmethod
    def from_json(written: object) -> Totals:
        """What `as_json` wrote."""
        if not isinstance(written, Mapping) or written.keys() != {"spent", "held"}:
            raise SerialisationError(reason="the totals are malformed.")
        return Totals(spent=read_amounts(written["spent"]), held=read_amounts(written["held"]))


def _moved(total: Amounts, before: Amounts, now: Amounts) -> Amounts:
    """A total in which one part has changed; most steps change few amounts, and subtracting fractions is slow."""
    return tuple(t if a == b else t + b - a for t, a, b in zip(total, before, now, strict=True))
