"""The laws of loss rules: a theorem that accountants will use holds for every mechanism here that it speaks of.

A mechanism's claims are what its author lets be tried. A rule prices whether it is claimed or not, and one about an event of
somebody else makes that one's releases cheaper: so each rule is held against densities and samples by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dpkit.core.claims import Claim
from dpkit.core.conversions import gaussian_delta
from dpkit.core.distances import Distance
from dpkit.core.events import ApproxEvent, Event, PureEvent, Subsample, ZCDPEvent
from dpkit.core.loss_rules import LossRule
from dpkit.core.mechanism import WhiteBox
from dpkit.core.neighbours import Neighbours
from dpkit.core.registry import Registry
from dpkit.errors import DpkitError
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.numerics.rounding import format_down, format_up
from dpkit.testing.cases import MechanismCase, Subject
from dpkit.testing.claim_laws import audit_claims, profile_of
from dpkit.testing.conformance import LawNotApplicable
from dpkit.testing.promise_laws import TARGETS, compare_densities
from dpkit.testing.quick_audit import EPSILONS
from dpkit.testing.sampling_laws import sampled_gaussian_deltas

Truth = tuple[Event, Callable[[float], float]]
"""An event, and the delta at each epsilon that some pair of neighbours reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    """A loss rule under test, and the registry whose mechanisms it is held against."""

    rule: LossRule
    registry: Registry
    seed: int = 0


def the_rule_holds_for_its_mechanisms(case: RuleCase) -> None:
    """No mechanism whose event the rule prices tells neighbours apart better than the rule allows; nor do known worst cases."""
    if case.rule.status != "proved":
        raise LawNotApplicable(f"the rule is {case.rule.status}, so no accountant uses it unasked")
    tried = sum(_held_against_truth(case, event, delta) for event, delta in _known_truths() if type(event) is case.rule.event)
    for factory in case.registry.mechanisms:
        mechanisms = MechanismCase(factory=factory, registry=case.registry, seed=case.seed)
        for index, subject in enumerate(mechanisms.subjects(2)[:2]):
            tried += _held_against_mechanism(case, mechanisms, subject, index)
    if not tried:
        raise LawNotApplicable(f"no mechanism here makes an event of class {case.rule.event.__name__} that the rule prices")


def the_order_of_its_events_holds(case: RuleCase) -> None:
    """Where events declare an order (`cheaper_below`), the rule gives the cheaper one no larger delta anywhere."""
    kind = case.rule.event
    if not kind.cheaper_below:
        raise LawNotApplicable(f"events of class {kind.__name__} declare no order")
    tried = 0
    for factory in case.registry.mechanisms:
        mechanisms = MechanismCase(factory=factory, registry=case.registry, seed=case.seed)
        for subject in mechanisms.subjects(1)[:1]:
            for target in TARGETS:
                event = subject.mechanism.event(at=mechanisms.distance(subject, target=target))
                if type(event) is not kind:
                    break
                for field, factor in itertools.product(kind.cheaper_below, (0.9, 0.3)):
                    ordered: Any = event
                    less = replace(ordered, **{field: factor * getattr(event, field)})
                    tried += _costs_no_more(case, mechanisms, less, event)
    if not tried:
        raise LawNotApplicable(f"no mechanism here makes an event of class {kind.__name__} that the rule prices")


def _costs_no_more(case: RuleCase, mechanisms: MechanismCase, less: Event, more: Event) -> int:
    losses = [case.rule.bound(event) for event in (less, more)]
    if losses[1] is None:
        return 0
    assert losses[0] is not None, f"the rule prices {more!r}, and not {less!r}, which is declared to be cheaper"
    profiles = [profile_of(loss, mechanisms) for loss in losses if loss is not None]
    if None in profiles:
        return 0
    for epsilon in EPSILONS:
        cheap, dear = (profile(epsilon) for profile in profiles if profile is not None)
        assert cheap <= dear * (1.0 + 1e-6) + 1e-12, (
            f"{less!r} is declared to cost no more than {more!r}, and the rule gives it delta({epsilon:g}) = {cheap:.3g}, "
            f"which is above {dear:.3g}"
        )
    return 1


def _held_against_mechanism(case: RuleCase, mechanisms: MechanismCase, subject: Subject, salt: int) -> int:
    rule, mechanism = case.rule, subject.mechanism
    hardest = Neighbours.REPLACE_ONE if Neighbours.REPLACE_ONE in case.rule.neighbours else Neighbours.ADD_REMOVE
    if type(mechanism.event(at=Distance(metric=mechanisms.factory.metrics[0], value=1))) is not rule.event:
        return 0
    tried = 0
    for target in TARGETS:
        at = mechanisms.distance(subject, target=target)
        loss = rule.bound(mechanism.event(at=at)) if at.value else None
        if loss is None:
            continue
        claims = [Claim(loss=loss, neighbours=hardest, because=rule.because)]
        if isinstance(mechanism, WhiteBox) and compare_densities(mechanisms, subject, at, claims, salt):
            tried += 1
        elif target <= 2.0 and loss not in [claim.loss for claim in mechanisms.claims(mechanism, at)]:
            tried += 1  # what is claimed is audited by the laws of its mechanism
            audit_claims(mechanisms, subject, at, claims, salt=salt)
        else:
            tried += target <= 2.0
    return tried


def _held_against_truth(case: RuleCase, event: Event, truth: Callable[[float], float]) -> int:
    try:
        loss = case.rule.bound(event)
    except DpkitError:
        return 0
    anywhere = MechanismCase(factory=case.registry.mechanisms[0], registry=case.registry, seed=case.seed)
    profile = profile_of(loss, anywhere) if loss is not None else None
    if profile is None or (isinstance(event, Subsample) and Neighbours.ADD_REMOVE not in case.rule.neighbours):
        return 0
    for epsilon in EPSILONS:
        least, claimed = truth(epsilon) * (1.0 - 2e-3), profile(epsilon)
        assert claimed >= least, (
            f"the rule gives {loss} for {event!r}: delta({epsilon:g}) is at least {format_down(least)} in the worst case, "
            f"claimed {format_up(claimed)}"
        )
    return 1


def _known_truths() -> Iterator[Truth]:
    """Events that state a loss, with a pair that attains it; and a sampled Gaussian, by quadrature."""
    for size in (0.3, 2.0):
        yield PureEvent(epsilon=size), partial(_response, size)
        yield ZCDPEvent(rho=size * size / 2), partial(_gaussian, size)
        for delta in (1e-6, 1e-2):
            yield ApproxEvent(epsilon=size, delta=delta), partial(_told_or_response, size, delta)
        for rate in (0.01, 0.3):
            yield Subsample(rate=rate, event=GaussianEvent(ratio=size)), partial(_sampled, size, rate)


def _response(size: float, epsilon: float) -> float:
    """delta(epsilon) of a randomised response with loss `size`."""
    return max(0.0, (math.exp(size) - math.exp(epsilon)) / (1.0 + math.exp(size)))


def _told_or_response(size: float, delta: float, epsilon: float) -> float:
    """With probability delta everything is told; otherwise a randomised response."""
    return delta + (1.0 - delta) * _response(size, epsilon)


def _gaussian(size: float, epsilon: float) -> float:
    return gaussian_delta(size * (1.0 - 1e-9), epsilon=epsilon)


def _sampled(size: float, rate: float, epsilon: float) -> float:
    return max(sampled_gaussian_deltas(rate, size, epsilon=epsilon))


RULE_LAWS: tuple[Callable[[RuleCase], None], ...] = (the_rule_holds_for_its_mechanisms, the_order_of_its_events_holds)
