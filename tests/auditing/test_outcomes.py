"""A kind and numbers for anything: fixed rules, one outcome at a time, and no data in a kind."""

import datetime
import enum
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest

from dpkit.auditing.outcomes import HUGE, TimedOut, apart, canonical, encode, finite, kind_code, outcome_numbers


@dataclass
class Answer:
    mean: float
    name: str


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Model:
    def __init__(self, weights, names=()):
        self.weights, self.names = weights, names


DAY = datetime.date(2020, 1, 1)
FRAME = pandas.DataFrame({"a": [3, 4]})
SAMPLES = [
    None, True, 3, 3.0, np.float32(3.0), np.int16(3), 2**60, 2**200, 1j, "3", b"3", [3], (3,), [3.0], {"a": 3}, {"b": 3}, {3},
    {"a": 3, "b": 3}, {"b": 3, "a": 3},
    np.zeros(3), np.zeros((3, 1)), np.zeros(3, dtype=np.float32), np.array(["a"]), ValueError("3"), KeyError("3"),
    ValueError("4"),
       TimedOut(), Answer(3.0, "a"), Answer(3.0, "b"), object(), pandas.DataFrame({"a": [3]}), pandas.DataFrame({"a": [3.0]}),
    pandas.DataFrame({"b": [3]}), pandas.DataFrame({"a": [3, 3]}), pandas.Series([3]), [None], [[None]], [],
    2**60 + 1, np.array([2**60]), np.array([2**60 + 1]),
    Decimal("1.5"), Decimal("1.50"), Fraction(3, 2), Fraction(1, 3), DAY, DAY + datetime.timedelta(days=1),
    datetime.datetime(2020, 1, 1),
    datetime.timedelta(seconds=1), datetime.timedelta(seconds=2), datetime.time(1),
    np.datetime64("2020-01-01"), np.datetime64("2021-01-01"),
    Colour.RED, Colour.BLUE, Model([1.0]), Model([2.0]), Model([1.0], ["a"]), range(3), range(4),
    FRAME, FRAME.set_axis([0, 2]), FRAME.set_axis(["x", "y"]), pandas.Series([3], index=["x"]), pandas.Series([3], name="n"),
]  # fmt: skip


def test_different_outcomes_are_told_apart():
    found = [canonical(value) for value in SAMPLES]
    assert len(set(found)) == len(SAMPLES)


@pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
def test_an_outcome_is_always_the_same_and_finite_as_a_row(value):
    row = outcome_numbers(value, 3)
    assert np.array_equal(row, outcome_numbers(value, 3))
    assert row.shape == (5,)
    assert np.isfinite(row).all()
    assert row[0] == kind_code(canonical(value).kind) < 2**20
    assert row[1] == len(canonical(value).numbers)


def test_what_is_handed_out_piece_by_piece_is_read():
    assert canonical(iter([1, 2])) == canonical(iter([1, 2])) != canonical(iter([1, 3]))
    assert len(canonical(iter(int, 1)).numbers) > 4_000  # one that does not end is read so far


def test_a_date_is_a_number_that_grows():
    days = [canonical(DAY + datetime.timedelta(days=k)).numbers[0] for k in range(3)]
    assert days[2] - days[1] == days[1] - days[0] == 86_400.0


def test_a_kind_holds_no_data():
    secret = "sesame"
    kinds = [
        canonical(value).kind
        for value in (ValueError(secret), secret, [secret], {secret: 1}, Answer(1.0, secret), {secret}, Model([1.0], [secret]))
    ]
    assert not any(secret in kind for kind in kinds)


def test_addresses_in_messages_are_no_outcome():
    one, two = ValueError(f"no {object()!r}"), ValueError("no <object object at 0x1234>")
    assert canonical(one) == canonical(two)


def test_another_kind_stands_below_all_numbers():
    assert apart("None") < -2.0 * HUGE
    assert np.isfinite(apart("None"))
    assert encode([canonical(None)], 1)[0, 2] == -2.0 * HUGE  # what lacks is as NaN is


def test_a_list_in_a_list_in_a_list_ends():
    endless: list[object] = []
    endless.append(endless)
    assert canonical(endless).kind == "list of 1"


def test_what_a_nan_carries_is_seen_and_its_sign_is_not():
    carried = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0x7FF8000000000002], dtype=np.uint64)
    plain, signed, one, two = finite(carried.view(np.float64))
    assert plain == signed == -2.0 * HUGE
    assert len({plain, one, two}) == 3
    assert all(-3.0 * HUGE < number < -2.0 * HUGE for number in (one, two))
