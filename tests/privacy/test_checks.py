"""Values validate themselves: a wrong one names the field, what was found and what is allowed."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpkit
from dpkit import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxEvent,
    Citation,
    Claim,
    Compose,
    GaussianEvent,
    InvalidValueError,
    LaplaceEvent,
    MeanCDP,
    Neighbours,
    Parallel,
    PureDP,
    PureEvent,
    Query,
    Repeat,
    Subsample,
    ZCDPEvent,
)

NOT_NUMBERS = [-1, -1e-300, float("nan"), float("inf"), "1", None, True, 1j, [1.0], 10**400]
SOURCE = Citation(key="DR14", locator="somewhere")
NONNEGATIVE = [
    (PureDP, "epsilon", {}),
    (ApproxDP, "epsilon", {"delta": 0.0}),
    (MeanCDP, "mu", {"tau": 1.0}),
    (MeanCDP, "tau", {"mu": 1.0}),
    (ZCDP, "rho", {}),
    (GDP, "mu", {}),
    (PureEvent, "epsilon", {}),
    (ApproxEvent, "epsilon", {"delta": 0.0}),
    (ZCDPEvent, "rho", {}),
    (LaplaceEvent, "ratio", {}),
    (GaussianEvent, "ratio", {}),
]


@pytest.mark.parametrize("wrong", NOT_NUMBERS, ids=repr)
@pytest.mark.parametrize(("kind", "field", "rest"), NONNEGATIVE, ids=lambda item: getattr(item, "__name__", str(item)))
def test_what_is_not_a_finite_number_from_zero_up_is_refused(kind, field, rest, wrong):
    with pytest.raises(InvalidValueError) as caught:
        kind(**{field: wrong}, **rest)
    assert caught.value.field == field
    assert caught.value.found is wrong or caught.value.found == wrong
    assert f"{kind.__name__}.{field}" in str(caught.value)
    assert "finite number >= 0" in str(caught.value)


@pytest.mark.parametrize("wrong", [-0.1, 1.0, 2.0, float("nan"), "0", None, True])
@pytest.mark.parametrize(
    "build",
    [
        lambda delta: ApproxDP(epsilon=1.0, delta=delta),
        lambda delta: ZCDP(rho=1.0, delta=delta),
        lambda delta: RDP(orders=(2.0,), epsilons=(1.0,), delta=delta),
        lambda delta: ApproxEvent(epsilon=1.0, delta=delta),
        lambda delta: dpkit.account(PureEvent(epsilon=1.0)).epsilon(delta=delta),
        lambda delta: dpkit.account(PureEvent(epsilon=1.0)).explain(delta=delta),
    ],
)
def test_a_delta_outside_its_range_is_refused(build, wrong):
    with pytest.raises(InvalidValueError, match="delta"):
        build(wrong)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Repeat(event=PureDP(epsilon=1.0), times=1),
        lambda: Repeat(event=PureEvent(epsilon=1.0), times=-1),
        lambda: Repeat(event=PureEvent(epsilon=1.0), times=2.0),
        lambda: Repeat(event=PureEvent(epsilon=1.0), times=True),
        lambda: Compose(events=PureEvent(epsilon=1.0)),
        lambda: Compose(events="ab"),
        lambda: Compose(events=(1,)),
        lambda: Parallel(events=(None,)),
        lambda: Subsample(rate=1.5, event=PureEvent(epsilon=1.0)),
        lambda: Subsample(rate=-0.5, event=PureEvent(epsilon=1.0)),
        lambda: Subsample(rate=0.5, event=None),
        lambda: dpkit.account("nothing"),
        lambda: dpkit.account([PureEvent(epsilon=1.0), 3]),
        lambda: dpkit.l1(-1.0),
        lambda: dpkit.records(1.5),
        lambda: dpkit.Distance(metric="", value=1.0),
        lambda: Citation(key=" ", locator="x"),
        lambda: Claim(loss=1.0, neighbours=Neighbours.ADD_REMOVE, because=SOURCE),
        lambda: Claim(loss=PureDP(epsilon=1.0), neighbours="add-remove", because=SOURCE),
        lambda: Claim(loss=PureDP(epsilon=1.0), neighbours=Neighbours.ADD_REMOVE, because="DR14"),
        lambda: Claim(loss=PureDP(epsilon=1.0), neighbours=Neighbours.ADD_REMOVE, because=SOURCE, status="maybe"),
        lambda: Claim(loss=PureDP(epsilon=1.0), neighbours=Neighbours.ADD_REMOVE, because=SOURCE, assuming="x y"),
        lambda: Query(name="q", rows=None, shape=(1,), sensitivity=lambda n: (), because=SOURCE),
        lambda: Query(name="q", rows=len, shape=2, sensitivity=lambda n: (), because=SOURCE),
        lambda: Query(name="q", rows=len, shape=(1,), sensitivity=lambda n: (), because=SOURCE, block_sum=5),
        lambda: Query(name="q", rows=len, shape=(0,), sensitivity=lambda n: (), because=SOURCE),
    ],
)
def test_what_is_not_an_event_a_count_or_a_source_is_refused(build):
    with pytest.raises(InvalidValueError) as caught:
        build()
    assert caught.value.allowed in str(caught.value)


@pytest.mark.parametrize("inexact", [Fraction(1, 3), 2**53 + 1, Decimal("0.1")])
def test_a_number_that_no_float_holds_is_refused_rather_than_rounded_down(inexact):
    with pytest.raises(InvalidValueError):
        PureEvent(epsilon=inexact)


def test_numbers_of_other_types_become_floats_and_compare_equal():
    assert PureDP(epsilon=1) == PureDP(epsilon=np.float32(1.0)) == PureDP(epsilon=np.int64(1))
    assert isinstance(PureDP(epsilon=np.float64(1.0)).epsilon, float)
    assert type(PureDP(epsilon=1).epsilon) is float
    assert repr(PureDP(epsilon=-0.0)) == repr(PureDP(epsilon=0.0))
