"""Bounded contributions: which rows of a person are kept depends on that person's rows alone."""

import numpy as np
import pytest
from data.level_counts import totals
from hypothesis import given, settings
from hypothesis import strategies as st

from dpkit import Category
from dpkit.data.columns.bounding import kept_rows
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.tables.open_source import open_source

KEY = bytes(range(32))
people = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.integers(0, 3)), max_size=40)


def kept(rows, at_most, key=KEY, batch=1000, rows_at_once=1 << 22):
    def batches():
        for start in range(0, len(rows), batch):
            part = rows[start : start + batch]
            yield [name for name, _ in part], np.array([[float(value)] for _, value in part]).reshape(-1, 1)

    found = kept_rows(batches, len(rows), at_most=at_most, key=key, rows_at_once=rows_at_once)
    return [row for row, keep in zip(rows, found.tolist(), strict=True) if keep]


def of(person, rows):
    return sorted(value for name, value in rows if name == person)


@settings(deadline=None)
@given(rows=people, at_most=st.integers(1, 4), order=st.randoms(use_true_random=False), key=st.binary(min_size=32, max_size=32))
def test_which_rows_are_kept_depends_on_the_person_s_rows_alone(rows, at_most, order, key):
    found = kept(rows, at_most, key)
    for person in "abcd":
        mine = [row for row in rows if row[0] == person]
        alone = of(person, kept(mine, at_most, key))
        assert of(person, found) == alone
        assert len(alone) == min(at_most, len(mine))
    assert None not in dict(found)
    shuffled = order.sample(rows, len(rows))
    assert sorted(kept(shuffled, at_most, key, batch=3, rows_at_once=5)) == sorted(found)


def test_the_choice_is_fair_over_keys_and_equal_rows_count_one_by_one():
    rows = [("a", 0)] * 3 + [("a", 1)]
    found = [kept(rows, 1, key=seed.to_bytes(2, "big") * 16)[0][1] for seed in range(2000)]
    assert abs(sum(found) / 2000 - 0.25) < 0.05  # five standard deviations


def test_a_source_keeps_the_same_rows_in_every_pass_and_fresh_ones_at_every_opening():
    data = {"person": np.repeat(np.arange(50), 20), "x": np.tile(np.arange(20.0), 50)}
    schema = Schema(columns=(Number(name="x", lower=0, upper=19),))

    def opened():
        return open_source(data, schema, unit=PrivacyUnit(column="person", at_most=3), in_memory=False)

    source = opened()
    first, second = (np.concatenate(list(source.blocks((), rows))) for rows in (7, 1000))
    assert first.shape == (150, 1)
    assert np.array_equal(first, second)
    assert not np.array_equal(np.concatenate(list(opened().blocks((), 1000))), first)
    with pytest.raises(TypeError, match="does not leave"):
        source.__reduce__()


def test_persons_in_latin_1_are_not_merged(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("c,id\nb,Müller\na,Möller\n".encode("latin-1"))
    schema = Schema(columns=(Category(name="c", levels=("a", "b")),))
    unit = PrivacyUnit(column="id", at_most=1)
    assert totals(path, schema, unit=unit).tolist() == [1.0, 1.0]
