"""The laws of claims: they are what the loss rules say, they grow with the distance, and they survive a quick audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from dpkit.core.claims import Claim
from dpkit.core.distances import Distance
from dpkit.core.losses import ApproxDP, Loss, PureDP
from dpkit.errors import LossOverflowError, UnpricedLossError
from dpkit.numerics.rounding import format_down, format_up
from dpkit.testing.cases import Array, MechanismCase, Subject, pairs_at
from dpkit.testing.pair_search import steepest_pairs
from dpkit.testing.quick_audit import Violation, quick_audit

MOST_PAIRS = 24
LOOKS = ((0.5, 1e-5), (2.0, 1e-5), (0.5, 0.1))
"""The prices, epsilon at delta, at whose distances a claim is audited."""
NEAR = 0.03
"""The price of a step at which no honest noise moves much: a mechanism that rounds the value first leaps."""


def claims_are_what_the_rules_give(case: MechanismCase) -> None:
    """Each proved claim is the loss of a proved rule for the event, and what the accountants charge covers every claim."""
    for subject in case.subjects():
        at = case.distance(subject)
        claims = case.claims(subject.mechanism, at)
        assert claims, "the mechanism claims nothing: `claims(at)` must return what the auditor shall try to break"
        event = subject.mechanism.event(at=at)
        rules = case.registry.rules_for(type(event))
        assert rules, f"no loss rule speaks of {type(event).__name__}: register one by the hook dpkit_loss_rules"
        for claim in claims:
            proved = [rule.bound(event) for rule in rules if rule.status == "proved" and claim.neighbours in rule.neighbours]
            assert claim.loss in proved, (
                f"the claim {claim.loss!r} under {claim.neighbours} is not what any proved loss rule gives for {event!r}"
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
        assert prices[3] > prices[1] or prices[1] == 0.0, f"three times the distance costs no more: {prices}"


def claims_survive_a_quick_audit(case: MechanismCase) -> None:
    """No event is likelier under a neighbour than a claim allows, on pairs of values that the kit searches itself."""
    for index, subject in enumerate(case.subjects(3)):
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
    subject: Subject,
    at: Distance,
    claims: Sequence[Claim],
    *,
    salt: int,
    pairs: Sequence[tuple[Array, Array]] | None = None,
) -> None:
    """A quick audit of claims that speak of one relation, on the pairs that are known at this distance or on these."""
    profiles = [(claim, profile_of(claim.loss, case)) for claim in claims]
    found: Violation | None = quick_audit(
        subject.mechanism,
        pairs_at(case, subject, at, claims[0], most=MOST_PAIRS) if pairs is None else pairs,
        [(str(claim.loss), profile) for claim, profile in profiles if profile],
        rng=case.rng(21, salt),
        epsilons=own_epsilons(claims),
    )
    assert found is None, (
        f"the claim {found.claim} does not hold at {at}: P({found.event}) is at least "
        f"{format_down(found.likely, digits=4)} for one value and at most {format_up(found.unlikely, digits=4)} for its "
        f"neighbour, with parameters {subject.parameters}"
    )


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


def grouped_claims(case: MechanismCase, subject: Subject, at: Distance) -> list[list[Claim]]:
    """The claims by relation; where both relations claim the same, once: the pairs of replace-one are at least as hard."""
    by_relation: dict[object, list[Claim]] = {}
    for claim in case.claims(subject.mechanism, at):
        by_relation.setdefault(claim.neighbours, []).append(claim)
    return list({tuple(repr(claim.loss) for claim in claims): claims for claims in by_relation.values()}.values())


def own_epsilons(claims: Sequence[Claim]) -> list[float]:
    """The epsilons at which claims themselves speak: the most telling ones to read a profile at."""
    return [claim.loss.epsilon for claim in claims if isinstance(claim.loss, PureDP | ApproxDP)]
