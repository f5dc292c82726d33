"""A ledger's balance in epsilon, as people state budgets; what the ledger adds (rho, mu, ...) stands beside it.

Losses add as what the filter counts, not as epsilons: what is spent and what is left are each read at the budget's delta, and
their epsilons need not add up to the budget's.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down, format_up, in_full
from dpkit.privacy.events import Event
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, Loss, PureDP
from dpkit.release.ledger.ledger import Balance, Ledger
from dpkit.values import dataclass

READ_AT = 1e-6
"""The delta at which a budget that states none (in rho, in mu) is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPurse:
    """Budget, spent, held and left, each as a loss and as an epsilon at `delta`; None where no epsilon bounds the loss.

    `held` is what open runs have reserved and not spent. `more_runs` is how many more runs fit that cost as much as one of the
    kind `like` names: 0 where none does, None where nothing is known of one.
    """

    delta: float
    budget: tuple[float | None, Loss]
    spent: tuple[float | None, Loss]
    held: tuple[float | None, Loss]
    left: tuple[float | None, Loss]
    more_runs: int | None = None
    like: str = "this one"

    def lines(self) -> list[tuple[str, str]]:
        """What to print, by name: epsilon first. Spent is rounded up, left is rounded down."""
        at = f" at delta {in_full(self.delta)}" if self.delta else ""
        found = [
            ("budget", f"{loss_text(*self.budget, up=False)}{at}"),
            ("spent", loss_text(*self.spent, up=True)),
            ("held", f"{loss_text(*self.held, up=True)} by open runs, not spent" if any(_amounts(self.held[1])) else "nothing"),
            ("left", loss_text(*self.left, up=False)),
        ]
        if self.more_runs is not None:
            noun = "run" if self.more_runs == 1 else "runs"
            more = f"about {self.more_runs:,} more {noun}" if self.more_runs else "no more run"
            found[-1] = ("left", f"{found[-1][1]}: {more} like {self.like}")
        return found

    def adding(self, *, bar: bool = False) -> str:
        """The sentence that belongs to `lines`: what the ledger adds; with `bar`, also what the bar beside them shows."""
        added = {ZCDP: "rho", GDP: "the square of mu", RDP: "divergences"}.get(type(self.spent[1]), "")
        if not added:
            return "The ledger adds epsilons. The bar shows them." if bar else ""
        shown = f" The bar shows {added}." if bar else ""
        return f"The ledger adds {added}, not epsilons: spent and left need not add up to the budget.{shown}"

    def as_json(self) -> dict[str, object]:
        """The epsilons, the delta and the number of runs."""
        named = {name: getattr(self, name)[0] for name in ("budget", "spent", "held", "left")}
        return {"delta": self.delta, **named, "more_runs": self.more_runs}

    @property
    def parts(self) -> tuple[float, float]:
        """The parts of the budget that are spent and held, by the first number that the ledger adds (of mu, its square)."""
        power = 2 if isinstance(self.spent[1], GDP) else 1
        one, other, rest = (Fraction(_amounts(loss)[0]) ** power for _, loss in (self.spent, self.held, self.left))
        whole = one + other + rest
        return (float(one / whole), float(other / whole)) if whole else (0.0, 0.0)


def purse_of(ledger: Ledger, *, like: Event | None = None, kind: str = "this one") -> LedgerPurse:
    """Where a ledger stands now; `like` is the plan whose further runs are counted, the last one's where none is given."""
    balance = ledger.balance()
    delta = reading_delta(ledger)
    if like is None:
        more, kind = ledger.more_runs_like_last(), "the last one"
    else:
        more = ledger.more_runs(like)
    return LedgerPurse(
        delta=delta,
        budget=(_budget_epsilon(balance, ledger), balance.budget),
        spent=(epsilon_of(balance.spent, ledger), balance.spent),
        held=(epsilon_of(balance.reserved, ledger), balance.reserved),
        left=(epsilon_of(balance.remaining, ledger), balance.remaining),
        more_runs=more,
        like=kind,
    )


def reading_delta(ledger: Ledger) -> float:
    """The delta at which this ledger's losses are read: its budget's own, where that states one."""
    budget = ledger.terms.budget
    if isinstance(budget, PureDP):
        return 0.0
    return budget.delta if isinstance(budget, ApproxDP) else READ_AT


def epsilon_of(loss: Loss, ledger: Ledger) -> float | None:
    """The epsilon of a loss that this ledger counts, at its delta, rounded up; None where none bounds it."""
    if not any(_amounts(loss)):
        return 0.0
    accountant = ledger.pricer.filter.theorem.accountant
    try:
        found = accountant.epsilon(accountant.lift(loss), delta=reading_delta(ledger))
    except DpkitError:
        return None
    return found if math.isfinite(found) else None


def in_words(loss: Loss, ledger: Ledger) -> str:
    """A loss for a message: its epsilon, and what the ledger counts."""
    return loss_text(epsilon_of(loss, ledger), loss, up=True)


def _budget_epsilon(balance: Balance, ledger: Ledger) -> float | None:
    budget = balance.budget
    return budget.epsilon if isinstance(budget, PureDP | ApproxDP) else epsilon_of(budget, ledger)


def loss_text(epsilon: float | None, loss: Loss, *, up: bool) -> str:
    """A loss in words: its epsilon first, then what the ledger counts; rounded up or down."""
    shown = format_up if up else format_down
    if isinstance(loss, PureDP | ApproxDP):
        own = f" and delta {shown(loss.delta)}" if isinstance(loss, ApproxDP) and epsilon != loss.epsilon else ""
        return f"epsilon {shown(loss.epsilon)}{own}"
    names = {ZCDP: "rho", GDP: "mu"}
    if type(loss) in names:
        counted = f"{names[type(loss)]} {shown(_amounts(loss)[0])}"
    elif isinstance(loss, RDP) and len(loss.orders) == 1:
        counted = f"divergence {shown(loss.epsilons[0])} at order {in_full(loss.orders[0])}"
    else:
        counted = repr(loss)
    return counted if epsilon is None else f"epsilon {shown(epsilon)} ({counted})"


def _amounts(loss: Loss) -> tuple[float, ...]:
    """The numbers of a loss that say how large it is."""
    if isinstance(loss, PureDP):
        return (loss.epsilon,)
    if isinstance(loss, ApproxDP):
        return loss.epsilon, loss.delta
    if isinstance(loss, ZCDP):
        return (loss.rho,)
    if isinstance(loss, GDP):
        return (loss.mu,)
    return tuple(loss.epsilons) if isinstance(loss, RDP) else (1.0,)
