"""The finder finds: each law of pricing catches an `account`, a `calibrate` or a JSON that was broken in the way it forbids."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from laws import composition_laws as composition
from laws import cross_check_laws as cross_check
from laws import pricing_laws as laws
from laws import sampling_laws as sampling

import dpkit
from dpkit import Compose, GaussianEvent, Neighbours, Parallel, PureEvent, Repeat, Subsample
from dpkit.accountants.best import BestAccountant
from dpkit.accountants.gdp import GaussianDPAccountant
from dpkit.accountants.pld.accountant import LossDistributionAccountant
from dpkit.accountants.pure import PureAccountant
from dpkit.accounting import RELATIVE
from dpkit.numerics.bracketing import first_true
from dpkit.pricing import assess
from dpkit.privacy.claims import LossRule
from dpkit.privacy.events import as_event, flatten
from dpkit.privacy.losses import RenyiCurve


def patched(owner, name, wrong):
    """`account`, with one function of the core replaced while it runs."""

    def account(*arguments, **options):
        with patch.object(owner, name, wrong):
            return dpkit.account(*arguments, **options)

    return account


def rewritten(change):
    """`account` of another tree than the one given: `change` is applied to every node, the innermost first."""

    def walk(event):
        if isinstance(event, Repeat | Subsample):
            event = replace(event, event=walk(event.event))
        elif isinstance(event, Compose | Parallel):
            event = replace(event, events=tuple(map(walk, event.events)))
        return change(event)

    def account(event_or_events, *arguments, **options):
        return dpkit.account(walk(as_event(event_or_events)), *arguments, **options)

    return account


def renamed(**others):
    """`account` under another accountant than the one named."""

    def account(event_or_events, accountant, *arguments, **options):
        if isinstance(accountant, str):
            accountant = others.get(accountant, accountant)
        return dpkit.account(event_or_events, accountant, *arguments, **options)

    return account


def innermost_count_only(event):
    counts, pending = {}, [(event, 1)]
    while pending:
        current, times = pending.pop()
        if isinstance(current, Repeat):
            pending.append((current.event, current.times))  # not times * current.times
        elif isinstance(current, Compose):
            pending.extend((inner, times) for inner in current.events)
        else:
            counts[current] = counts.get(current, 0) + times
    return {leaf: times for leaf, times in counts.items() if times}


def equal_events_once(event):
    return dict.fromkeys(flatten(event), 1)


def equal_neighbours_once(event):
    return Compose(events=tuple(dict.fromkeys(event.events))) if isinstance(event, Compose) else event


@dataclass(frozen=True, slots=True, kw_only=True)
class SumsInFloatingPoint(PureAccountant):
    """Rounds at every addition, so that the last bit depends on the order."""

    def combine(self, *states):
        total = 0.0
        for state in states:  # one by one: from Python 3.12 on `sum` carries what it rounds away
            total += float(state.epsilon)
        return replace(PureAccountant.combine(self, *states), epsilon=Fraction(total))


def first_counts_twice(event):
    return Compose(events=(*event.events[:1], *event.events)) if isinstance(event, Compose) else event


def no_records_cost_something(event):
    return PureEvent(epsilon=1e-3) if event == Parallel(events=()) else event


def zero_times_is_once(event):
    return replace(event, times=max(1, event.times)) if isinstance(event, Repeat) else event


@dataclass(frozen=True, slots=True, kw_only=True)
class TheWorstIsBest(BestAccountant):
    """The largest reading instead of the smallest."""

    def _winner(self, state, *, delta):
        priced = [(index, part) for index, part in enumerate(state.states) if part is not None]
        readings = [(index, self.components[index].reading(part, delta=delta)) for index, part in priced]
        return max(readings, key=lambda pair: pair[1].epsilon)


def best_without(*names):
    everyone = dpkit.default_registry().accountant("best").components
    return BestAccountant(components=tuple(each for each in everyone if each.name not in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class TheLowerEndIsTheUpper(LossDistributionAccountant):
    def interval(self, state, *, delta):
        found = LossDistributionAccountant.interval(self, state, delta=delta)
        return None if found is None else (found[1], found[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class TheLowerEndStopsShortOfOne(LossDistributionAccountant):
    def interval(self, state, *, delta):
        return LossDistributionAccountant.interval(self, state, delta=min(delta, 1.0 - 1e-12))


@dataclass(frozen=True, slots=True, kw_only=True)
class RatiosAddUp(GaussianDPAccountant):
    """mu * k instead of mu * sqrt(k): sound, and not exact."""

    def repeat(self, state, times):
        return replace(state, mu_squared=state.mu_squared * times * times)


def cells_are_charged_twice(event):
    return Compose(events=(*event.events, *event.events)) if isinstance(event, Parallel) else event


def cheapest_cell(event):
    if not isinstance(event, Parallel) or not event.events:
        return event
    return min(event.events, key=lambda cell: dpkit.account(cell, "pure").epsilon(delta=0.0))


def one_cell(pricing, states):
    return pricing.accountant.join(*states)


def always(relation):
    return lambda event_or_events, accountant, neighbours=relation: dpkit.account(event_or_events, accountant, relation)


def left_out_rate(event):
    return replace(event, rate=1.0 - event.rate) if isinstance(event, Subsample) and 0.0 < event.rate < 1.0 else event


def rate_within(low, high):
    return lambda event: replace(event, rate=min(max(low, event.rate), high)) if isinstance(event, Subsample) else event


def noise_is_averaged(event):
    """The sensitivity of a mean over the sample, with the noise of a mean over everybody."""
    if isinstance(event, Subsample) and isinstance(event.event, GaussianEvent) and event.rate:
        return replace(event, event=GaussianEvent(ratio=event.event.ratio / event.rate))
    return event


def one_rate_of_two(choose):
    def change(event):
        if isinstance(event, Subsample) and isinstance(event.event, Subsample):
            return Subsample(rate=choose(event.rate, event.event.rate), event=event.event.event)
        return event

    return rewritten(change)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReverseCurve(RenyiCurve):
    """Rényi divergence of N(0,1) from (1-q) N(0,1) + q N(ratio,1): the smaller direction."""

    rate: float
    ratio: float

    def at(self, orders):
        nodes = np.arange(-40.0, 40.0, 1.0 / 32.0)
        log_density = -0.5 * nodes * nodes - 0.5 * np.log(2.0 * np.pi)
        log_ratio = np.log1p(self.rate * np.expm1(self.ratio * nodes - 0.5 * self.ratio**2))
        excess = np.asarray(orders)[:, None] - 1.0
        return np.maximum(np.logaddexp.reduce(log_density - excess * log_ratio - np.log(32.0), axis=1) / excess[:, 0], 0.0)


def sampled_rule_replaced(bound):
    """`account` with another theorem for Gaussian noise on a sample."""
    known = dpkit.default_registry()
    (right,) = (rule for rule in known.rules if rule.name == "subsampled-gaussian-renyi")
    wrong = replace(right, loss=RenyiCurve, bound=lambda event: bound(right.bound(event)))
    return partial(dpkit.account, registry=known.without(right.name).extended(rules=[wrong]))


def reverse_direction(curve):
    return None if curve is None else ReverseCurve(rate=curve.rate, ratio=curve.ratio)


def rate_squared(curve):
    return None if curve is None else replace(curve, rate=curve.rate**2)


def failing_end(event_of_scale, budget, accountant):
    def holds(scale):
        return dpkit.account(event_of_scale(scale), accountant).within(budget)

    return first_true(holds, relative=RELATIVE)[0]


def wasteful(event_of_scale, budget, accountant):
    return 1.001 * dpkit.calibrate(event_of_scale, budget, accountant)


def twelve_digits(value):
    return json.dumps(json.loads(dpkit.to_json(value), parse_float=lambda text: float(f"{float(text):.12g}")))


def forgets_what_was_accepted(value):
    def forgetting(node):
        return {**node, "accepted": []} if "accepted" in node else node

    return json.dumps(json.loads(dpkit.to_json(value), object_hook=forgetting))


REPEAT, ORDER = composition.repeat_equals_unrolled_to_the_bit, composition.order_does_not_matter_to_the_bit
NOTHING, PAID = composition.composition_with_nothing_changes_nothing, composition.repeated_noise_is_never_below_the_truth
CELLS = laws.disjoint_records_cost_no_more_than_the_same_records
TRUTH = sampling.sampled_gaussian_is_never_below_the_truth
CALIBRATED = laws.calibrated_scale_is_within_the_budget_and_hardly_a_smaller_one
JSON = laws.guarantee_survives_json

BROKEN = {
    "innermost count only": (REPEAT, "pure", patched(assess, "flatten", innermost_count_only)),
    "equal events once, of Gaussian noise": (PAID, "gdp", patched(assess, "flatten", equal_events_once)),
    "equal events once, of pure releases": (PAID, "advanced", patched(assess, "flatten", equal_events_once)),
    "equal neighbours once": (REPEAT, "zcdp", rewritten(equal_neighbours_once)),
    "sums in floating point": (ORDER, "pure", renamed(pure=SumsInFloatingPoint())),
    "first counts twice": (ORDER, "zcdp", rewritten(first_counts_twice)),
    "no records cost something": (NOTHING, "pure", rewritten(no_records_cost_something)),
    "zero times is once": (NOTHING, "rdp", rewritten(zero_times_is_once)),
    "the worst is best": (
        laws.best_is_never_above_any,
        "best",
        renamed(best=TheWorstIsBest(components=best_without().components)),
    ),
    "best forgets pld": (cross_check.best_is_the_least_over_every_range, "best", renamed(best=best_without("pld"))),
    "every pair counts as attained": (
        cross_check.no_lower_end_is_above_an_upper_end,
        "pld",
        patched(LossRule, "is_attained", lambda rule, event: True),
    ),
    "a lower end is the upper end": (
        cross_check.no_lower_end_is_above_the_truth,
        "pld",
        renamed(pld=TheLowerEndIsTheUpper()),
    ),
    "a lower end is read at a delta that stops short of 1": (
        cross_check.no_lower_end_is_above_the_truth,
        "pld",
        renamed(pld=TheLowerEndStopsShortOfOne()),
    ),
    "best forgets gdp": (laws.best_is_never_above_any, "best", renamed(best=best_without("gdp", "pld"))),
    "best forgets advanced": (laws.best_is_never_above_any, "best", renamed(best=best_without("advanced", "pld"))),
    "rdp and zcdp are swapped": (laws.tighter_is_never_above_looser, "rdp", renamed(rdp="zcdp", zcdp="rdp")),
    "zcdp is cdp's": (laws.tighter_is_never_above_looser, "zcdp", renamed(zcdp="cdp")),
    "advanced and pure are swapped": (
        laws.tighter_is_never_above_looser,
        "advanced",
        renamed(advanced="pure", pure="advanced"),
    ),
    "ratios add up": (laws.exact_gaussian_is_never_above_any, "gdp", renamed(gdp=RatiosAddUp())),
    "cells are charged twice": (CELLS, "gdp", rewritten(cells_are_charged_twice)),
    "cheapest cell": (CELLS, "pure", rewritten(cheapest_cell)),
    "one cell, as pairs": (laws.replaced_record_touches_two_cells, "zcdp", patched(assess._Pricing, "two_cells", one_cell)),
    "one cell, as relation": (laws.replaced_record_touches_two_cells, "gdp", always(Neighbours.ADD_REMOVE)),
    "two cells always": (laws.replaced_record_touches_two_cells, "pure", always(Neighbours.REPLACE_ONE)),
    "twice the dearest cell": (laws.replaced_record_touches_two_cells, "pure", patched(assess, "_EXACT_PAIRS", 0)),
    "rate left out": (sampling.sampling_never_costs_more_than_not_sampling, "pure", rewritten(left_out_rate)),
    "at least half": (sampling.sampling_never_costs_more_than_not_sampling, "rdp", rewritten(rate_within(0.5, 1.0))),
    "never all": (sampling.sampling_never_costs_more_than_not_sampling, "pure", rewritten(rate_within(0.0, 0.99))),
    "noise is averaged": (sampling.sampled_gaussian_lies_between_nothing_and_the_whole, "rdp", rewritten(noise_is_averaged)),
    "reverse direction": (TRUTH, "rdp", sampled_rule_replaced(reverse_direction)),
    "reverse direction, under best": (TRUTH, "best", sampled_rule_replaced(reverse_direction)),
    "rate squared": (TRUTH, "rdp", sampled_rule_replaced(rate_squared)),
    "outer rate only": (sampling.two_samples_are_one_sample, "rdp", one_rate_of_two(lambda outer, inner: outer)),
    "inner rate only": (sampling.two_samples_are_one_sample, "pure", one_rate_of_two(lambda outer, inner: inner)),
    "failing end": (partial(CALIBRATED, calibrate=failing_end), "pure", dpkit.account),
    "wasteful": (partial(CALIBRATED, calibrate=wasteful), "zcdp", dpkit.account),
    "twelve digits": (partial(JSON, to_json=twelve_digits), "zcdp", dpkit.account),
    "forgets what was accepted": (partial(JSON, to_json=forgets_what_was_accepted), "pure", dpkit.account),
}


@pytest.mark.parametrize(("law", "accountant", "account"), BROKEN.values(), ids=BROKEN.keys())
def test_the_law_catches_the_mutant(law, accountant, account):
    with pytest.raises(AssertionError):
        law(account, accountant)


def test_every_law_has_a_mutant_under_an_accountant_that_it_speaks_of():
    tried = {(getattr(law, "func", law), accountant) for law, accountant, _ in BROKEN.values()}
    assert tried <= set(laws.pricing_cases(dpkit.default_registry()))
    assert {law for law, _ in tried} == set(laws.PRICING_LAWS)
