"""A ledger against an exact account of its own entries, kept here in other arithmetic and by other formulas.

Several runs reserve, charge, release, fail, charge again, close and come back in a random order, through two open handles.
After every step: what was charged, and what is held, is within the budget; what is shown as spent is at least the truth, and
what is shown as remaining at most.
"""

import json
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpkit
from dpkit.errors import BudgetExceededError, PlanExceededError, RunStateError
from dpkit.privacy.filter_amounts import Gauge

ORDERS = [mpmath.mpf(order) for order in ("1.000001", "1.5", "2", "4", "30")]
KINDS = {"pure": "lpa", "advanced": "lpa", "zcdp": "gzlpa", "rdp": "gzlpa", "gdp": "g"}
APPROXIMATE = dpkit.ApproxDP(epsilon=2.0, delta=1e-5)
LEDGERS = [
    ("pure", dpkit.PureDP(epsilon=0.8), 0.0),
    ("pure", APPROXIMATE, 0.0),
    ("advanced", APPROXIMATE, 3e-6),
    ("zcdp", dpkit.ZCDP(rho=0.4, delta=1e-6), 0.0),
    ("zcdp", APPROXIMATE, 3e-6),
    ("rdp", APPROXIMATE, 3e-6),
    ("rdp", dpkit.RDP(orders=(3.5,), epsilons=(0.9,), delta=1e-6), 0.0),
    ("gdp", dpkit.GDP(mu=0.8), 0.0),
    ("gdp", APPROXIMATE, 0.0),
]


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(50):
        yield


def exact(value):
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def divergence(kind, epsilon, order):
    """The Rényi divergence of Laplace noise (l), or of the worst pure release (p)."""
    e = exact(epsilon)
    if kind == "l":
        parts = order * mpmath.exp((order - 1) * e) + (order - 1) * mpmath.exp(-order * e)
        return mpmath.log(parts / (2 * order - 1)) / (order - 1)
    return mpmath.log((mpmath.exp(order * e) + mpmath.exp((1 - order) * e)) / (1 + mpmath.exp(e))) / (order - 1)


def amount(accountant, event, order):
    """What one release costs at least, in the notion of the accountant."""
    kind = {"GaussianEvent": "g", "ZCDPEvent": "z", "LaplaceEvent": "l"}.get(type(event).__name__, "p")
    if kind == "g" and accountant == "gdp":
        return exact(Fraction(event.ratio) ** 2)
    if kind in "gz":
        rho = exact(Fraction(event.ratio) ** 2 / 2 if kind == "g" else event.rho)
        return rho * exact(order) if accountant == "rdp" else rho
    epsilon = event.ratio if kind == "l" else event.epsilon
    if accountant == "pure":
        return exact(epsilon)
    if accountant == "rdp":
        return divergence(kind, epsilon, exact(order))
    if accountant == "advanced" and kind == "p":
        return exact(Fraction(epsilon) ** 2 / 2)
    return max(divergence(kind, epsilon, alpha) / alpha for alpha in ORDERS)


def account(accountant, events, order):
    """The sum of amounts, and the deltas: their sum for `pure`, else 1 - prod(1 - delta) as a sum of logs."""
    deltas = [exact(getattr(event, "delta", 0.0)) for event in events]
    slack = mpmath.fsum(deltas if accountant == "pure" else [-mpmath.log(1 - delta) for delta in deltas])
    return mpmath.fsum(amount(accountant, event, order) for event in events), slack


def keeps(accountant, budget, order, total, slack):
    """Whether so much is within the budget, by the accountant's own theorem."""
    if accountant == "pure":
        return total <= exact(budget.epsilon) and slack <= exact(getattr(budget, "delta", 0.0))
    if isinstance(budget, dpkit.GDP):
        return total <= exact(Fraction(budget.mu) ** 2)
    if not isinstance(budget, dpkit.ApproxDP):
        limit = budget.rho if isinstance(budget, dpkit.ZCDP) else budget.epsilons[0]
        return total <= exact(limit) and -mpmath.expm1(-slack) <= exact(budget.delta)
    epsilon, delta = exact(budget.epsilon), exact(budget.delta)
    if total == 0:
        return -mpmath.expm1(-slack) <= delta
    if accountant == "gdp":
        mu = mpmath.sqrt(total)
        away = mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)
        return away <= delta
    left = 1 - (1 - delta) * mpmath.exp(slack)  # slack + (1 - slack) left = delta
    if left <= 0:
        return False
    if accountant == "advanced":
        return total + 2 * mpmath.sqrt(total * mpmath.log(1 / left)) <= epsilon

    def reading(alpha, divergence_there):
        return divergence_there + mpmath.log(1 / (left * alpha)) / (alpha - 1) + mpmath.log(1 - 1 / alpha)

    if accountant == "rdp":
        return reading(exact(order), total) <= epsilon
    best = 1 + mpmath.sqrt(mpmath.log(1 / left) / total)
    near = [1 + (best - 1) * mpmath.mpf(step) / 400 for step in range(240, 440)]
    return min(reading(alpha, total * alpha) for alpha in near) <= epsilon


def shown(loss):
    """A loss as an amount and a delta."""
    if isinstance(loss, dpkit.GDP):
        return exact(Fraction(loss.mu) ** 2), 0
    first = loss.rho if isinstance(loss, dpkit.ZCDP) else loss.epsilons[0] if isinstance(loss, dpkit.RDP) else loss.epsilon
    return exact(first), exact(getattr(loss, "delta", 0.0))


class Story:
    """Runs of one ledger in a random order, and what this file knows of them."""

    def __init__(self, path, accountant, budget, slack, seed):
        self.accountant, self.budget, self.seen = accountant, budget, Counter()
        self.rng = np.random.default_rng(seed)
        dpkit.Ledger.create(path, budget=budget, dataset="it", accountant=accountant, slack=slack).close()
        self.handles = [dpkit.Ledger.open(path, durability="normal") for _ in range(2)]
        self.limit = self.handles[0].balance().limit
        self.order = self.limit.orders[0] if isinstance(self.limit, dpkit.RDP) else None
        self.kinds = [kind for kind in KINDS[accountant] if kind != "a" or not isinstance(budget, dpkit.PureDP)]
        self.runs = {}

    def event(self):
        size = float(0.2 * 10 ** self.rng.uniform(-2, 0.3))
        return {
            "g": dpkit.GaussianEvent(ratio=size),
            "l": dpkit.LaplaceEvent(ratio=size),
            "p": dpkit.PureEvent(epsilon=size),
            "z": dpkit.ZCDPEvent(rho=size**2 / 2),
            "a": dpkit.ApproxEvent(epsilon=size, delta=float(10 ** self.rng.uniform(-10, -7))),
        }[self.rng.choice(self.kinds)]

    def step(self):
        ledger = self.handles[self.rng.integers(2)]
        what = str(
            self.rng.choice(
                ["reserve", "charge", "released", "failed", "close", "charge again"], p=[0.2, 0.4, 0.15, 0.1, 0.05, 0.1]
            )
        )
        try:
            self.do(ledger, what)
            self.seen[what] += 1
        except (BudgetExceededError, PlanExceededError, RunStateError) as refusal:
            self.seen[type(refusal).__name__] += 1
        return ledger

    def do(self, ledger, what):
        if what == "reserve" or not self.runs:
            name = f"run {self.seen.total()}"
            plan = [self.event() for _ in range(self.rng.integers(1, 6))] if self.rng.random() < 0.7 else None
            ledger.reserve(name, plan)
            self.runs[name] = {"plan": plan, "charged": [], "pending": {}, "open": True}
            return
        name = str(self.rng.choice(list(self.runs)))
        run = self.runs[name]
        if what == "close":
            ledger.close_run(name)
            run["open"], run["pending"] = False, {}
        elif what == "charge":
            event = (
                run["plan"][self.rng.integers(len(run["plan"]))] if run["plan"] and self.rng.random() < 0.8 else self.event()
            )
            self.pay(ledger, name, f"key {self.seen.total()}", event)
        elif run["pending"]:
            key = str(self.rng.choice(list(run["pending"])))
            charge, event = run["pending"][key]
            if what == "charge again":  # as after a crash: the first charge is lost, and stays spent
                self.pay(ledger, name, key, event)
            elif what == "failed":
                ledger.failed(charge, "failed")
                del run["pending"][key]
            else:
                ledger.released(charge, 1.5)
                del run["pending"][key]
                assert ledger.charge(name, event, key=key).is_released  # and costs nothing more

    def pay(self, ledger, name, key, event):
        run = self.runs[name]
        run["pending"][key] = ledger.charge(name, event, key=key), event
        run["charged"].append(event)

    def check(self, ledger):
        written = [dpkit.from_json(json.dumps(entry.body["event"])) for entry in ledger.entries() if entry.kind == "charge"]
        assert Counter(written) == Counter(event for run in self.runs.values() for event in run["charged"])
        spent = account(self.accountant, written, self.order)
        held = [mpmath.mpf(0), mpmath.mpf(0)]
        for run in self.runs.values():
            mine = account(self.accountant, run["charged"], self.order)
            if run["open"] and run["plan"] is not None:
                mine = map(max, mine, account(self.accountant, run["plan"], self.order))
            held = [total + one for total, one in zip(held, mine, strict=True)]
        for total, slack in (spent, held):
            assert keeps(self.accountant, self.budget, self.order, total, slack)
        balance = ledger.balance()
        for loss, (total, slack) in ((balance.spent, spent), (balance.held, held)):
            assert shown(loss)[0] >= total
            assert shown(loss)[1] >= (slack if self.accountant == "pure" else -mpmath.expm1(-slack))
        limit, left = shown(self.limit), shown(balance.remaining)
        assert left[0] <= max(0, limit[0] - held[0])
        delta = limit[1] - held[1] if self.accountant == "pure" else 1 - (1 - limit[1]) * mpmath.exp(held[1])
        assert left[1] <= max(0, delta)


def told(path, accountant, budget, slack, *, seed=7, steps=45):
    story = Story(path, accountant, budget, slack, seed)
    try:
        for _ in range(steps):
            story.check(story.step())
    finally:
        for handle in story.handles:
            handle.close()
    return story


@pytest.mark.parametrize(("accountant", "budget", "slack"), LEDGERS)
def test_a_ledger_never_grants_more_than_its_budget_nor_shows_less_than_was_spent(tmp_path, accountant, budget, slack):
    seen = told(tmp_path / "it.ledger", accountant, budget, slack).seen
    assert seen["charge"] > 2
    assert seen["BudgetExceededError"] + seen["PlanExceededError"] > 0


@pytest.mark.parametrize(("accountant", "budget", "slack"), LEDGERS)
def test_a_ledger_that_counts_a_little_less_is_found_out(tmp_path, monkeypatch, accountant, budget, slack):
    fits = Gauge.fits
    short = Fraction(999, 1000)
    monkeypatch.setattr(Gauge, "spent", lambda self, amounts: self.loss(tuple(a * short for a in amounts), True))
    monkeypatch.setattr(Gauge, "fits", lambda self, amounts: fits(self, tuple(a * short for a in amounts)))
    with pytest.raises(AssertionError):
        told(tmp_path / "it.ledger", accountant, budget, slack)
