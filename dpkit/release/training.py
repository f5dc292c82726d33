"""A training loop that pays as it goes: each step is paid, durably, before it is taken, and refused where it would overspend.

Whatever decides about the next step (the noise, the rate, when to stop) may depend on all steps before: a filter theorem covers
it. That is Rényi DP at one order (FZ21), fixed before the first step, for samples; see docs/training.md.
"""

from __future__ import annotations

import threading
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.registry import Registry
from dpkit.errors import BudgetExceededError, InvalidValueError
from dpkit.hooks.manager import default_registry
from dpkit.interchange.foreign_runs import of_norms, of_replaced_records
from dpkit.interchange.histories import Segment, training_event, write_opacus
from dpkit.pricing.assess import assess
from dpkit.pricing.serialise import parse
from dpkit.privacy.checks import instance_of, nonempty_text, whole_number
from dpkit.privacy.conversions import epsilon_at_order
from dpkit.privacy.events import Compose, Event, Repeat, flatten
from dpkit.privacy.filter_amounts import Amounts, plus
from dpkit.privacy.losses import ApproxDP, Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.ledger.budget_terms import LedgerTerms, Pricer
from dpkit.release.ledger.entries import canonical
from dpkit.release.ledger.ledger import Ledger

if TYPE_CHECKING:
    from dpkit.contracts.ledger_store import LedgerAddress

_EXCESSES = np.geomspace(1e-2, 1e4, 200)
"""Orders less 1 among which the one order of a Rényi filter is chosen."""


class Training:
    """Steps of Gaussian noise on Poisson samples, within a budget.

    `ledger`: an open ledger, or the path of one. A path at which nothing is yet gets a ledger with this `budget` when the first
    step is paid. Without a ledger the budget is kept in memory alone, and a crash forgets what was spent. `budget`: of this
    run; with a ledger it may be left out, and the ledger's total is the only limit. `run` names the run: the same name again
    resumes it, with all that it had paid. `accountant`: of the filter, where the ledger does not say; `order`: its one Rényi
    order, by default the one at which the first step may be taken most often.
    """

    def __init__(
        self,
        *,
        ledger: Ledger | str | PathLike[str] | LedgerAddress | None = None,
        budget: Loss | None = None,
        run: str = "training",
        dataset: str = "training",
        accountant: str | AnyAccountant = "rdp",
        neighbours: Neighbours | None = None,
        order: float | None = None,
        registry: Registry | None = None,
    ) -> None:
        if ledger is None and budget is None:
            allowed = "a budget, such as ApproxDP(epsilon=1.0, delta=1e-6), or a ledger"
            raise InvalidValueError(field="budget", found=None, allowed=allowed, where="Training")
        if budget is not None:
            instance_of(budget, Loss, field="budget", where="Training", allowed="a privacy loss such as ApproxDP(...)")
        self._registry = default_registry() if registry is None else registry
        self._run = nonempty_text(run, field="run", where="Training")
        self._dataset = nonempty_text(dataset, field="dataset", where="Training")
        self._accountant, self._order = self._registry.accountant(accountant), order
        self._budget = budget
        self._lock = threading.RLock()
        self._pricer: Pricer | None = None
        self._counts: dict[Event, int] = {}
        self._seen = -1
        self._path: str | PathLike[str] | LedgerAddress | None = None
        self.ledger: Ledger | None = None
        self._neighbours = neighbours or Neighbours.ADD_REMOVE
        if isinstance(ledger, Ledger):
            self._resume(ledger, neighbours)
        elif ledger is not None:
            is_file = isinstance(ledger, str | PathLike) and "://" not in str(ledger)
            if is_file and budget is not None and not Path(str(ledger)).exists():
                self._path = ledger
            else:
                self._resume(Ledger.open(ledger, registry=self._registry), neighbours)

    def _resume(self, ledger: Ledger, neighbours: Neighbours | None) -> None:
        """Begin the run on a ledger, or go on with it: what it paid is read from its entries."""
        if neighbours is not None and neighbours is not ledger.terms.neighbours:
            allowed = f"{ledger.terms.neighbours}, as the ledger has it"
            raise InvalidValueError(field="neighbours", found=str(neighbours), allowed=allowed, where="Training")
        self.ledger, self._neighbours = ledger, ledger.terms.neighbours
        ledger.reserve(self._run, analysis="training")
        self._read_paid()

    def _read_paid(self) -> None:
        """Count what the run's entries say, where others have written since: the ledger is the truth, not this object."""
        if self.ledger is None or self.ledger.head().seq == self._seen:
            return
        self._counts, self._seen = {}, self.ledger.head().seq
        for entry in self.ledger.entries(self._run):
            if entry.kind == "charge":
                paid = parse(canonical(entry.body["event"]), registry=self._registry)
                if isinstance(paid, Event):
                    self._count(paid)

    def _count(self, event: Event) -> None:
        for part, times in flatten(event).items():
            self._counts[part] = self._counts.get(part, 0) + times

    @property
    def steps(self) -> int:
        """How many steps were paid, those before a crash included."""
        return sum(self._counts.values())

    @property
    def history(self) -> list[Segment]:
        """What was paid, as (noise multiplier, rate, steps)."""
        replaced = self._neighbours is Neighbours.REPLACE_ONE
        return write_opacus(of_norms(self.event) if replaced else self.event)

    @property
    def event(self) -> Event:
        """What was paid, as an event."""
        return Compose(events=tuple(Repeat(event=part, times=times) for part, times in self._counts.items()))

    @property
    def budget(self) -> Loss:
        """What holds whatever was decided on the way, and whenever it stops."""
        if self._budget is not None:
            return self._budget
        assert self.ledger is not None
        return self.ledger.terms.budget

    @property
    def neighbours(self) -> Neighbours:
        """The relation under which the budget holds."""
        return self._neighbours

    def spent(self) -> Loss | None:
        """What the steps cost, in the notion of the filter, rounded up; None before the first one where no order is fixed."""
        pricer = self._filter(None)
        return None if pricer is None else pricer.gauge.spent(self._total(pricer))

    def fits(self, *, noise_multiplier: float, rate: float, steps: int = 1) -> bool:
        """Whether this number of such steps could be paid now. Nothing is paid."""
        event = self._asked(noise_multiplier, rate, steps)
        with self._lock:
            self._read_paid()
            pricer = self._filter(event)
            if pricer is not None and not pricer.gauge.fits(plus(self._total(pricer), pricer.price(event).amounts)):
                return False
            return self.ledger is None or self.ledger.fits(event)

    def step(self, *, noise_multiplier: float, rate: float, steps: int = 1) -> int:
        """Pay for the next step, or for several alike; returns how many were paid in all.

        The noise multiplier is relative to the norm of one record (the clipping norm): under replace-one a record moves the
        sum by twice that, and is priced so.

        Call it before the noise is drawn, or at least before anything of the step goes out. `BudgetExceededError`, and nothing
        is paid, where it would overspend: the step must not be taken. When it returns, the payment is on the disk.
        """
        event = self._asked(noise_multiplier, rate, steps)
        with self._lock:
            self._read_paid()
            pricer = self._filter(event)
            if pricer is not None:
                after = plus(self._total(pricer), pricer.price(event).amounts)
                if not pricer.gauge.fits(after):
                    spent, asked = (repr(pricer.gauge.spent(amounts)) for amounts in (self._total(pricer), after))
                    raise BudgetExceededError(budget=self.budget, spent=spent, asked=asked)
            if self.ledger is None and self._path is not None:
                self._create(event)
            if self.ledger is not None:
                self._seen = self.ledger.charge(self._run, event, key=f"step {self.steps + 1}").seq
            self._count(event)
            return self.steps

    def close(self) -> None:
        """End the run: no step can follow. The ledger is let go of, and stays as it is."""
        if self.ledger is not None:
            self.ledger.close_run(self._run)
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """The run stays open, so that it can be resumed."""
        if self.ledger is not None:
            self.ledger.close()

    def opacus_engine(self, **options: Any) -> Any:
        """A `PrivacyEngine` of Opacus whose accountant is this run, and which refuses a loader that does not sample so."""
        from dpkit.release.opacus_training import training_engine

        return training_engine(self, **options)

    def register_with_opacus(self, name: str = "dpkit") -> None:
        """Make this run an accountant of Opacus: `PrivacyEngine(accountant="dpkit")`."""
        from dpkit.release.opacus_training import register_training

        register_training(self, name)

    def _asked(self, noise_multiplier: float, rate: float, steps: int) -> Event:
        whole_number(steps, field="steps", where="Training.step", minimum=1)
        made = training_event(noise_multiplier, rate, 1)
        assert isinstance(made, Repeat)
        one = made.event if self._neighbours is Neighbours.ADD_REMOVE else of_replaced_records(made.event)
        return one if steps == 1 else Repeat(event=one, times=steps)

    def _total(self, pricer: Pricer) -> Amounts:
        """What was paid, as the filter counts it: exactly, kind of step by kind."""
        total = pricer.gauge.zero
        for part, times in self._counts.items():
            total = plus(total, tuple(amount * times for amount in pricer.price(part).amounts))
        return total

    def _filter(self, first: Event | None) -> Pricer | None:
        """The filter of the run's own budget; None where the ledger's is the only one, or nothing fixes its order yet."""
        own = self._budget is not None and (self.ledger is None or self.ledger.terms.budget != self._budget)
        if self._pricer is None and own:
            begun = next(iter(self._counts), first)
            if begun is not None:
                self._pricer = Pricer(self._terms(begun), self._registry)
        return self._pricer if own else self.ledger.pricer if self.ledger is not None else self._pricer

    def _terms(self, first: Event) -> LedgerTerms:
        assert self._budget is not None
        order = self._order
        if order is None and self._accountant.name == "rdp" and isinstance(self._budget, ApproxDP):
            order = self._best_order(first, self._budget)
        return LedgerTerms(
            budget=self._budget,
            accountant=self._accountant,
            neighbours=self._neighbours,
            dataset=self._dataset,
            order=order,
        )

    def _best_order(self, first: Event, budget: ApproxDP) -> float | None:
        """The order at which the most steps like the first keep within the budget. It depends on public parameters alone."""
        if budget.delta == 0.0:
            return None
        kind = next(iter(flatten(first)))
        priced = assess(kind, accountant=self._accountant, registry=self._registry, neighbours=self._neighbours)
        curve = getattr(priced.state, "curve", None)
        if curve is None:
            return None
        orders = 1.0 + _EXCESSES
        costs = curve.at(orders)
        allowed = [epsilon_at_order(float(order), epsilon=budget.epsilon, delta=budget.delta) or 0.0 for order in orders]
        with np.errstate(divide="ignore", invalid="ignore"):
            counts = np.nan_to_num(np.array(allowed) / costs)
        return float(orders[int(np.argmax(counts))]) if np.max(counts) > 0.0 else None

    def _create(self, first: Event) -> None:
        """The ledger of a path at which nothing was, with the order that the first step fixed."""
        assert self._path is not None
        assert self._budget is not None
        terms = self._terms(first)
        made = Ledger.create(
            self._path,
            budget=self._budget,
            dataset=self._dataset,
            accountant=self._accountant,
            neighbours=self._neighbours,
            order=terms.order,
            registry=self._registry,
        )
        self._path = None
        self._resume(made, None)
