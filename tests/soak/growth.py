"""A process that runs analyses for as long as it is told, and whether its memory and its open files grew meanwhile."""

import gc
import os
import random
import statistics
import sys
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent))
from analyses import new_ledger, write_analysis, write_people

MOST_GROWTH = 8 << 20
"""Bytes between the second and the last quarter of a run: what an allocator may keep, and no leak of any size for an hour."""


def measured():
    """(resident bytes, open files) of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))


def check_growth(samples, *, most=MOST_GROWTH):
    """Compare the last quarter with the second, the first being warm-up; the growth in bytes."""
    if len(samples) < 8:
        raise AssertionError(f"{len(samples)} samples are too few to tell growth from warming up")
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    grown = statistics.median(memory for memory, _ in late) - statistics.median(memory for memory, _ in early)
    if grown > most:
        raise AssertionError(
            f"memory grew by {grown / 2**20:.1f} MB from the second to the last quarter of {len(samples)} turns"
        )
    files = [max(count for _, count in part) for part in (early, late)]
    if files[1] > files[0]:
        raise AssertionError(f"open files grew from {files[0]} to {files[1]}")
    return grown


def loop(folder, seed):
    """Without end: an analysis without a ledger, one on a new ledger, that one again for nothing, and one that is refused."""
    chance, number = random.Random(seed), 0
    write_people(folder, chance)
    while True:
        ledger = new_ledger(folder, f"loop{number}")
        paid = write_analysis(folder, "paid", chance, ledger, with_fit=False)
        refused = write_analysis(folder, "refused", chance, ledger, with_fit=False)
        free = write_analysis(folder, "free", chance, with_fit=number % 5 == 0)
        for turn in (_run(free), _run(paid), _run(paid), _refused(refused, ledger)):
            turn()
            print(*measured(), flush=True)
        for left in folder.glob(f"{ledger.name}*"):
            left.unlink()
        number += 1


def _run(analysis):
    return lambda: dpkit.load(analysis).plan().run()


def _refused(analysis, ledger):
    def turn():
        with dpkit.Ledger.open(ledger) as opened:
            opened.reserve("everything", dpkit.ZCDPEvent(rho=opened.remaining().rho))
        try:
            dpkit.load(analysis).plan()
        except dpkit.PlanRefusedError:
            return
        raise AssertionError("a full ledger refused nothing")

    return turn


if __name__ == "__main__":
    loop(Path(sys.argv[1]), int(sys.argv[2]))
