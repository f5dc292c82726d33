"""Pricing chooses proved rules only, names what it cannot price, and says when a guarantee does not hold."""

import dataclasses
import math

import pytest

import dpkit
from dpkit import (
    GDP,
    ZCDP,
    ApproxEvent,
    Citation,
    Compose,
    Event,
    FixedBatch,
    GaussianEvent,
    LaplaceEvent,
    LossRule,
    Neighbours,
    Parallel,
    PureDP,
    PureEvent,
    RandomAllocation,
    Repeat,
    ShuffledEpochs,
    Subsample,
    UnpricedEventError,
)

BOTH = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WishfulEvent(Event):
    """A mechanism whose published claim is false."""

    epsilon: float


WISHFUL = LossRule(
    name="wishful",
    event=WishfulEvent,
    loss=PureDP,
    neighbours=BOTH,
    because=Citation(key="dpkit", locator="a test"),
    status="refuted",
    bound=lambda event: PureDP(epsilon=event.epsilon),
)


@pytest.fixture
def registry():
    return dpkit.default_registry().extended(rules=[WISHFUL])


def test_a_refuted_rule_prices_nothing_by_default(registry):
    with pytest.raises(UnpricedEventError, match=r"not proved \(wishful\)"):
        dpkit.account(WishfulEvent(epsilon=1.0), "pure", registry=registry)


@pytest.mark.parametrize("accountant", ["pure", "zcdp", "rdp", "best"])
def test_an_accepted_refuted_rule_prices_and_the_guarantee_says_that_it_does_not_hold(registry, accountant):
    study = [PureEvent(epsilon=0.5), Repeat(event=WishfulEvent(epsilon=0.25), times=2)]
    guarantee = dpkit.account(study, accountant, registry=registry, accept=["wishful"])
    assert not guarantee.holds
    assert guarantee.unsound == ("wishful",)
    assert "DOES NOT HOLD" in str(guarantee)
    assert "DOES NOT HOLD" in str(guarantee.explain())
    assert any(line.status == "refuted" for line in guarantee.explain().lines)
    assert dpkit.account(PureEvent(epsilon=0.5), accountant, registry=registry).holds


def test_a_refuted_rule_taints_disjoint_records_and_samples_too(registry):
    for event in (
        Parallel(events=(PureEvent(epsilon=1.0), WishfulEvent(epsilon=0.1))),
        Subsample(rate=0.5, event=WishfulEvent(epsilon=1.0)),
        Subsample(rate=1.0, event=Repeat(event=WishfulEvent(epsilon=1.0), times=2)),
    ):
        assert dpkit.account(event, "pure", registry=registry, accept=["wishful"]).unsound == ("wishful",)
        with pytest.raises(UnpricedEventError):
            dpkit.account(event, "pure", registry=registry)


@pytest.mark.parametrize("divisor", [1, 2])
@pytest.mark.parametrize("first", ["refuted", "proved"])
def test_a_proved_rule_is_preferred_when_a_refuted_one_is_no_better(divisor, first):
    proved = dataclasses.replace(
        WISHFUL, name="wishful-proved", status="proved", bound=lambda event: PureDP(epsilon=event.epsilon / divisor)
    )
    rules = [WISHFUL, proved] if first == "refuted" else [proved, WISHFUL]
    both = dpkit.default_registry().extended(rules=rules)
    guarantee = dpkit.account(WishfulEvent(epsilon=1.0), "pure", registry=both, accept=["wishful"])
    assert guarantee.holds
    assert guarantee.epsilon(delta=0.0) == 1.0 / divisor


def test_the_error_names_the_event_and_who_can_price_it():
    with pytest.raises(UnpricedEventError) as caught:
        dpkit.account([LaplaceEvent(ratio=1.0), GaussianEvent(ratio=0.5)], "pure")
    assert caught.value.event == GaussianEvent(ratio=0.5)
    assert caught.value.able == ("cdp", "zcdp", "rdp", "gdp", "pld", "best")
    assert "GaussianEvent(ratio=0.5)" in str(caught.value)


def test_sampling_under_replace_one_needs_a_theorem():
    sampled = Subsample(rate=0.1, event=GaussianEvent(ratio=1.0))
    with pytest.raises(UnpricedEventError, match="compared with its absence"):
        dpkit.account(sampled, "rdp", Neighbours.REPLACE_ONE)
    cited = LossRule(
        name="sampled-replace-one",
        event=Subsample,
        loss=ZCDP,
        neighbours=(Neighbours.REPLACE_ONE,),
        because=Citation(key="dpkit", locator="a test"),
        bound=lambda event: ZCDP(rho=1.0),
    )
    with_theorem = dpkit.default_registry().extended(rules=[cited])
    assert math.isfinite(dpkit.account(sampled, "zcdp", Neighbours.REPLACE_ONE, with_theorem).epsilon(delta=1e-6))


@pytest.mark.parametrize("accountant", ["pld", "zcdp", "rdp", "gdp", "cdp", "best"])
def test_a_shuffled_pass_costs_what_the_event_costs_and_an_allocation_no_more(accountant):
    noise = GaussianEvent(ratio=1.0, absent=1.0)
    for relation in BOTH:
        once = dpkit.account(noise, accountant, relation).epsilon(delta=1e-6)
        twice = dpkit.account(Repeat(event=noise, times=2), accountant, relation).epsilon(delta=1e-6)
        shuffled = dpkit.account(ShuffledEpochs(event=noise, batches=10, epochs=2), accountant, relation)
        assert shuffled.epsilon(delta=1e-6) == twice
        assert dpkit.account(RandomAllocation(event=noise, steps=9), accountant, relation).epsilon(delta=1e-6) <= once
        of_two = RandomAllocation(event=noise, steps=9, participations=2)
        assert dpkit.account(of_two, accountant, relation).epsilon(delta=1e-6) <= twice


def test_what_is_not_attained_has_no_lower_end():
    with pytest.raises(dpkit.NoIntervalError):
        dpkit.account(ShuffledEpochs(event=GaussianEvent(ratio=1.0), batches=2), "pld").interval(delta=1e-6)


@pytest.mark.parametrize("sampling", [RandomAllocation, ShuffledEpochs])
def test_a_record_that_takes_part_by_chance_is_refused_where_its_absence_is_not_stated(sampling):
    event = sampling(event=GaussianEvent(ratio=1.0), **{"steps" if sampling is RandomAllocation else "batches": 9})
    with pytest.raises(UnpricedEventError, match="compared with its absence"):
        dpkit.account(event, "best", Neighbours.REPLACE_ONE)


def test_a_sampling_inside_another_is_refused_or_priced_from_above():
    inner = Subsample(rate=0.1, event=GaussianEvent(ratio=1.0))
    priced = dpkit.account(RandomAllocation(event=inner, steps=10, participations=3), "pld").epsilon(delta=1e-6)
    assert priced == dpkit.account(Repeat(event=inner, times=3), "pld").epsilon(delta=1e-6)
    with pytest.raises(UnpricedEventError):
        dpkit.account(FixedBatch(size=1, population=3, event=inner), "pld", Neighbours.REPLACE_ONE)


def test_an_event_without_rules_is_refused():
    with pytest.raises(UnpricedEventError, match="No accountant can price it"):
        dpkit.account(WishfulEvent(epsilon=1.0), "best")


def test_a_mixed_composition_inside_a_sample_is_amplified_as_a_whole():
    mixed = Compose(events=(LaplaceEvent(ratio=0.5), ApproxEvent(epsilon=0.5, delta=1e-8)))
    guarantee = dpkit.account(Subsample(rate=0.1, event=mixed), "pure")
    assert guarantee.epsilon(delta=1.0001e-9) == pytest.approx(math.log1p(0.1 * math.expm1(1.0)))
    assert guarantee.epsilon(delta=0.9e-9) == math.inf


def test_a_huge_ratio_is_refused_by_the_notions_that_it_overflows():
    with pytest.raises(dpkit.LossOverflowError, match="overflows"):
        dpkit.account(PureEvent(epsilon=1e200), "cdp")
    with pytest.raises(UnpricedEventError, match="every part"):
        dpkit.account([GaussianEvent(ratio=1e200), dpkit.ZCDPEvent(rho=1.0)], "best")
    assert dpkit.account(PureEvent(epsilon=1e200), "best").epsilon(delta=1e-6) == pytest.approx(1e200)


def test_deep_trees_do_not_exhaust_the_stack():
    event = PureEvent(epsilon=1e-9)
    for _ in range(5000):
        event = Compose(events=(Repeat(event=event, times=1),))
    assert dpkit.account(event, "pure").epsilon(delta=0.0) == 1e-9


def test_a_rule_that_returns_another_notion_is_named():
    lying = dataclasses.replace(WISHFUL, name="lying", status="proved", bound=lambda event: GDP(mu=0.1))
    with pytest.raises(dpkit.PluginError, match="lying"):
        dpkit.account(WishfulEvent(epsilon=1.0), "zcdp", registry=dpkit.default_registry().extended(rules=[lying]))


def test_a_plugin_s_event_cannot_take_the_name_of_a_built_in():
    imposter = dataclasses.make_dataclass("Repeat", [], bases=(Event,), frozen=True)
    with pytest.raises(dpkit.DuplicateNameError, match="Repeat"):
        dpkit.default_registry().extended(rules=[dataclasses.replace(WISHFUL, name="imposter", event=imposter)])


def test_nothing_in_a_sample_costs_nothing():
    empty = Subsample(rate=0.5, event=Repeat(event=LaplaceEvent(ratio=1.0), times=0))
    assert dpkit.account(empty, "pure").epsilon(delta=0.0) == 0.0


def test_huge_losses_are_explained_without_overflow():
    explanation = dpkit.account([GaussianEvent(ratio=1e200), GaussianEvent(ratio=1e199)], "gdp").explain()
    assert sum(line.share for line in explanation.lines) == pytest.approx(1.0)
    assert "inf" in explanation
    assert "1e-305" in dpkit.account(PureEvent(epsilon=1e-305), "pure").explain()


def test_under_add_remove_a_record_that_comes_is_as_far_as_the_event_says():
    """Contributions between 10 and 11: 1 apart, and 11 from nothing."""
    told, far = GaussianEvent(ratio=1.0, absent=11.0), GaussianEvent(ratio=11.0)
    for accountant in ("pld", "rdp", "best"):
        for event, same in (
            (told, far),
            (Repeat(event=told, times=3), Repeat(event=far, times=3)),
            (Subsample(rate=0.1, event=Compose(events=(told, told))), Subsample(rate=0.1, event=Repeat(event=far, times=2))),
            (RandomAllocation(event=told, steps=4), RandomAllocation(event=far, steps=4)),
            (ShuffledEpochs(event=told, batches=4, epochs=2), Repeat(event=far, times=2)),
            (Parallel(events=(told, GaussianEvent(ratio=2.0))), far),
        ):
            found, truth = (dpkit.account(one, accountant).delta(epsilon=80.0) for one in (event, same))
            assert found == pytest.approx(truth, rel=1e-6)
    near = GaussianEvent(ratio=2.0, absent=1.0)
    assert dpkit.account(near, "pld").epsilon(delta=1e-6) == dpkit.account(GaussianEvent(ratio=2.0), "pld").epsilon(delta=1e-6)


def test_a_record_that_moves_to_another_cell_leaves_one_and_joins_one():
    told, far = GaussianEvent(ratio=1.0, absent=11.0), GaussianEvent(ratio=11.0)
    moved = dpkit.account(Parallel(events=(told, told)), "pld", Neighbours.REPLACE_ONE).epsilon(delta=1e-6)
    assert moved == dpkit.account(Repeat(event=far, times=2), "pld").epsilon(delta=1e-6)
    alone = dpkit.account(Parallel(events=(told,)), "pld", Neighbours.REPLACE_ONE).epsilon(delta=1e-6)
    assert alone == dpkit.account(GaussianEvent(ratio=1.0), "pld").epsilon(delta=1e-6)


@pytest.mark.parametrize(
    "cell",
    [
        FixedBatch(size=1, population=10, event=PureEvent(epsilon=1.0)),
        Repeat(event=ShuffledEpochs(event=GaussianEvent(ratio=2.0, absent=1.0), batches=3), times=2),
        Parallel(events=(FixedBatch(size=1, population=10, event=GaussianEvent(ratio=1.0)),)),
    ],
)
def test_a_cell_that_a_record_leaves_has_no_public_size(cell):
    """Batches of a fixed size need one, and so does a loader that closes gaps."""
    with pytest.raises(UnpricedEventError, match="other sizes"):
        dpkit.account(Parallel(events=(cell, cell)), "best", Neighbours.REPLACE_ONE)
    assert dpkit.account(Parallel(events=(cell,)), "best", Neighbours.REPLACE_ONE).epsilon(delta=1e-6) > 0.0
