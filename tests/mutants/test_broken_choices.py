"""The finder finds: a price of choices that is too low under one relation is caught by exact losses of near-worst scores."""

from dataclasses import replace

import numpy as np
import pytest

from dpkit import ZCDP, Exponential, Neighbours, PureDP, linf
from dpkit.mechanisms import exponential
from dpkit.mechanisms.mechanism_base import claims_of
from dpkit.privacy.neighbours import EITHER

EPSILON_SLACK, RHO_SLACK = 1 + 1e-12, 1 + 1e-9
ORDERS = np.array([1.01, 1.5, 2.0, 5.0, 50.0])


def neighbouring_scores(*, monotone: bool, neighbours: Neighbours):
    """Pairs of score vectors, each score at most 1 apart: all in one direction only when one record comes or goes."""
    one_way = monotone and neighbours is Neighbours.ADD_REMOVE
    lowest = 0.0 if one_way else -1.0
    rng = np.random.default_rng(5)
    for spread in (0.1, 1.0, 20.0):
        for _ in range(40):
            scores = spread * rng.normal(size=4)
            yield scores, scores + rng.choice([lowest, 1.0], size=4)
    for gap in (0.0, 20.0):  # the loss of a hopeless candidate that rises while the best one falls, or stays
        yield np.array([0.0, gap, gap]), np.array([1.0, gap + lowest, gap + lowest])


def assert_choices_cost_no_more_than_their_rules_say(rules) -> None:
    for monotone in (False, True):
        mechanism = Exponential(scale=1.0, monotone=monotone)
        event = mechanism.event(at=linf(1.0))
        for neighbours in EITHER:
            losses = [claim.loss for claim in claims_of(event, rules, neighbours=neighbours)]
            epsilon = min(loss.epsilon for loss in losses if isinstance(loss, PureDP))
            rho = min(loss.rho for loss in losses if isinstance(loss, ZCDP))
            for one, other in neighbouring_scores(monotone=monotone, neighbours=neighbours):
                log_p, log_q = (mechanism.log_density(np.arange(one.size), scores) for scores in (one, other))
                assert np.abs(log_p - log_q).max() <= epsilon * EPSILON_SLACK
                for a, b in ((log_p, log_q), (log_q, log_p)):
                    moments = np.log(np.exp(np.multiply.outer(ORDERS, a) + np.multiply.outer(1 - ORDERS, b)).sum(axis=1))
                    assert (moments / (ORDERS - 1) <= rho * ORDERS * RHO_SLACK + 1e-12).all()


def test_the_shipped_rules_hold():
    assert_choices_cost_no_more_than_their_rules_say(exponential.RULES)


def changed(name, **changes):
    return [replace(rule, **changes) if rule.name == name else rule for rule in exponential.RULES]


MUTANTS = {
    "monotone scores are as cheap under replace-one (pure)": changed("monotone-range-pure", neighbours=EITHER),
    "monotone scores are as cheap under replace-one (zCDP)": changed("monotone-range-zcdp", neighbours=EITHER),
    "every choice is priced as monotone (pure)": changed(
        "monotone-range-pure", bound=lambda event: PureDP(epsilon=event.range / 2)
    ),
    "every choice is priced as monotone (zCDP)": changed(
        "monotone-range-zcdp", bound=lambda event: exponential._zcdp(event.range / 2)
    ),
    "half the pure price": changed("bounded-range-pure", bound=lambda event: PureDP(epsilon=event.range / 2)),
    "half the zCDP price": changed("bounded-range-zcdp", bound=lambda event: exponential._zcdp(event.range / 2**0.5)),
}


@pytest.mark.parametrize("rules", MUTANTS.values(), ids=MUTANTS)
def test_a_rule_that_is_too_cheap_is_caught(rules):
    with pytest.raises(AssertionError):
        assert_choices_cost_no_more_than_their_rules_say(rules)
