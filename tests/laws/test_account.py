"""Laws of pricing: what must hold of any event tree, whatever is in it."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpkit
from dpkit import ApproxDP, Compose, GaussianEvent, LaplaceEvent, Neighbours, Parallel, PureEvent, Repeat, Subsample
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.testing.strategies import any_events, counts, deltas, epsilons, events, leaves, log_uniform, pure_leaves, relations

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)
NAMES = [name for name in dpkit.default_registry().accountant_names if name != "best"]
CLOSE = 1.0 + 1e-9


def epsilon_or_none(event, accountant, delta, neighbours=Neighbours.ADD_REMOVE):
    try:
        return dpkit.account(event, accountant, neighbours).epsilon(delta=delta)
    except dpkit.UnpricedEventError:
        return None


@pytest.mark.parametrize("accountant", [*NAMES, "best"])
@SETTINGS
@given(event=leaves(), times=st.integers(0, 7), delta=deltas())
def test_repeat_equals_unrolled_to_the_bit(accountant, event, times, delta):
    repeated = epsilon_or_none(Repeat(event=event, times=times), accountant, delta)
    unrolled = epsilon_or_none([event] * times, accountant, delta)
    nested = epsilon_or_none(Repeat(event=Compose(events=(Repeat(event=event, times=times),)), times=1), accountant, delta)
    assert repeated == unrolled == nested


@pytest.mark.parametrize("accountant", [*NAMES, "best"])
@SETTINGS
@given(several=st.lists(leaves(), max_size=5), delta=deltas(), random=st.randoms(use_true_random=False))
def test_order_does_not_matter_to_the_bit(accountant, several, delta, random):
    shuffled = list(several)
    random.shuffle(shuffled)
    assert epsilon_or_none(several, accountant, delta) == epsilon_or_none(shuffled, accountant, delta)


@pytest.mark.parametrize("accountant", [*NAMES, "best"])
@SETTINGS
@given(event=events(), delta=deltas(), neighbours=relations())
def test_composition_with_nothing_changes_nothing(accountant, event, delta, neighbours):
    alone = epsilon_or_none(event, accountant, delta, neighbours)
    padded = [Repeat(event=PureEvent(epsilon=9.0), times=0), event, Compose(events=()), Parallel(events=())]
    assert epsilon_or_none(padded, accountant, delta, neighbours) == alone


@SETTINGS
@given(event=any_events(), delta=deltas(), neighbours=relations())
def test_best_is_never_above_any_accountant(event, delta, neighbours):
    best = epsilon_or_none(event, "best", delta, neighbours)
    for name in NAMES:
        epsilon = epsilon_or_none(event, name, delta, neighbours)
        if epsilon is not None:
            assert best is not None
            assert best <= epsilon


@SETTINGS
@given(event=events(), delta=deltas(), neighbours=relations())
def test_a_tighter_accountant_is_never_above_a_looser_one(event, delta, neighbours):
    def reading(accountant):
        return epsilon_or_none(event, accountant, delta, neighbours)

    pairs = [
        ("advanced", "pure"),
        ("rdp", "zcdp"),
        ("zcdp", ZCDPAccountant(constants="usual")),
        (ZCDPAccountant(constants="usual"), ZCDPAccountant(constants="usual", conversion="simple")),
        ("zcdp", "cdp"),
    ]
    for tighter, looser in pairs:
        small, large = reading(tighter), reading(looser)
        if large is not None:
            assert small is not None
            assert small <= large * CLOSE + 1e-12, (tighter, looser)


@SETTINGS
@given(ratio=log_uniform(1e-3, 3.0), times=st.integers(1, 500), delta=deltas())
def test_exact_gaussian_accounting_is_never_above_any_other(ratio, times, delta):
    event = Repeat(event=GaussianEvent(ratio=ratio), times=times)
    exact = epsilon_or_none(event, "gdp", delta)
    for name in NAMES:
        other = epsilon_or_none(event, name, delta)
        assert other is None or exact <= other * CLOSE


@pytest.mark.parametrize("accountant", NAMES)
@SETTINGS
@given(several=st.lists(pure_leaves(), min_size=1, max_size=4), delta=deltas(), neighbours=relations())
def test_disjoint_records_cost_no_more_than_the_same_records(accountant, several, delta, neighbours):
    apart = epsilon_or_none(Parallel(events=tuple(several)), accountant, delta, neighbours)
    together = epsilon_or_none(Compose(events=tuple(several)), accountant, delta, neighbours)
    assert (apart is None) == (together is None)
    if apart is not None:
        assert apart <= together * CLOSE


@SETTINGS
@given(several=st.lists(epsilons(), min_size=1, max_size=12))
def test_a_replaced_record_touches_two_cells(several):
    cells = Parallel(events=tuple(PureEvent(epsilon=epsilon) for epsilon in several))
    ranked = sorted(several, reverse=True)
    one = dpkit.account(cells, "pure", Neighbours.ADD_REMOVE).epsilon(delta=0.0)
    two = dpkit.account(cells, "pure", Neighbours.REPLACE_ONE).epsilon(delta=0.0)
    assert one == ranked[0]
    assert two >= sum(ranked[:2]) * (1.0 - 1e-15)
    assert two <= 2.0 * ranked[0]
    if len(several) <= 8:
        assert two <= sum(ranked[:2]) * (1.0 + 1e-15)


@pytest.mark.parametrize("accountant", ["pure", "advanced", "rdp", "best"])
@SETTINGS
@given(epsilon=log_uniform(1e-3, 3.0), rate=st.floats(0.0, 1.0), delta=deltas())
def test_sampling_never_costs_more_than_not_sampling(accountant, epsilon, rate, delta):
    whole = epsilon_or_none(LaplaceEvent(ratio=epsilon), accountant, delta)
    sampled = epsilon_or_none(Subsample(rate=rate, event=LaplaceEvent(ratio=epsilon)), accountant, delta)
    pure = epsilon_or_none(PureEvent(epsilon=epsilon), accountant, delta)
    assert sampled <= max(whole, pure) * CLOSE
    assert epsilon_or_none(Subsample(rate=0.0, event=LaplaceEvent(ratio=epsilon)), accountant, delta) == 0.0
    assert epsilon_or_none(Subsample(rate=1.0, event=LaplaceEvent(ratio=epsilon)), accountant, delta) == whole


@SETTINGS
@given(ratio=log_uniform(0.05, 4.0), rate=log_uniform(1e-4, 1.0), times=st.integers(1, 100), delta=deltas())
def test_sampled_gaussian_lies_between_nothing_and_the_whole(ratio, rate, times, delta):
    event = GaussianEvent(ratio=ratio)
    whole = epsilon_or_none(Repeat(event=event, times=times), "rdp", delta)
    sampled = epsilon_or_none(Repeat(event=Subsample(rate=rate, event=event), times=times), "rdp", delta)
    assert 0.0 <= sampled <= whole * CLOSE


@SETTINGS
@given(one=log_uniform(1e-3, 1.0), two=log_uniform(1e-3, 1.0), ratio=log_uniform(0.1, 2.0), delta=deltas())
def test_two_samples_are_one_sample(one, two, ratio, delta):
    nested = Subsample(rate=one, event=Subsample(rate=two, event=GaussianEvent(ratio=ratio)))
    direct = Subsample(rate=one * two, event=GaussianEvent(ratio=ratio))
    assert math.isclose(
        epsilon_or_none(nested, "rdp", delta), epsilon_or_none(direct, "rdp", delta), rel_tol=1e-6, abs_tol=1e-9
    )


@pytest.mark.parametrize("accountant", [*NAMES, "best"])
@settings(max_examples=12, deadline=None, derandomize=True)
@given(epsilon=log_uniform(1e-2, 10.0), delta=log_uniform(1e-12, 1e-2), times=st.integers(1, 100))
def test_a_calibrated_scale_keeps_within_the_budget_and_hardly_a_smaller_one_does(accountant, epsilon, delta, times):
    def family(scale):
        noise = GaussianEvent if accountant == "gdp" else LaplaceEvent
        return Repeat(event=noise(ratio=1.0 / scale), times=times)

    budget = ApproxDP(epsilon=epsilon, delta=delta)
    scale = dpkit.calibrate(family, budget, accountant)
    assert dpkit.account(family(scale), accountant).epsilon(delta=delta) <= epsilon
    assert dpkit.account(family(scale * (1.0 - 1e-9)), accountant).epsilon(delta=delta) > epsilon


@SETTINGS
@given(event=any_events(), times=counts(), accountant=st.sampled_from([*NAMES, "best"]), neighbours=relations())
def test_a_guarantee_survives_json(event, times, accountant, neighbours):
    try:
        guarantee = dpkit.account(Repeat(event=event, times=times), accountant, neighbours)
    except dpkit.UnpricedEventError:
        assume(False)
    again = dpkit.from_json(dpkit.to_json(guarantee))
    assert again == guarantee
    assert again.epsilon(delta=1e-6) == guarantee.epsilon(delta=1e-6)
    assert str(again.explain()) == str(guarantee.explain())
