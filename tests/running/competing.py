"""A script: processes that compete for one budget, run after run. Prints how many charges each run granted, as JSON.

python competing.py FOLDER RUNS PROCESSES FIT DURABILITY
"""

import json
import os
import sys
import traceback
from pathlib import Path

from dpkit import ZCDP, ZCDPEvent
from dpkit.errors import BudgetExceededError
from dpkit.running.ledger import Ledger
from dpkit.running.ledger_verify import verify

UNIT = ZCDPEvent(rho=1.0 / 1024.0)


def ask(path, name, most, durability):
    """Charge until refused; how often it was granted."""
    granted = 0
    with Ledger.open(path, durability=durability, timeout=120.0) as ledger:
        ledger.reserve(name)
        for step in range(most):
            try:
                ledger.charge(name, UNIT, key=str(step))
            except BudgetExceededError:
                break
            granted += 1
    return granted


def compete(path, processes, fit, durability):
    start_read, start_write = os.pipe()
    pipes = []
    for mine in range(processes):
        result_read, result_write = os.pipe()
        pipes.append((result_read, os.fork()))
        if pipes[-1][1] == 0:
            status = 1
            try:
                os.close(start_write)
                os.read(start_read, 1)  # returns when the parent closes its end: all begin together
                os.write(result_write, b"%d" % ask(path, f"run {mine}", 1 + fit // 5, durability))
                status = 0
            except BaseException:  # noqa: BLE001 - a child must not go on as its parent
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(result_write)
    os.close(start_read)
    os.close(start_write)
    granted = 0
    for result_read, child in pipes:
        granted += int(os.read(result_read, 20) or b"-1000000")
        os.close(result_read)
        assert os.waitpid(child, 0)[1] == 0
    return granted


def main(folder, runs, processes, fit, durability):
    answers = []
    for run in range(int(runs)):
        path = Path(folder) / f"{run}.ledger"
        with Ledger.create(path, budget=ZCDP(rho=int(fit) / 1024.0), dataset="contested") as ledger:
            granted = compete(path, int(processes), int(fit), durability)
            found = verify(ledger)
            charges = sum(entry.kind == "charge" for entry in ledger.entries())
        answers.append({"granted": granted, "charges": charges, "problems": [str(problem) for problem in found.problems]})
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
