"""Processes that run one analysis: a fork that goes through `dpkit.load`, or the command line in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import traceback

import dpkit
from dpkit.errors import BudgetExceededError, PlanRefusedError, RunStateError
from dpkit.release.ledger.entries import value_text

REFUSED, RUN_STATE, INTERRUPTED = 10, 11, 12
"""How a fork says that it was refused by the budget, overtaken by another process of the same run, or interrupted."""


def in_a_fork(analysis, outbox):
    """Start `dpkit.load(...).plan().run()`; whatever may go out is appended to the outbox at that moment. Its process id."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts in the background ignores it otherwise
        _write_what_goes_out(outbox)
        result = dpkit.load(analysis).plan().run()
        status = 0 if result.is_complete else INTERRUPTED
    except KeyboardInterrupt:
        status = INTERRUPTED
    except (BudgetExceededError, PlanRefusedError):
        status = REFUSED
    except RunStateError:
        status = RUN_STATE
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(status)


def _write_what_goes_out(path):
    """From when `released` has returned, or `charge` gives back an old value, a value may be anywhere."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    charge, released = dpkit.Ledger.charge, dpkit.Ledger.released

    def note(run, key, value):
        os.write(file, (json.dumps([run, key, value_text(value)]) + "\n").encode())

    def watched_charge(self, run, event, *, key):
        found = charge(self, run, event, key=key)
        if found.is_released:
            note(run, key, found.value)
        return found

    def watched_released(self, found, value):
        released(self, found, value)
        note(found.run, found.key, value)
        return value

    dpkit.Ledger.charge, dpkit.Ledger.released = watched_charge, watched_released


def in_a_shell(analysis):
    """Start `dpkit run ... --yes`."""
    return subprocess.Popen(
        [sys.executable, "-c", _SHELL, "run", str(analysis), "--yes"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


# a process that is started in the background may have been told to ignore interrupts
_SHELL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from dpkit.cli.start import start; start()"


def sent_out(outbox, folder):
    """(analysis, key, value as text) of all that was seen: the forks' outbox, and the traces that the shell wrote."""
    if outbox.exists():
        for line in outbox.read_text().splitlines():
            run, key, text = json.loads(line)
            yield run.rpartition("-")[0], key, text
    for trace in folder.glob("out/*/*-trace*.json"):
        for release in json.loads(trace.read_text())["releases"]:
            value = {"is": "tuple", "value": release["values"]}
            yield trace.parent.name, release["key"], json.dumps(value, sort_keys=True, separators=(",", ":"))
