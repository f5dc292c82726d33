"""A short soak in every test run; and that its checks find what they are there to find. `make soak` runs the hour."""

import dataclasses
import json
import mmap
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from laws import ledger_laws
from laws.ledger_laws import UNIT, new_ledger, times
from postgres_server import missing

from dpkit import Ledger

sys.path.insert(0, str(Path(__file__).parent))
import growth
import invariants
import soak

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="memory and open files are read from /proc")


@pytest.mark.parametrize(
    ("ledgers", "store"),
    [(1, ""), pytest.param(2, "", marks=pytest.mark.slow), pytest.param(1, "--postgres", marks=pytest.mark.slow)],
)
def test_a_short_soak_finds_nothing(ledgers, store):
    if store and missing():
        pytest.skip(missing())
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent.parent)}
    command = [sys.executable, HERE / "soak.py", "--minutes", "0", "--seed", "7", "--shells", "0.1", "--ledgers", str(ledgers)]
    command += [store] if store else []
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    done = json.loads(run.stdout)
    assert done["ledgers"] == ledgers
    assert done["rounds"] == 3 * ledgers
    assert done["SIGKILL"] > 0
    assert done["finished"] > 0
    assert done["given back"] == done["finished"]
    assert done["values seen"] > 0


@pytest.fixture
def entries(tmp_path):
    """A run that released twice, and lost a charge before the second."""
    path = new_ledger(Ledger, tmp_path, releases=20)
    with Ledger.open(path) as ledger:
        ledger.reserve("people-1", times(4))
        ledger.released(ledger.charge("people-1", UNIT, key="a"), 1.5)
        ledger.charge("people-1", UNIT, key="b")
        ledger.released(ledger.charge("people-1", UNIT, key="b"), 2.5)
        return list(ledger.entries())


LAUNCHES = Counter({"people": 2})


def of_kind(entries, kind, key):
    return next(entry for entry in entries if (entry.kind, entry.key) == (kind, key))


def test_a_sound_log_passes_every_check(entries):
    invariants.check_order(entries)
    invariants.check_payments(entries, LAUNCHES)
    invariants.check_seen(entries, [("people", "a", "1.5"), ("people", "a", "1.5"), ("people", "b", "2.5")])
    charged = sum((invariants.price_of(entry) for entry in entries if entry.kind == "charge"), Fraction(0))
    invariants.check_budget(entries, limit=charged)
    with pytest.raises(invariants.BrokenError, match="charged"):
        invariants.check_budget(entries, limit=charged * Fraction(999, 1000))


def test_a_release_without_its_charge_is_found(entries):
    unpaid = [entry for entry in entries if (entry.kind, entry.key) != ("charge", "b")]
    with pytest.raises(invariants.BrokenError, match="without a charge"):
        invariants.check_order(unpaid)
    early = [of_kind(entries, "release", "a"), *entries]
    with pytest.raises(invariants.BrokenError, match="without a charge"):
        invariants.check_order(early)


def test_paying_again_for_what_was_released_is_found(entries):
    again = dataclasses.replace(of_kind(entries, "charge", "a"), seq=len(entries))
    with pytest.raises(invariants.BrokenError, match="paid twice"):
        invariants.check_payments([*entries, again], LAUNCHES)
    with pytest.raises(invariants.BrokenError, match="more payments than processes"):
        invariants.check_payments(entries, Counter({"people": 1}))


def test_a_value_that_the_ledger_does_not_hold_is_found(entries):
    for seen in (("people", "a", "1.25"), ("people", "c", "1.5"), ("others", "a", "1.5")):
        with pytest.raises(invariants.BrokenError, match="went out"):
            invariants.check_seen(entries, [seen])


def test_a_changed_file_is_found(tmp_path):
    path = new_ledger(Ledger, tmp_path, releases=20)
    with Ledger.open(path) as ledger:
        ledger.reserve("people-1", times(4))
        ledger.released(ledger.charge("people-1", UNIT, key="a"), 1.5)
    head = invariants.check_ledger(path, seen=[("people", "a", "1.5")], launches=LAUNCHES)
    invariants.check_ledger(path, seen=[], launches=LAUNCHES, head=head)
    ledger_laws.tamper(path, "UPDATE entries SET value = '2.5' WHERE seq = 3")
    with pytest.raises(invariants.BrokenError, match="verify finds"):
        invariants.check_ledger(path, seen=[], launches=LAUNCHES, head=head)


def test_growth_of_memory_and_of_open_files_is_found():
    steady = [(100 << 20, 5 + turn % 2) for turn in range(40)]
    warming = [(min(turn, 8) * 10 << 20, 5) for turn in range(40)]
    assert growth.check_growth(steady) == growth.check_growth(warming) == 0
    with pytest.raises(AssertionError, match="memory grew by 1"):
        growth.check_growth([((100 << 20) + turn * (1 << 19), 5) for turn in range(40)])
    with pytest.raises(AssertionError, match="open files grew"):
        growth.check_growth([(100 << 20, 5 + turn // 10) for turn in range(40)])
    with pytest.raises(AssertionError, match="too few"):
        growth.check_growth(steady[:7])


def planted(monkeypatch, tmp_path, charge):
    """A life of one ledger whose processes, which are forks, charge as they are told."""
    monkeypatch.setattr(Ledger, "charge", charge)
    work = soak.Soak(tmp_path, 7, 0.0)
    with pytest.raises(invariants.BrokenError) as found:
        work.ledger_life(until=0.0)
    return str(found.value)


def test_a_soak_finds_a_ledger_that_charges_again_and_again(monkeypatch, tmp_path):
    """More often than there are processes, however early those before were killed."""
    charge = Ledger.charge

    def often(self, run, event, *, key):
        found = charge(self, run, event, key=key)
        for _ in range(8):
            found = found if found.is_released else charge(self, run, event, key=key)
        return found

    assert "more payments than processes" in planted(monkeypatch, tmp_path, often)


def test_a_soak_finds_a_value_that_is_not_the_one_in_the_ledger(monkeypatch, tmp_path):
    charge = Ledger.charge

    def other(self, run, event, *, key):
        found = charge(self, run, event, key=key)
        if not found.is_released:
            return found
        return dataclasses.replace(found, value=tuple(np.asarray(value) + 1.0 for value in found.value))

    assert "the ledger does not hold that value" in planted(monkeypatch, tmp_path, other)


def test_a_file_that_is_left_open_and_memory_that_is_kept_are_seen(tmp_path):
    memory, files = growth.measured()
    with (tmp_path / "left").open("w"):
        kept = mmap.mmap(-1, 32 << 20)  # of the system, not of what this process has freed before
        kept.write(os.urandom(1 << 20) * 32)
        more, open_files = growth.measured()
    assert open_files == files + 1
    assert more - memory > len(kept) // 2
    kept.close()
