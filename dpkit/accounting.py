"""`account`, `calibrate`, filters, odometers and JSON: the core's pricing, with the installed registry as the default."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from dpkit.accountants.odometers import PrivacyOdometer, open_odometer
from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.contracts.registry import Registry
from dpkit.contracts.risk_limits import RiskLimit
from dpkit.errors import BudgetUnreachableError, InvalidValueError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.bracketing import first_true
from dpkit.pricing.assess import assess
from dpkit.pricing.filters import PrivacyFilter, open_filter
from dpkit.pricing.serialise import dump, parse
from dpkit.privacy.events import Event, as_event
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Neighbours


def account(
    event_or_events: Event | Iterable[Event],
    accountant: str | AnyAccountant = "zcdp",
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    registry: Registry | None = None,
    *,
    accept: Iterable[str] = (),
) -> Guarantee:
    """Price an event, or the composition of several, under an accountant (by name, or an accountant object).

    `accept` names loss rules that are refuted or unproved, or a plugin's about an event of somebody else, and shall price all
    the same; the guarantee then says that it does not hold.
    """
    known = default_registry() if registry is None else registry
    return assess(
        as_event(event_or_events),
        accountant=known.accountant(accountant),
        registry=known,
        neighbours=neighbours,
        accept=_names(accept),
    )


def calibrate(
    event_of_scale: Callable[[float], Event | Iterable[Event]],
    budget: Loss | RiskLimit,
    accountant: str | AnyAccountant = "zcdp",
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    registry: Registry | None = None,
    *,
    accept: Iterable[str] = (),
) -> float:
    """The smallest noise scale that keeps a family of events within a budget of any notion, or within a limit on what an attack
    can do (`PowerLimit`, `AdvantageLimit`, `PosteriorLimit`; `GDP` for a mu).

    `event_of_scale` must lose privacy as the scale falls. The scale returned was priced and is within the budget; it is
    within 1e-9, relatively, of the smallest one.
    """
    return calibrated(event_of_scale, budget, accountant, neighbours, registry, accept=accept)[0]


def calibrated(
    event_of_scale: Callable[[float], Event | Iterable[Event]],
    budget: Loss | RiskLimit,
    accountant: str | AnyAccountant,
    neighbours: Neighbours,
    registry: Registry | None,
    *,
    accept: Iterable[str],
) -> tuple[float, Guarantee]:
    """As `calibrate`, with the guarantee at that scale."""
    known = default_registry() if registry is None else registry
    chosen, accepted = known.accountant(accountant), _names(accept)

    @lru_cache(maxsize=1)
    def event_at(scale: float) -> Event:
        return as_event(event_of_scale(scale))

    def guarantee(scale: float, by: AnyAccountant) -> Guarantee:
        return assess(event_at(scale), accountant=by, registry=known, neighbours=neighbours, accept=accepted)

    priced = lru_cache(maxsize=8)(partial(guarantee, by=chosen))
    scale = smallest_scale(priced, budget, accountant=chosen.name, alone=guarantee)
    return scale, priced(scale)


def _names(accept: Iterable[str]) -> frozenset[str]:
    """The names of rules; one string would be taken for its letters, so it is refused."""
    if isinstance(accept, str):
        raise InvalidValueError(field="accept", found=accept, allowed="a list of rule names", where="account")
    return frozenset(accept)


def privacy_filter(
    budget: Loss,
    accountant: str | AnyAccountant = "zcdp",
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    registry: Registry | None = None,
    *,
    slack: float = 0.0,
    order: float | None = None,
) -> PrivacyFilter:
    """A budget for fully adaptive queries, under an accountant with a filter theorem (pure, advanced, zcdp, rdp, gdp).

    `slack` is the part of delta set aside for approximate releases; `order` the one order of an rdp filter.
    """
    known = default_registry() if registry is None else registry
    return open_filter(
        budget,
        accountant=known.accountant(accountant),
        registry=known,
        neighbours=neighbours,
        slack=slack,
        order=order,
    )


def privacy_odometer(
    accountant: str = "pure",
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    registry: Registry | None = None,
    *,
    delta: float = 0.0,
    slack: float = 0.0,
) -> PrivacyOdometer:
    """A running bound, valid at every time at once, when no budget was fixed in advance (`pure` or `rdp`)."""
    known = default_registry() if registry is None else registry
    return open_odometer(accountant, registry=known, neighbours=neighbours, delta=delta, slack=slack)


RELATIVE = 1e-10
"""How close to the optimum a calibrated scale is."""


def smallest_scale(
    guarantee_of_scale: Callable[[float], Guarantee],
    budget: Loss | RiskLimit,
    *,
    accountant: str,
    alone: Callable[[float, AnyAccountant], Guarantee] | None = None,
) -> float:
    """The smallest scale whose guarantee keeps within the budget.

    Promise: the scale returned was itself seen to keep within the budget, and a scale smaller by `RELATIVE` was seen not
    to. Assumes that the loss falls as the scale grows.

    `alone(scale, accountant)` is the guarantee under one accountant: of several side by side, the one that explains the first
    reading leads the search, and all are asked at the two scales where it arrives.
    """
    if not isinstance(budget, Loss | RiskLimit):
        allowed = "a privacy loss, such as ApproxDP(epsilon=1.0, delta=1e-6), or a limit, such as AdvantageLimit(at_most=0.1)"
        raise InvalidValueError(field="budget", found=budget, allowed=allowed, where="calibrate")
    seen_within = False

    def holds(scale: float) -> bool:
        nonlocal seen_within
        try:
            within = guarantee_of_scale(scale).within(budget)
        except OverflowError:  # LossOverflowError is one: too little noise to be described
            return False
        except InvalidValueError:
            # Below a scale that works, a ratio too large to be a number is simply too little noise.
            if not seen_within:
                raise
            return False
        seen_within = seen_within or within
        return within

    delta = budget.delta if isinstance(budget, ApproxDP) else 0.0

    def above(found: Guarantee) -> float:
        """How far a loss is above the budget, as a logarithm; only for budgets in epsilon."""
        assert isinstance(budget, PureDP | ApproxDP)
        return math.log(found.epsilon(delta=delta) / budget.epsilon)

    leader: list[AnyAccountant] = []

    def guide(scale: float) -> float:
        """How far above, by the accountant that explains the reading at the first scale."""
        if not leader:
            found = guarantee_of_scale(scale)
            leader.append(found.accountant.explained_by(found.state, delta=delta))
        if alone is None or leader[0].name == accountant:
            return above(guarantee_of_scale(scale))
        return above(alone(scale, leader[0]))

    in_epsilon = isinstance(budget, PureDP | ApproxDP) and budget.epsilon > 0.0
    bracket = first_true(
        holds,
        relative=RELATIVE,
        excess=(lambda scale: above(guarantee_of_scale(scale))) if in_epsilon else None,
        guide=guide if in_epsilon else None,
    )
    if bracket is None:
        reason = "however large the scale, the loss stays above it. Is delta too small, or does the loss not depend on it?"
        raise BudgetUnreachableError(budget=budget, accountant=accountant, reason=reason)
    below, scale = bracket
    if below == 0.0:
        reason = "every scale keeps within it, so there is no smallest one. Does the event use the scale?"
        raise BudgetUnreachableError(budget=budget, accountant=accountant, reason=reason)
    return scale


def to_json(value: object) -> str:
    """An event, loss, claim, distance or guarantee as versioned JSON."""
    return dump(value)


def from_json(text: str, *, registry: Registry | None = None) -> object:
    """The value that `to_json` wrote, equal to the original; only classes of the registry can come out of it."""
    return parse(text, registry=default_registry() if registry is None else registry)
