"""Reading ahead: the same items in the same order, made on another thread, which fails here and ends with its reader."""

import threading

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import Schema
from dpkit.data.tables.open_source import open_source
from dpkit.data.tables.read_ahead import DEPTH, read_ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "dpkit-read-ahead"]


@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_the_same_items_in_the_same_order(count):
    assert list(read_ahead(iter(range(count)))) == list(range(count))
    assert readers() == []


def test_items_are_made_on_a_second_thread_and_no_more_than_the_depth_ahead():
    made, names = [], set()

    def making():
        for number in range(50):
            made.append(number)
            names.add(threading.current_thread().name)
            yield number

    for number in read_ahead(making()):
        assert len(made) <= number + 1 + DEPTH + 1
    assert names == {"dpkit-read-ahead"}


def test_what_fails_there_fails_here():
    def failing():
        yield 1
        raise KeyError("there")

    items = read_ahead(failing())
    assert next(items) == 1
    with pytest.raises(KeyError, match="there"):
        next(items)
    assert readers() == []


def test_whoever_stops_early_ends_the_thread_and_closes_what_it_read():
    closed = []

    def endless():
        try:
            while True:
                yield 0
        finally:
            closed.append(threading.current_thread().name)

    items = read_ahead(endless())
    next(items)
    items.close()
    assert closed == ["dpkit-read-ahead"]
    assert readers() == []


def test_a_pass_over_a_file_reads_ahead(tmp_path):
    parquet.write_table(pyarrow.table({"x": np.arange(100.0)}), tmp_path / "x.parquet")
    source = open_source(tmp_path / "x.parquet", Schema(columns=(Number(name="x", lower=0, upper=100),)))
    blocks = source.blocks(["x"], 7)
    first = next(blocks)
    assert len(readers()) == 1
    assert np.concatenate([first, *blocks]).ravel().tolist() == list(range(100))
    assert readers() == []


def test_closing_that_fails_is_told_and_nobody_waits_for_ever():
    class Breaking:
        """Items whose closing fails, as that of a file on a network may."""

        def __init__(self, *, then):
            self._left, self._then = [1, 2], then

        def __iter__(self):
            return self

        def __next__(self):
            if self._left:
                return self._left.pop(0)
            raise self._then

        def close(self):
            raise OSError("closing")

    told = []

    def reading():
        for then in (StopIteration(), KeyError("first")):
            try:
                list(read_ahead(Breaking(then=then)))
            except (OSError, KeyError) as error:
                told.append(error.args)

    waiting = threading.Thread(target=reading, daemon=True)  # so that a reader that waits for ever fails this test alone
    waiting.start()
    waiting.join(30.0)
    assert told == [("closing",), ("first",)]  # why reading failed counts more than why closing did
    assert readers() == []
