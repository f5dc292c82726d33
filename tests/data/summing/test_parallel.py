"""Blocks on threads: in order, few under way, the same totals, and an error comes out as it is."""

import threading

import numpy as np
import pytest
from data.summing.prepared_queries import query, squares

from dpkit.contracts.query import Preparation
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import Schema
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.summing.parallel import map_on_threads, usable_threads
from dpkit.data.tables.open_source import open_source

NAMES = ["x", "y"]
SCHEMA = Schema(columns=tuple(Number(name=name, lower=-1, upper=1) for name in NAMES))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 100])
def test_results_come_in_order(threads, count):
    assert list(map_on_threads(lambda item: item * item, range(count), threads=threads)) == [
        item * item for item in range(count)
    ]


def test_few_items_are_under_way():
    taken = []

    def items():
        for item in range(200):
            taken.append(item)
            yield item

    for done, _ in enumerate(map_on_threads(lambda item: item, items(), threads=3)):
        assert len(taken) - done <= 2 * 3 + 2


def test_an_error_comes_out_and_threads_end():
    def fails(item):
        if item == 50:
            raise MemoryError
        return item

    before = threading.active_count()
    with pytest.raises(MemoryError):
        list(map_on_threads(fails, range(100), threads=4))
    assert threading.active_count() == before


def test_a_reader_that_stops_early_leaves_no_thread():
    before = threading.active_count()
    results = map_on_threads(lambda item: item, range(100), threads=4)
    for _ in range(10):
        next(results)
    results.close()
    assert threading.active_count() == before


def test_there_is_a_core():
    assert usable_threads() >= 1


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_totals_do_not_depend_on_threads(cache_bytes):
    rows = np.random.default_rng(2).uniform(-1, 1, size=(5000, 2))
    found = []
    for threads in (1, 2, 5):
        engine = BlockEngine(open_source(rows, SCHEMA, names=NAMES), block_bytes=1600, threads=threads, cache_bytes=cache_bytes)
        asked = [query(Preparation(rows=squares, width=2), place) for place in (0, 1)]
        found += [[total.steps().tolist() for total in engine.evaluate(asked)] for _ in range(3)]
    assert all(one == found[0] for one in found)
