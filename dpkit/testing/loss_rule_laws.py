"""The laws of loss rules: a theorem that accountants will use holds for every mechanism here that it speaks of.

A mechanism's claims are what its author lets be tried. A rule prices whether it is claimed or not, and one about an event of
somebody else makes that one's releases cheaper: so each rule is held against densities and samples by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpkit.auditing.algorithms.check_queries import asked_under_scripts
from dpkit.auditing.screening import EPSILONS
from dpkit.contracts.mechanism import WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down, format_up
from dpkit.privacy.claims import Claim, LossRule
from dpkit.privacy.events import Compose, Event, Parallel, Repeat, Subsample
from dpkit.privacy.losses import RDP, ZCDP, RenyiCurve
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.testing.algorithm_laws import AlgorithmCase
from dpkit.testing.claim_laws import audit_claims, own_epsilons, profile_of
from dpkit.testing.density_and_accuracy_laws import TARGETS, compare_densities, renyi_from_below
from dpkit.testing.known_truths import RATES, Truth, known_truths
from dpkit.testing.mechanism_cases import Array, MechanismCase, MechanismSubject, released
from dpkit.testing.run_laws import LawNotApplicable, LawUnchecked
from dpkit.testing.sampler_laws import covering_line, log_density_of
from dpkit.testing.unregistered_noise import case_of_noise, registered_classes
from dpkit.values import dataclass

ORDERS = np.array([1.1, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 16.0, 20.0, 24.0, 25.0, 32.0, 48.0, 64.0, 128.0, 256.0, 1024.0, 1e4])
"""Where curves are compared: in the thousands too, for small losses are read from there."""
FAR = 60.0
"""A price at which densities are compared, too: some bounds end at a ratio that is large and possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    """A loss rule under test, and the registry whose mechanisms it is held against."""

    rule: LossRule
    registry: Registry
    seed: int = 0
    own: bool = False
    """Whether the rule is about an event of its own plugin, which must then add what makes such events."""
    algorithms: tuple[AlgorithmCase, ...] = ()
    """The algorithms of the plugin, which may bring noise that is not registered."""


def the_rule_holds_for_its_mechanisms(case: RuleCase) -> None:
    """No mechanism whose event the rule prices tells neighbours apart better than the rule allows; nor do known worst cases."""
    if case.rule.status != "proved":
        raise LawNotApplicable(f"the rule is {case.rule.status}, so no accountant uses it unasked")
    tried = sum(
        _held_against_truth(case, event, delta, relation)
        for event, delta, relation in itertools.chain(known_truths(), _sampled_truths(case))
        if type(event) is case.rule.event and relation in case.rule.neighbours
    )
    for mechanisms, subject, index in _mechanisms(case):
        tried += _held_against_mechanism(case, mechanisms, subject, index)
    kind = case.rule.event.__name__
    if not tried and case.own and not _is_made(case):
        raise AssertionError(
            f"nothing in this plugin makes an event of class {kind}, so nobody can try the rule: register the mechanism that "
            'makes it, or say that the rule is "unproved"'
        )
    if not tried:
        raise LawUnchecked(
            f"no mechanism here makes an event of class {kind} that the rule prices, so nothing could be "
            "held against it: register the mechanism, or have the theorem read by somebody else"
        )


def _is_made(case: RuleCase) -> bool:
    """Whether a mechanism, in any of its metrics, or a plan has events of the rule's class, be it within others."""
    kind = case.rule.event
    for mechanisms, subject in _typical(case.registry, case.seed, 4):
        for metric in mechanisms.factory.metrics:
            if _holds(subject.mechanism.event(at=Distance(metric=metric, value=1)), kind):
                return True
    return any(_holds(subject.algorithm.plan(1.0), kind) for one in case.algorithms for subject in one.subjects(1))


def _holds(event: Event, kind: type[Event]) -> bool:
    inner = [event.event] if isinstance(event, Repeat | Subsample) else []
    inner += event.events if isinstance(event, Compose | Parallel) else ()
    return type(event) is kind or any(_holds(one, kind) for one in inner)


def _typical(registry: Registry, seed: int, most: int = 1) -> Iterator[tuple[MechanismCase, MechanismSubject]]:
    for factory in registry.mechanisms:
        mechanisms = MechanismCase(factory=factory, registry=registry, seed=seed)
        for subject in mechanisms.subjects(most)[:most]:
            yield mechanisms, subject


def a_curve_holds_at_every_order(case: RuleCase) -> None:
    """A Rényi bound is compared with the densities order by order, high ones too: small deltas are read from those."""
    if case.rule.status != "proved" or not issubclass(case.rule.loss, RenyiCurve | ZCDP):
        raise LawNotApplicable("the rule gives no Rényi divergence")
    tried = 0
    for mechanisms, subject, index in _mechanisms(case):
        tried += _held_at_orders(case, mechanisms, subject, index)
    if not tried:
        raise LawUnchecked(
            "no mechanism here has this event and a density of one entry, so that high orders, which small deltas are read "
            "from, were not tried: declare `log_density`"
        )


def _mechanisms(case: RuleCase) -> Iterator[tuple[MechanismCase, MechanismSubject, int]]:
    """Two typical subjects of every mechanism that makes an event of the rule's class, noise that algorithms bring included."""
    for index, (mechanisms, subject) in enumerate(itertools.chain(_typical(case.registry, case.seed, 2), _brought(case))):
        if type(subject.mechanism.event(at=Distance(metric=mechanisms.factory.metrics[0], value=1))) is case.rule.event:
            yield mechanisms, subject, index


def _brought(case: RuleCase) -> Iterator[tuple[MechanismCase, MechanismSubject]]:
    """The noise that the plugin's algorithms bring themselves, one of each class."""
    registered = registered_classes(case.registry) if case.algorithms else {}
    seen: set[type] = set()
    for algorithms in case.algorithms:
        for subject in algorithms.subjects(1):
            asked = asked_under_scripts(subject.algorithm, subject.setting, 1.0, rng=algorithms.rng(9))
            for query, mechanism in asked:
                if type(mechanism) not in registered and type(mechanism) not in seen:
                    seen.add(type(mechanism))
                    noise = case_of_noise(
                        query,
                        mechanism,
                        setting=subject.setting,
                        registry=case.registry,
                        registered=registered,
                        seed=case.seed,
                    )
                    yield noise, noise.subjects(1)[0]


def _held_at_orders(case: RuleCase, mechanisms: MechanismCase, subject: MechanismSubject, salt: int) -> int:
    if not isinstance(subject.mechanism, WhiteBox):
        return 0
    tried = 0
    for target in (0.1, 1.0, 12.0):
        at = mechanisms.distance(subject, target=target)
        loss = case.rule.bound(subject.mechanism.event(at=at)) if at.value else None
        if loss is None or (isinstance(loss, ZCDP | RDP) and loss.delta):
            continue
        claim = Claim(loss=loss, neighbours=case.rule.neighbours[0], because=case.rule.because)
        for least in renyi_from_below(mechanisms, subject, at, claim, ORDERS, salt):
            tried += 1
            with np.errstate(all="ignore"):
                claimed = loss.at(ORDERS) if isinstance(loss, RenyiCurve) else loss.rho * ORDERS  # type: ignore[attr-defined]
            wrong = np.flatnonzero(~(claimed >= least * (1.0 - 1e-6) - 1e-12))
            assert not wrong.size, (
                f"at order {ORDERS[wrong[0]]:g} the divergence is at least {least[wrong[0]]:.6g} at {at}, the rule gives "
                f"{claimed[wrong[0]]:.6g}, with parameters {subject.parameters}"
            )
    return tried


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


def _held_against_mechanism(case: RuleCase, mechanisms: MechanismCase, subject: MechanismSubject, salt: int) -> int:
    rule, mechanism = case.rule, subject.mechanism
    hardest = Neighbours.REPLACE_ONE if Neighbours.REPLACE_ONE in case.rule.neighbours else Neighbours.ADD_REMOVE
    tried = 0
    for target in (*TARGETS, FAR):
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


def _sampled_truths(case: RuleCase) -> Iterator[Truth]:
    """The noise of every mechanism with a density of one entry, on a sample of one record: it moves the value or not."""
    if case.rule.event is not Subsample:
        return
    for factory in case.registry.mechanisms:
        mechanisms = MechanismCase(factory=factory, registry=case.registry, seed=case.seed)
        subject = mechanisms.subjects(1)[0]
        if factory.values != "reals" or () not in factory.shapes or not isinstance(subject.mechanism, WhiteBox):
            continue
        for target in (0.3, 2.0):
            at = mechanisms.distance(subject, target=target)
            value = np.zeros(())
            outputs = released(subject.mechanism, value, 2_000, mechanisms.rng(21))
            line = covering_line(mechanisms, subject, outputs, value)
            if line is None or not at.value:
                continue
            absent, present = (np.exp(log_density_of(subject, line, value + move)) for move in (0.0, at.value))
            for rate in RATES[:-1]:
                truth = partial(_excess, line, absent, rate * present + (1.0 - rate) * absent)
                for relation in Neighbours:
                    yield Subsample(rate=rate, event=subject.mechanism.event(at=at)), truth, relation


def _excess(line: Array, one: Array, other: Array, epsilon: float) -> float:
    """delta(epsilon) between two densities, the worse direction, from below: of two neighbouring points the smaller counts."""
    odds = np.exp(epsilon)
    excesses = [np.maximum(0.0, one - odds * other), np.maximum(0.0, other - odds * one)]
    return max(float(np.sum(np.minimum(found[1:], found[:-1]) * np.diff(line))) for found in excesses)


def _held_against_truth(case: RuleCase, event: Event, truth: Callable[[float], float], relation: Neighbours) -> int:
    try:
        loss = case.rule.bound(event)
    except DpkitError:
        return 0
    anywhere = MechanismCase(factory=case.registry.mechanisms[0], registry=case.registry, seed=case.seed)
    profile = profile_of(loss, anywhere) if loss is not None else None
    if loss is None or profile is None:
        return 0
    claim = Claim(loss=loss, neighbours=relation, because=case.rule.because)
    for epsilon in (*EPSILONS, *own_epsilons([claim])):
        least, claimed = truth(epsilon) * (1.0 - 2e-3), profile(epsilon)
        assert claimed >= least, (
            f"the rule gives {loss} for {event!r} under {relation}: delta({epsilon:g}) is at least {format_down(least)} in the "
            f"worst case, claimed {format_up(claimed)}"
        )
    return 1


RULE_LAWS: tuple[Callable[[RuleCase], None], ...] = (
    the_rule_holds_for_its_mechanisms,
    a_curve_holds_at_every_order,
    the_order_of_its_events_holds,
)
