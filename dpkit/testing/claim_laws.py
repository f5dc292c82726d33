"""The laws of claims: they are what the loss rules say, they grow with the distance, and they survive a quick audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.screening import CHOOSING, CHOSEN, DECIDING, screen_pairs
from dpkit.contracts.mechanism import WhiteBox
from dpkit.errors import DpkitError, LossOverflowError, UnpricedEventError, UnpricedLossError
from dpkit.numerics.rounding import format_down, format_up
from dpkit.pricing.assess import assess
from dpkit.privacy.claims import Claim
from dpkit.privacy.events import Compose, Event, Repeat
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.testing.mechanism_cases import Array, MechanismCase, MechanismSubject, pairs_at

MOST_PAIRS = 24
LOOKS = ((0.5, 1e-5), (2.0, 1e-5), (0.5, 0.1))
"""The prices, epsilon at delta, at whose distances a claim is audited."""
CHARGING = ("pure", "advanced", "zcdp", "gdp", "rdp")
"""The accountants by whose prices a release is judged: those that are quick, and one for every notion."""
NEAR = 0.03
"""The price of a step at which no honest noise moves much: a mechanism that rounds the value first leaps."""


def claims_are_what_the_rules_give(case: MechanismCase) -> None:
    """Each proved claim is the loss of a proved rule for the event, and what the accountants charge covers every claim."""
    for subject in case.subjects():
        at = case.distance(subject)
        claims = case.claims(subject.mechanism, at)
        assert claims, "the mechanism claims nothing: `claims(at)` must return what the auditor shall try to break"
        event = subject.mechanism.event(at=at)
        if isinstance(event, Repeat | Compose):
            _claims_cover_the_sum(case, event, claims)
            continue
        rules = case.registry.rules_for(type(event))
        assert rules, f"no loss rule speaks of {type(event).__name__}: register one by the hook dpkit_loss_rules"
        for claim in claims:
            proved = [rule.bound(event) for rule in rules if rule.status == "proved" and claim.neighbours in rule.neighbours]
            assert claim.loss in proved, (
                f"the claim {claim.loss!r} under {claim.neighbours} is not what any proved loss rule gives for {event!r}"
            )


def _claims_cover_the_sum(case: MechanismCase, event: Event, claims: Sequence[Claim]) -> None:
    """Of a release that is several events, what is claimed is no less than their sum by basic composition."""
    basic = case.registry.accountant("pure")
    for claim in claims:
        assert isinstance(claim.loss, PureDP | ApproxDP), f"of several events, basic composition gives no {claim.loss!r}"
        priced = assess(event, accountant=basic, registry=case.registry, neighbours=claim.neighbours, accept=frozenset())
        delta = claim.loss.delta if isinstance(claim.loss, ApproxDP) else 0.0
        assert priced.epsilon(delta=delta) <= claim.loss.epsilon * (1.0 + 1e-12), (
            f"the claim {claim.loss!r} under {claim.neighbours} is below what its events cost together"
        )


def price_grows_with_distance(case: MechanismCase) -> None:
    """At distance zero a release costs nothing; at a larger distance it never costs less."""
    for subject in case.subjects():
        at = case.distance(subject)
        steps = [at.times(count) for count in (0, 1, 2, 3)]
        prices = [case.epsilon(subject.mechanism, step) for step in steps]
        assert prices[0] == 0.0, (
            f"a release at distance 0 costs {format_up(prices[0], digits=3)}: neighbours with equal values differ in nothing"
        )
        assert all(near <= far * (1.0 + 1e-9) for near, far in pairwise(prices)), (
            f"the price falls as the distance grows: {prices}"
        )
        assert math.isfinite(prices[1]), "no distance can be priced"
        # some prices are step functions of the distance, and some steps are wide
        further = (_price_or_infinity(case, subject, at.times(count)) for count in (3, 10, 1000))
        assert prices[1] == 0.0 or any(price > prices[1] for price in further), (
            f"a thousand times the distance costs no more: {prices[1]:.3g}"
        )


def _price_or_infinity(case: MechanismCase, subject: MechanismSubject, at: Distance) -> float:
    """The price, where it is a number."""
    try:
        with np.errstate(all="ignore"):
            return case.epsilon(subject.mechanism, at)
    except (DpkitError, ArithmeticError):  # too large to be priced
        return math.inf


def claims_survive_a_quick_audit(case: MechanismCase) -> None:
    """No event is likelier under a neighbour than a claim allows, on pairs of values that the kit searches itself."""
    for index, subject in enumerate(case.subjects(2)):
        # at a small delta, and at one that is large enough for a wrong delta to be seen
        distances = {case.distance(subject, target=target, delta=delta) for target, delta in LOOKS}
        for at in sorted(distances, key=lambda distance: distance.value):
            for claims in grouped_claims(case, subject, at) if at.value else ():
                audit_claims(case, subject, at, claims, salt=index)
        near = case.distance(subject, target=NEAR)
        steepest = steepest_pairs(case, subject, near)
        for claims in grouped_claims(case, subject, near) if steepest else ():
            audit_claims(case, subject, near, claims, salt=index, pairs=steepest)


def audit_claims(
    case: MechanismCase,
    subject: MechanismSubject,
    at: Distance,
    claims: Sequence[Claim],
    *,
    salt: int,
    pairs: Sequence[tuple[Array, Array]] | None = None,
    epsilons: Sequence[float] = (),
    choosing: int = CHOOSING,
    deciding: int = DECIDING,
    chosen: int = CHOSEN,
) -> None:
    """A quick audit of claims that speak of one relation, and of what is charged, on the known pairs or on these."""
    profiles = [(str(claim.loss), profile_of(claim.loss, case)) for claim in claims]
    profiles.append(("that it costs what is charged for it", charged_profile(case, subject, at, claims[0].neighbours)))
    mechanism: Any = subject.mechanism
    judged = ClaimAtPair(
        sampler=mechanism.release_many,
        claim=claims[0],
        pair=(None, None),
        density=mechanism if isinstance(mechanism, WhiteBox) else None,
    )
    found = screen_pairs(
        judged,
        pairs_at(case, subject, at, claims[0], most=MOST_PAIRS) if pairs is None else pairs,
        [(name, profile) for name, profile in profiles if profile],
        rng=case.rng(21, salt),
        epsilons=[*own_epsilons(claims), *epsilons],
        choosing=choosing,
        deciding=deciding,
        chosen=chosen,
    )
    assert found is None, (
        f"the claim {found.claim} does not hold at {at}: P({found.event}) is at least "
        f"{format_down(found.likely, digits=4)} for one value and at most {format_up(found.unlikely, digits=4)} for its "
        f"neighbour, with parameters {subject.parameters}"
    )


def charged_profile(
    case: MechanismCase, subject: MechanismSubject, at: Distance, relation: Neighbours
) -> Callable[[float], float] | None:
    """delta(epsilon) of what the curator charges for a release at this distance, whatever the mechanism claims."""
    event = subject.mechanism.event(at=at)
    priced = []
    for name in CHARGING:
        try:
            chosen = case.registry.accountant(name)
            priced.append(assess(event, accountant=chosen, registry=case.registry, neighbours=relation))
        except (UnpricedEventError, LossOverflowError):
            continue
    if not priced:
        return None

    def profile(epsilon: float) -> float:
        key = ("charged", event, relation, epsilon)
        least = case.remembered(key, lambda: min(guarantee.delta(epsilon=epsilon) for guarantee in priced))
        assert isinstance(least, float)
        return least

    return profile


def several_distances_are_one_of_them(case: MechanismCase) -> None:
    """Where `event` takes several distances at once, it costs no less than at the cheapest that it takes by itself."""
    for subject in case.subjects(2):
        at = case.distance(subject)
        others = [Distance(metric=metric, value=at.value * 0.01) for metric in ("l1", "l2", "linf") if metric != at.metric]
        for listed in ([at, *others], [*others, at]):
            several: Any = tuple(listed)
            try:
                together = subject.mechanism.event(at=several)
            except (DpkitError, TypeError, AttributeError, ValueError):
                continue  # one at a time
            alone = [price for price in (_price_at(case, subject, distance) for distance in listed) if price is not None]
            price = case.priced(together)
            assert price >= min(alone) * (1.0 - 1e-9), (
                f"at several distances a release costs {price:.3g}, at each alone at least {min(alone):.3g}"
            )


def _price_at(case: MechanismCase, subject: MechanismSubject, distance: Distance) -> float | None:
    try:
        return case.priced(subject.mechanism.event(at=distance))
    except (DpkitError, TypeError, AttributeError, ValueError):
        return None


def profile_of(loss: Loss, case: MechanismCase) -> Callable[[float], float] | None:
    """delta(epsilon) that the loss implies: the smallest that any accountant reads from it."""
    states = []
    for accountant in case.registry.accountants:
        try:
            states.append((accountant, accountant.lift(loss)))
        except (UnpricedLossError, LossOverflowError):
            continue
    if not states:
        return None

    def profile(epsilon: float) -> float:
        least = case.remembered(
            ("profile", loss, epsilon), lambda: min(accountant.delta(state, epsilon=epsilon) for accountant, state in states)
        )
        assert isinstance(least, float)
        return least

    return profile


def grouped_claims(case: MechanismCase, subject: MechanismSubject, at: Distance) -> list[list[Claim]]:
    """The claims by relation; where both relations claim the same, once: the pairs of replace-one are at least as hard."""
    by_relation: dict[object, list[Claim]] = {}
    for claim in case.claims(subject.mechanism, at):
        by_relation.setdefault(claim.neighbours, []).append(claim)
    return list({tuple(repr(claim.loss) for claim in claims): claims for claims in by_relation.values()}.values())


def own_epsilons(claims: Sequence[Claim]) -> list[float]:
    """The epsilons at which claims themselves speak: the most telling ones to read a profile at."""
    return [claim.loss.epsilon for claim in claims if isinstance(claim.loss, PureDP | ApproxDP)]


STEPS = 240
"""Values that are tried, each a distance from the last: some eight scales of noise at the price of a near step."""
DRAWS = 24
KEPT = 3


def steepest_pairs(case: MechanismCase, subject: MechanismSubject, at: Distance) -> list[tuple[Array, Array]]:
    """Neighbours at this distance whose outputs differ most when they are given the same random bits.

    With equal bits, honest additive noise moves as its value does. Where the value is rounded, clipped or transformed before
    the noise, some steps move it much further; which, is found by walking. What is found proves nothing: it is then audited.
    """
    if case.factory.values != "reals" or not at.value or at.metric not in ("l1", "l2", "linf"):
        return []
    shape = min(case.factory.shapes, key=lambda form: int(np.prod(form)))
    walk = [_stepped(shape, (index - STEPS // 4 + 0.37) * at.value) for index in range(STEPS)]
    means = []
    for value in walk:
        try:
            outputs = np.asarray(subject.mechanism.release_many(value, DRAWS, case.rng(51)), dtype=np.float64)
        except ValueError:  # a value that this mechanism does not take
            outputs = np.full((DRAWS, 1), np.nan)
        means.append(np.mean(outputs.reshape(DRAWS, -1), axis=0))
    moves = [float(np.max(np.abs(two - one), initial=0.0)) for one, two in pairwise(means)]
    ranked = np.argsort(-np.nan_to_num(np.array(moves), nan=0.0))[:KEPT]
    return [(walk[index], walk[index + 1]) for index in ranked.tolist()]


def _stepped(shape: tuple[int, ...], size: float) -> Array:
    value = np.zeros(shape)
    value[(-1,) * len(shape)] = size
    return value
