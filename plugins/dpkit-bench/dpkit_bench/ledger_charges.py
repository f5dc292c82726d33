"""How many charges a second a ledger grants, beside the same number of bare, locked inserts into SQLite, in one run."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from dpkit import ZCDP, Ledger, LedgerAddress, ZCDPEvent
from dpkit.contracts.ledger_store import Durability
from dpkit_bench.progress import measured

_UNIT = ZCDPEvent(rho=2.0**-40)
_WAIT = 120.0

POSTGRES = "DPKIT_BENCH_POSTGRES"
"""The variable that names a PostgreSQL database, where its ledgers are to be measured too."""

Task = tuple[Any, int, int, Durability]
"""The place, which worker this is, how many charges it makes, how durably."""
Work = Callable[[Task], tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """Charges a second of all processes together, and bare inserts: medians of the runs, and their spread."""

    name: str
    ours_per_second: float
    ours_spread: float
    peer: str
    peer_per_second: float
    peer_spread: float
    ratio: float


def measure_ledger(*, charges: int = 4000, processes: int = 8, repeats: int = 5) -> list[LedgerRow]:
    """Time charges against one ledger, by one process and by several, for each durability."""
    with tempfile.TemporaryDirectory() as folder:
        return list(_rows(Path(folder), charges, processes, repeats))


def _rows(folder: Path, charges: int, processes: int, repeats: int) -> Iterator[LedgerRow]:
    spawning = multiprocessing.get_context("spawn")
    for count in dict.fromkeys((1, processes)):
        barrier = spawning.Barrier(count)
        with spawning.Pool(count, initializer=_begin, initargs=(barrier,)) as pool:
            yield _compare(folder, pool, count, "normal", charges, repeats)
            # each of these waits for the disk, so there are fewer of them
            yield _compare(folder, pool, count, "full", charges // 10, repeats)
            if address := os.environ.get(POSTGRES):
                yield _beside_sqlite(folder, pool, count, address, charges // 10, repeats)


def _beside_sqlite(folder: Path, pool: Pool, count: int, address: str, charges: int, repeats: int) -> LedgerRow:
    """A ledger in PostgreSQL beside one in a file, alternated; both durable."""
    each = max(1, charges // count)
    ours, peers = list[float](), list[float]()
    for run in range(repeats + 1):
        measured(f"PostgreSQL, {count} processes, run {run + 1} of {repeats + 1}")
        name = f"bench {os.getpid()} {count} {run}"
        for place, rates in (
            (LedgerAddress(address).with_option("dataset", name), ours),
            (folder / f"beside-{count}-{run}.ledger", peers),
        ):
            Ledger.create(place, budget=ZCDP(rho=1.0), dataset=name).close()
            rates.append(_rate(pool, _charge, place, count, each, "full"))
    name = f"PostgreSQL, {count} process{'es' if count > 1 else ''}, durability=FULL"
    return _row(name, ours[1:], peers[1:], peer="ledger in a file")


def _rate(pool: Pool, work: Work, place: Path | LedgerAddress | str, count: int, each: int, durability: Durability) -> float:
    """Charges a second of all processes together."""
    times = pool.map(work, [(place, mine, each, durability) for mine in range(count)], chunksize=1)
    return each * count / (max(end for _, end in times) - min(start for start, _ in times))


def _compare(folder: Path, pool: Pool, count: int, durability: Durability, charges: int, repeats: int) -> LedgerRow:
    """Alternate the two, so that both see the same machine."""
    each = max(1, charges // count)
    ours, peers = [], []
    for run in range(repeats + 1):
        measured(f"{durability}, {count} processes, run {run + 1} of {repeats + 1}")
        place = folder / f"{count}-{durability}-{run}"
        Ledger.create(f"{place}.ledger", budget=ZCDP(rho=1.0), dataset="bench").close()
        _bare_file(f"{place}.sqlite")
        ours.append(_rate(pool, _charge, f"{place}.ledger", count, each, durability))
        peers.append(_rate(pool, _insert, f"{place}.sqlite", count, each, durability))
    name = f"{count} process{'es' if count > 1 else ''}, durability={durability.upper()}"
    return _row(name, ours[1:], peers[1:])  # the first run warms up


def _row(name: str, ours: list[float], peers: list[float], peer: str = "bare SQLite") -> LedgerRow:
    mine, theirs = statistics.median(ours), statistics.median(peers)
    return LedgerRow(
        name=name,
        ours_per_second=mine,
        ours_spread=(max(ours) - min(ours)) / mine,
        peer=peer,
        peer_per_second=theirs,
        peer_spread=(max(peers) - min(peers)) / theirs,
        ratio=mine / theirs,
    )


_TOGETHER: list[Barrier] = []


def _begin(barrier: Barrier) -> None:
    _TOGETHER.append(barrier)


def _charge(task: Task) -> tuple[float, float]:
    path, mine, charges, durability = task
    with Ledger.open(path, durability=durability, timeout=_WAIT) as ledger:
        run = f"run {mine}"
        ledger.reserve(run)
        _TOGETHER[0].wait(timeout=_WAIT)
        start = time.monotonic()
        for step in range(charges):
            ledger.charge(run, _UNIT, key=str(step))
        return start, time.monotonic()


def _bare_file(path: str) -> None:
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("CREATE TABLE charges (seq INTEGER PRIMARY KEY, run TEXT, price REAL, total REAL)")
    raw.execute("INSERT INTO charges VALUES (0, '', 0.0, 0.0)")
    raw.close()


def _insert(task: Task) -> tuple[float, float]:
    """The least that a budget in SQLite needs: lock, read the total, compare, insert, commit."""
    path, mine, charges, durability = task
    raw = sqlite3.connect(path, isolation_level=None, timeout=_WAIT)
    raw.execute(f"PRAGMA synchronous = {'EXTRA' if durability == 'full' else 'OFF'}")
    _TOGETHER[0].wait(timeout=_WAIT)
    start = time.monotonic()
    for _ in range(charges):
        raw.execute("BEGIN IMMEDIATE")
        seq, total = raw.execute("SELECT seq, total FROM charges ORDER BY seq DESC LIMIT 1").fetchone()
        if total + _UNIT.rho <= 1.0:
            raw.execute("INSERT INTO charges VALUES (?, ?, ?, ?)", (seq + 1, str(mine), _UNIT.rho, total + _UNIT.rho))
        raw.execute("COMMIT")
    end = time.monotonic()
    raw.close()
    return start, end
