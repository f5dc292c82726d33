"""Losses are frozen values that validate themselves; closed-form Rényi curves against 60 digits: above by rounding only."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from mpmath import mp, mpf
from privacy.renyi_oracles import LOSSES, ORDERS, ROUNDING, assert_just_above, laplace

from dpkit import RDP, InvalidValueError, RenyiCurve
from dpkit.mechanisms.laplace import LaplaceCurve
from dpkit.privacy.losses import LinearCurve, MaxCurve, MinCurve, PureCurve, SumCurve
from dpkit.testing.strategies import examples, losses


@pytest.mark.parametrize(
    ("orders", "epsilons", "field"),
    [
        ((1.0, 2.0), (1.0, 1.0), "orders"),
        ((0.5,), (1.0,), "orders"),
        ((3.0, 2.0), (1.0, 1.0), "orders"),
        ((2.0, 2.0), (1.0, 1.0), "orders"),
        ((), (), "orders"),
        ("22", (1.0, 1.0), "orders"),
        ((2.0, float("inf")), (1.0, 1.0), "orders"),
        ((2.0,), (-1.0,), "epsilons"),
        ((2.0,), (1.0, 2.0), "epsilons"),
        ((2.0,), (float("nan"),), "epsilons"),
    ],
)
def test_a_wrong_table_of_orders_is_refused(orders, epsilons, field):
    with pytest.raises(InvalidValueError) as caught:
        RDP(orders=orders, epsilons=epsilons)
    assert caught.value.field == field


@examples(50)
@given(value=losses())
def test_losses_are_frozen_and_hashable(value):
    assert hash(value) == hash(dataclasses.replace(value))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(value)[0].name, 1.0)


mp.dps = 60


def randomised_response(epsilon: float, order: float) -> mpf:
    with mp.workdps(120):
        e, a = mpf(epsilon), mpf(order)
        p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
        return mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)


@pytest.mark.parametrize("epsilon", LOSSES)
def test_the_curve_of_a_pure_loss_is_that_of_randomised_response(epsilon: float) -> None:
    assert_just_above(PureCurve(epsilon=epsilon), [randomised_response(epsilon, order) for order in ORDERS])


@pytest.mark.parametrize("epsilon", [1e-170, 1e-250, 1e-310, 5e-324])
def test_a_loss_too_small_to_square_is_not_nothing(epsilon: float) -> None:
    for curve in (PureCurve(epsilon=epsilon), LaplaceCurve(ratio=epsilon)):
        assert np.all(curve.at(ORDERS) > 0.0)
    assert not np.any(PureCurve(epsilon=0.0).at(ORDERS))
    assert not np.any(LaplaceCurve(ratio=0.0).at(ORDERS))


@pytest.mark.parametrize(
    ("intercept", "slope"), [(0.0, 1e-300), (0.0, 0.5), (-0.3, 0.5), (-0.5, 0.5), (7.0, 0.0), (1.0, 1e290)]
)
def test_a_line_is_a_line(intercept: float, slope: float) -> None:
    with mp.workdps(400):
        exact = [max(mpf(0), mpf(intercept) + mpf(slope) * mpf(order)) for order in ORDERS]
        reported = LinearCurve(intercept=intercept, slope=slope).at(ORDERS)
        for truth, value in zip(exact, reported, strict=True):
            cancelled = (abs(mpf(intercept)) + mpf(slope)) * mpf(ROUNDING)
            assert truth <= mpf(float(value)) <= truth * (1 + mpf(ROUNDING)) + cancelled + mpf(5e-324)


def test_many_different_curves_add_up_from_above() -> None:
    losses = np.random.default_rng(3).uniform(1e-3, 2.0, size=300)
    counts = np.random.default_rng(4).integers(1, 10**6, size=300)
    orders = np.array([1.0 + 1e-6, 1.5, 40.0])
    for kind, truth in ((PureCurve, randomised_response), (LaplaceCurve, laplace)):
        field = "epsilon" if kind is PureCurve else "ratio"
        terms = tuple((kind(**{field: float(x)}), int(n)) for x, n in zip(losses, counts, strict=True))
        for order, reported in zip(orders, SumCurve(terms=terms).at(orders), strict=True):
            exact = mp.fsum(int(n) * truth(float(x), float(order)) for x, n in zip(losses, counts, strict=True))
            assert exact <= mpf(float(reported)) <= exact * (1 + mpf(1e-12))


def test_a_table_is_bounded_by_the_chords_between_its_orders() -> None:
    knots = (1.5, 2.0, 4.0, 32.0)
    exact = LaplaceCurve(ratio=0.8)
    table = RDP(orders=knots, epsilons=tuple(float(v) for v in exact.at(np.array(knots))))
    between = np.array([1.0 + 1e-9, 1.2, 1.5, 1.7, 2.0, 3.0, 4.0, 11.0, 31.999, 32.0])
    truth = [laplace(0.8, float(order)) for order in between]
    assert all(mpf(float(value)) >= bound for value, bound in zip(table.at(between), truth, strict=True))
    assert np.array_equal(table.at(np.array(knots)), np.array(table.epsilons))
    assert np.all(np.isinf(table.at(np.array([32.1, 1e6]))))


def test_a_table_with_huge_entries_says_nothing_rather_than_nonsense() -> None:
    table = RDP(orders=(2.0, 1e300), epsilons=(1.0, 1e300))
    values = table.at(np.array([1.5, 2.0, 10.0, 1e299, 1e300]))
    assert np.all(values >= np.array([0.0, 1.0, 1.0, 1.0, 1e300]))


@pytest.mark.parametrize("kind", [PureCurve, LaplaceCurve])
def test_divergences_rise_with_the_order_up_to_the_largest_loss(kind: type[RenyiCurve]) -> None:
    field = "epsilon" if kind is PureCurve else "ratio"
    orders = 1.0 + np.geomspace(1e-9, 1e12, 400)
    for loss in (1e-6, 0.1, 1.0, 30.0):
        values = kind(**{field: loss}).at(orders)  # type: ignore[call-arg]
        assert np.all(values[1:] >= values[:-1] * (1.0 - ROUNDING))
        assert values[-1] <= loss * (1.0 + ROUNDING)


def test_joining_and_choosing_are_pointwise() -> None:
    one, other = PureCurve(epsilon=1.0), LinearCurve(slope=0.3)
    both = np.array([one.at(ORDERS), other.at(ORDERS)])
    assert np.array_equal(MaxCurve(curves=(one, other)).at(ORDERS), both.max(axis=0))
    assert np.array_equal(MinCurve(curves=(one, other)).at(ORDERS), both.min(axis=0))
    assert math.isfinite(both.min())
