"""A script: a run that is killed, resumed and killed again, at random points of the protocol. Prints what it saw, as JSON.

    python crashing.py FOLDER POINTS SEED [ADDRESS]

Half of the points are lines of code (the process kills itself when it reaches the line), half are moments (its parent kills
it), which also fall inside SQLite. Every charge that is granted and every value that goes out is appended to an outbox: what is
there was seen by the world. After each crash the one file is copied elsewhere, without what lies beside it; at last it moves.
"""

import json
import os
import random
import shutil
import signal
import struct
import sys
import time
import traceback
from pathlib import Path

from dpkit import ZCDP, Repeat, ZCDPEvent
from dpkit.contracts.ledger_store import LedgerAddress
from dpkit.errors import LedgerError
from dpkit.release.ledger import ledger as ledger_module
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify, verify_file

UNIT = ZCDPEvent(rho=1.0 / 1024.0)
STEPS, ROOM = 5, 40
RUNNING = str(Path(ledger_module.__file__).parent)


def run_once(path, outbox):
    """The protocol, as a curator follows it."""
    with Ledger.open(path, durability="normal") as ledger:
        ledger.reserve("run", Repeat(event=UNIT, times=STEPS))
        for step in range(STEPS):
            charge = ledger.charge("run", UNIT, key=str(step))
            os.write(outbox, f"granted {charge.seq}\n".encode())
            value = charge.value
            if not charge.is_released:
                (value,) = struct.unpack("q", os.urandom(8))
                ledger.released(charge, value)
            os.write(outbox, f"{step} {value}\n".encode())
        ledger.close_run("run")


def killed_at(line):
    """Kill this very process, as `kill -9` does, at the so-manieth line of the ledger's code."""
    left = [line]

    def local(frame, what, argument):
        if what == "line":
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return local

    def trace(frame, what, argument):
        return local if frame.f_code.co_filename.startswith((RUNNING, __file__)) else None

    sys.settrace(trace)
    return left


def child(path, outbox_path, line=None, seconds=None, report=None):
    """One attempt; True when it came to its end."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            outbox = os.open(outbox_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            left = killed_at(line) if line is not None else None
            run_once(path, outbox)
            sys.settrace(None)
            if report is not None:
                os.write(report, str(line - left[0]).encode())
            status = 0
        except BaseException:  # noqa: BLE001 - a child must not go on as its parent
            traceback.print_exc()
        finally:
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), f"an attempt failed with {code}"
    return code == 0


def check(path, outbox_path, crashes, finished):
    """Nothing went out uncharged, nothing was drawn twice, the file is whole; then, what was lost."""
    with Ledger.open(path) as ledger:
        found = verify(ledger)
        assert found.ok, found.problems
        entries = ledger.entries()
        released = {entry.key: entry.value for entry in entries if entry.kind == "release"}
        charged = [entry.key for entry in entries if entry.kind == "charge"]
        spent = ledger.spent()
    lines = [line.split() for line in Path(outbox_path).read_text().splitlines()] if os.path.exists(outbox_path) else []
    seen = {entry.seq for entry in entries if entry.kind == "charge"}
    assert all(int(seq) in seen for key, seq in lines if key == "granted"), "a granted charge is lost"
    out = [line for line in lines if line[0] != "granted"]
    for key, value in out:
        assert released.get(key) == value, "a value went out that the ledger did not record"
        assert key in charged, "a value went out that nobody paid for"
    assert spent == ZCDP(rho=len(charged) / 1024)
    assert len(charged) <= STEPS + crashes, "more was lost than one release a crash"
    if finished:
        assert {key for key, _ in out} == {str(step) for step in range(STEPS)}
    return len(charged) - len(set(charged))


def check_alone(path, outbox_path, crashes):
    """The one file, copied elsewhere before anybody has opened it again; 1 where that was in the middle of a write."""
    alone = path.parent / "elsewhere" / "alone.ledger"
    alone.parent.mkdir(exist_ok=True)
    shutil.copy(path, alone)
    if verify_file(alone).ok:
        check(alone, outbox_path, crashes, finished=False)
        return 0
    assert os.path.exists(f"{path}-journal"), "a copy is damaged, and nothing was left unfinished"
    try:
        Ledger.open(alone).reserve("more")
    except LedgerError:
        return 1
    raise AssertionError("a damaged copy was charged")


def main(folder, points, seed, address=None):
    chance, lost, kills, torn = random.Random(int(seed)), 0, 0, 0
    folder = Path(folder)

    def created(name):
        place = folder / name if address is None else LedgerAddress(address).with_option("dataset", name)
        Ledger.create(place, budget=ZCDP(rho=ROOM / 1024), dataset=name).close()
        return place

    # how long the protocol is, in lines and in seconds
    read, write = os.pipe()
    assert child(created("whole"), folder / "whole.out", line=10**9, report=write)
    lines = int(os.read(read, 20))
    timed = created("timed")
    began = time.perf_counter()
    assert child(timed, folder / "timed.out")
    duration = time.perf_counter() - began
    point = 0
    while point < int(points):
        path, outbox = created(f"{point}"), folder / f"{point}.out"
        crashes = 0
        for _ in range(chance.choice([1, 1, 2, 3])):
            point += 1
            by_line = chance.random() < 0.5
            where = {"line": chance.randint(1, lines)} if by_line else {"seconds": chance.uniform(0.0, duration)}
            if child(path, outbox, **where):
                break
            crashes += 1
            torn += check_alone(path, outbox, crashes) if address is None else 0
            check(path, outbox, crashes, finished=False)
        moved = path
        if address is None:
            moved = folder / "moved" / f"{point}.ledger"
            moved.parent.mkdir(exist_ok=True)
            os.rename(path, moved)
        assert child(moved, outbox)
        lost += check(moved, outbox, crashes, finished=True)
        kills += crashes
    print(json.dumps({"points": point, "kills": kills, "lost": lost, "torn": torn, "lines": lines}))


if __name__ == "__main__":
    main(*sys.argv[1:])
