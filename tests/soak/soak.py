"""`make soak`: random analyses on shared ledgers, killed, interrupted and resumed at random moments, for as long as is asked.

    python tests/soak/soak.py --minutes 60 --seed 1 [--postgres]

After each round every invariant of the ledger is checked (invariants.py); beside the rounds a process loops over analyses, and
must grow neither in memory nor in open files (growth.py). Prints what was done, as JSON; exits with 1, and keeps the folder,
when anything did not hold. Choices follow the seed; moments are the machine's.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from analyses import new_ledger, write_analysis, write_people
from growth import check_growth, measured
from invariants import BrokenError, check_ledger
from jobs import INTERRUPTED, REFUSED, RUN_STATE, in_a_fork, in_a_shell, sent_out

import dpkit
from dpkit.release.ledger.move import copy_ledger
from dpkit.release.ledger.verify import verify_file

HERE = Path(__file__).parent
FEWEST_ROUNDS, MOST_ROUNDS = 3, 8
"""Of one ledger: resuming reads the log from its beginning, so an endless one would only grow slow."""
FEWEST_TURNS = 16
TIMEOUT = 300.0


class Soak:
    """One soak: ledger after ledger, each for some rounds."""

    def __init__(self, folder, seed, shells, server=None):
        self.folder, self.chance, self.shells, self.server = folder, random.Random(seed), shells, server
        self.done = Counter()
        self.longest = {"fork": 1.0, "shell": 4.0}
        self.ledgers = 0

    def ledger_life(self, until):
        """A new ledger, rounds of trouble, then every analysis to its end, and once more for nothing."""
        folder = self.folder / str(self.ledgers)
        folder.mkdir()
        self.ledgers += 1
        write_people(folder, self.chance)
        self.outbox, self.launches, self.head = folder / "outbox", Counter(), None
        self.ledger = new_ledger(folder, "shared", self.server)
        self.here = folder
        analyses = []
        for number in range(MOST_ROUNDS):
            if number >= FEWEST_ROUNDS and time.monotonic() > until:
                break
            analyses.append(write_analysis(folder, f"a{number}", self.chance, self.ledger))
            self.round(self.chance.choices(analyses, k=self.chance.randint(1, 4)))
            if self.server is None:
                self.check_alone()
            self.check()
        self.finish(analyses)
        self.move()
        shutil.rmtree(folder)

    def round(self, chosen):
        """Several processes at once, each left alone, interrupted, or killed, at a moment of its own."""
        jobs = [self.start(analysis) for analysis in chosen]
        for kind, job, moment, number in sorted(jobs, key=lambda one: one[2]):
            if number is not None:
                time.sleep(max(0.0, moment - time.monotonic()))
                if self.signalled(kind, job, number):
                    self.done[signal.Signals(number).name] += 1
        for kind, job, _, number in jobs:
            self.ended(kind, job, number)
        self.done["rounds"] += 1

    def start(self, analysis):
        kind = "shell" if self.chance.random() < self.shells else "fork"
        number = self.chance.choice([None, signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
        moment = time.monotonic() + self.chance.uniform(0.0, self.longest[kind])
        self.launches[analysis.stem] += 1
        self.done[kind] += 1
        return kind, in_a_shell(analysis) if kind == "shell" else in_a_fork(analysis, self.outbox), moment, number

    def signalled(self, kind, job, number):
        """Whether the process was still there."""
        if kind == "fork":
            os.kill(job, number)  # it was not waited for, so the number is still its own
            return True
        if job.poll() is None:
            job.send_signal(number)
            return True
        return False

    def ended(self, kind, job, number):
        """Every process ends in a way that is foreseen."""
        began = time.monotonic()
        if kind == "fork":
            code = _waited(job)
            fine = {0, REFUSED, RUN_STATE, INTERRUPTED} | ({-number} if number is not None else set())
        else:
            _, told = job.communicate(timeout=TIMEOUT)
            code = job.returncode
            fine = {0, 1} | ({-number} if number is not None else set())
            if "Traceback" in told and number != signal.SIGINT:
                raise BrokenError(f"a traceback on the terminal: {told[-2000:]}")
            if code == 2 and "Nothing may be released for it" in told:
                fine.add(2)  # another process of the same run was quicker
        self.done[f"{kind} ended {code}"] += 1
        if code not in fine:
            raise BrokenError(f"a {kind} ended with {code}")
        if number is None and code == 0:
            self.longest[kind] = 0.7 * self.longest[kind] + 0.3 * max(0.05, time.monotonic() - began)

    def finish(self, analyses):
        """Resume everything, with nobody in the way: it ends, or the budget refuses it; once more, and nothing is paid."""
        answers = {}
        for analysis in analyses:
            self.launches[analysis.stem] += 1
            code = _waited(in_a_fork(analysis, self.outbox))
            if code not in (0, REFUSED):
                raise BrokenError(f"{analysis.name} was resumed and ended with {code}")
            answers[analysis] = code
        self.check()
        spent = self.spent()
        for analysis in analyses:
            if answers[analysis] == 0:
                self.launches[analysis.stem] += 1
                if _waited(in_a_fork(analysis, self.outbox)) != 0:
                    raise BrokenError(f"{analysis.name} is paid for, and gives no answer")
                self.done["given back"] += 1
        self.check()
        if self.spent() != spent:
            raise BrokenError("answers that were paid for were paid again")
        self.done["ledgers"] += 1
        self.done["finished"] += sum(code == 0 for code in answers.values())
        self.done["refused"] += sum(code == REFUSED for code in answers.values())

    def spent(self):
        with dpkit.Ledger.open(self.ledger) as ledger:
            return ledger.spent()

    def check(self):
        seen = list(sent_out(self.outbox, self.here))
        self.head = check_ledger(self.ledger, seen=seen, launches=self.launches, head=self.head)
        self.done["values seen"] += len(seen)
        self.done["checks"] += 1

    def check_alone(self):
        """The one file, copied elsewhere while nobody has tidied up after those that were killed."""
        alone = self.here / "elsewhere" / "alone.ledger"
        alone.parent.mkdir(exist_ok=True)
        shutil.copy(self.ledger, alone)
        if verify_file(alone, head=self.head).ok:
            check_ledger(alone, seen=sent_out(self.outbox, self.here), launches=self.launches, head=self.head)
        elif not os.path.exists(f"{self.ledger}-journal"):
            raise BrokenError("the file alone is damaged, and no write was left unfinished")
        else:
            self.done["torn copies found"] += 1

    def move(self):
        """The one file under another name in another folder has everything; from a database, it is copied into a file."""
        moved = self.here / "moved" / "other.ledger"
        moved.parent.mkdir()
        if self.server is None:
            os.rename(self.ledger, moved)
        else:
            copy_ledger(self.ledger, moved).close()
        self.ledger = moved
        self.check()


def _waited(process):
    deadline = time.monotonic() + TIMEOUT
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise BrokenError(f"a process hung for {TIMEOUT:g} s")
        time.sleep(0.01)


def soak(folder, *, seconds, seed, shells, fewest, server=None):
    """Until the time is over, but at least a number of ledgers, and turns of the loop to tell growth from; what was done."""
    began = time.monotonic()
    (folder / "loop").mkdir()
    beside = folder / "loop.out"
    with beside.open("w") as out:
        looping = subprocess.Popen([sys.executable, HERE / "growth.py", folder / "loop", str(seed)], stdout=out)
    try:
        work, own = Soak(folder, seed, shells, server), []
        while time.monotonic() - began < seconds or work.ledgers < fewest:
            work.ledger_life(until=began + seconds)
            own.append(measured())
            if looping.poll() is not None:
                raise BrokenError(f"the process that loops ended with {looping.returncode}")
        _wait_for_turns(looping, beside)
    finally:
        looping.kill()
        looping.wait()
    samples = _samples(beside)
    report = {"seed": seed, "seconds": round(time.monotonic() - began), **work.done, "turns": len(samples)}
    report["memory grown, KB"] = round(check_growth(samples) / 1024)
    report["open files"] = samples[-1][1]
    if max(files for _, files in own[-3:]) > own[0][1]:
        raise BrokenError("open files of the driver grew")
    return report


def _wait_for_turns(looping, beside):
    deadline = time.monotonic() + TIMEOUT
    while len(_samples(beside)) < FEWEST_TURNS:
        if looping.poll() is not None or time.monotonic() > deadline:
            raise BrokenError(f"the process that loops made {len(_samples(beside))} turns")
        time.sleep(0.1)


def _samples(path):
    lines = path.read_text().splitlines()
    return [tuple(map(int, line.split())) for line in lines if len(line.split()) == 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="of the choices; a new one each time unless given")
    parser.add_argument(
        "--shells", type=float, default=0.2, help="the part of the processes that goes through the command line"
    )
    parser.add_argument("--ledgers", type=int, default=2, help="how many at least, when the time is over before")
    parser.add_argument("--postgres", action="store_true", help="ledgers in a PostgreSQL server that is started for it")
    chosen = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if chosen.seed is None else chosen.seed
    folder = Path(tempfile.mkdtemp(prefix="dpkit-soak-"))
    server = None
    if chosen.postgres:
        sys.path.insert(0, str(HERE.parent))
        from postgres_server import Server

        server = Server()
    sizes = {"seconds": 60.0 * chosen.minutes, "shells": chosen.shells, "fewest": chosen.ledgers}
    try:
        report = soak(folder, seed=seed, server=server, **sizes)
    except BaseException:
        print(f"seed {seed}; what was left is in {folder}", file=sys.stderr)
        raise
    finally:
        if server is not None:
            server.remove()
    shutil.rmtree(folder)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
