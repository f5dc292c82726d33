"""A script: processes that compete for one budget, run after run, while another one reads. Prints what came of it, as JSON.

python competing.py FOLDER_OR_ADDRESS RUNS PROCESSES FIT DURABILITY
"""

import json
import os
import select
import sys
import traceback
from pathlib import Path

from dpkit import ZCDP, ZCDPEvent
from dpkit.contracts.ledger_store import LedgerAddress
from dpkit.errors import BudgetExceededError
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import export_lines, verify, verify_file

UNIT = ZCDPEvent(rho=1.0 / 1024.0)


def place_in(folder, name):
    """A file of a folder, or a ledger of a database."""
    return LedgerAddress(folder).with_option("dataset", name) if LedgerAddress.is_in(folder) else Path(folder) / name


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


def read(path, until):
    """Verify, show and export until it is told to stop; how often. Each sees one moment, and later ones see no less."""
    count, head = 0, None
    with Ledger.open(path, timeout=120.0) as ledger:
        while not count or not select.select([until], [], [], 0.0)[0]:
            found = verify_file(path, head=head)
            assert found.ok, found.problems
            held, lines = ledger.balance().held.rho, list(export_lines(ledger))
            assert len(lines) > found.head.seq + 1
            assert held >= (found.head.seq - 20) / 2048
            count, head = count + 1, found.head
    return count


def beside(path):
    """A process that reads; tell it to stop by closing, then ask what it read."""
    (until, stop), (result, told) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(stop)
            os.write(told, b"%d" % read(path, until))
            status = 0
        except BaseException:  # noqa: BLE001 - a child must not go on as its parent
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(until)
    os.close(told)

    def stopped():
        os.close(stop)
        answer = int(os.read(result, 20) or b"-1000000")
        os.close(result)
        assert os.waitpid(child, 0)[1] == 0
        return answer

    return stopped


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
        path = place_in(folder, f"{run}.ledger")
        with Ledger.create(path, budget=ZCDP(rho=int(fit) / 1024.0), dataset=f"{run}.ledger") as ledger:
            stopped = beside(path)
            granted = compete(path, int(processes), int(fit), durability)
            reads = stopped()
            found = verify(ledger)
            charges = sum(entry.kind == "charge" for entry in ledger.entries())
        answers.append(
            {
                "granted": granted,
                "charges": charges,
                "was_read": reads > 0,
                "problems": [str(problem) for problem in found.problems],
            }
        )
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
