"""The finder finds: each law of records that take part by chance catches an `account` that forgets what it speaks of."""

from dataclasses import replace
from unittest.mock import patch

import pytest
from laws import chance_laws as laws

import dpkit
from dpkit import FixedBatch, GaussianEvent, RandomAllocation, Repeat, RepeatAndSelect, ShuffledEpochs, Subsample
from dpkit.accountants.pld.accountant import LossDistributionAccountant
from dpkit.pricing.assess import _Pricing
from dpkit.privacy.events import as_event


def rewritten(change):
    """`account` of another tree: `change` is applied to every node, the innermost first."""

    def walk(event):
        if isinstance(event, Repeat | Subsample | FixedBatch | RandomAllocation | ShuffledEpochs | RepeatAndSelect):
            event = replace(event, event=walk(event.event))
        return change(event)

    def account(event, *arguments, **options):
        return dpkit.account(walk(as_event(event)), *arguments, **options)

    return account


def patched(owner, name, wrong):
    """`account` with one function replaced while it runs."""

    def account(*arguments, **options):
        with patch.object(owner, name, wrong):
            return dpkit.account(*arguments, **options)

    return account


def one_direction(self, loss, neighbours):
    return self.lift(loss)


def never_cut(event):
    return replace(event, at_most=None, population=None) if isinstance(event, Subsample) else event


def absent_is_half(event):
    stated = isinstance(event, GaussianEvent) and event.absent is not None
    return replace(event, absent=0.5 * event.ratio) if stated else event


def absent_unasked(event):
    forgotten = isinstance(event, GaussianEvent) and event.absent is None
    return replace(event, absent=0.5 * event.ratio) if forgotten else event


def replaced_as_removed(event):
    """The price of a record that comes or goes, for one that is replaced."""
    stated = isinstance(event, GaussianEvent) and event.absent is not None
    return replace(event, ratio=event.absent, absent=0.5 * event.absent) if stated else event


def once(event):
    return replace(event, participations=min(1, event.participations)) if isinstance(event, RandomAllocation) else event


def allocation_as_poisson(event):
    if not isinstance(event, RandomAllocation):
        return event
    return Repeat(event=Subsample(rate=0.5 / event.steps, event=event.event), times=event.steps)


def shuffled_as_poisson(event):
    if not isinstance(event, ShuffledEpochs):
        return event
    return Repeat(event=Subsample(rate=1.0 / event.batches, event=event.event), times=event.batches)


def one_run(event):
    return event.event if isinstance(event, RepeatAndSelect) else event


MUTANTS = {
    "the pair as it is": (
        laws.fixed_batches_compose_both_directions,
        patched(LossDistributionAccountant, "lift_under", one_direction),
    ),
    "samples that are never cut": (laws.a_cut_sample_costs_what_replacing_costs, rewritten(never_cut)),
    "an absent record in the middle": (laws.a_replaced_sample_counts_its_absence, rewritten(absent_is_half)),
    "absence need not be stated": (laws.absence_is_stated, rewritten(absent_unasked)),
    "absence is not asked for": (
        laws.absence_is_stated,
        patched(_Pricing, "absence_is_missing", lambda self, event: False),
    ),
    "a replaced record as one that leaves": (
        laws.an_allocated_record_is_in_one_step_or_the_other,
        rewritten(replaced_as_removed),
    ),
    "allocation as a sample at half the rate": (
        laws.an_allocated_record_is_in_one_step_or_the_other,
        rewritten(allocation_as_poisson),
    ),
    "one participation for all": (laws.more_participations_cost_more, rewritten(once)),
    "a shuffle as a Poisson sample": (laws.a_shuffled_batch_is_filled_by_others, rewritten(shuffled_as_poisson)),
    "one run for all": (laws.the_best_of_runs_costs_more_than_one, rewritten(one_run)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_law_finds_it(name):
    law, account = MUTANTS[name]
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        law(account)


def test_every_law_has_a_mutant():
    assert {law for law, _ in MUTANTS.values()} == set(laws.LAWS)
