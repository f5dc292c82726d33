"""How the files beside this one were made, by the version that kept ledgers in a write-ahead log (0.1.0.dev0, tables 1).

    python make.py FOLDER

They are never made again: they stand for what people have on their disks. test_written_before.py opens them with today's code.
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import dpkit
from dpkit import (
    GDP,
    ZCDP,
    ApproxDP,
    ApproxEvent,
    GaussianEvent,
    LaplaceEvent,
    Ledger,
    Neighbours,
    PureDP,
    PureEvent,
    Repeat,
    ZCDPEvent,
)
from dpkit.release.ledger.verify import export_lines

CHANGED = 1_700_000_000 * 10**9
"""When the data file was changed: part of the stamp by which a run is resumed."""

TERMS = {
    "pure": ({"budget": PureDP(epsilon=1.0)}, PureEvent(epsilon=1 / 64)),
    "advanced": ({"budget": ApproxDP(epsilon=2.0, delta=1e-6), "slack": 1e-7}, ApproxEvent(epsilon=1 / 64, delta=1e-9)),
    "zcdp": ({"budget": ZCDP(rho=0.5)}, ZCDPEvent(rho=1 / 1024)),
    "rdp": ({"budget": ApproxDP(epsilon=1.0, delta=1e-6), "neighbours": Neighbours.REPLACE_ONE}, LaplaceEvent(ratio=1 / 64)),
    "gdp": ({"budget": GDP(mu=1.0), "unit": {"column": "passenger", "at_most": 3}}, GaussianEvent(ratio=1 / 64)),
}
VALUE = {"total": (12.5, [0.1, float("inf"), -0.0]), "name": "text"}

YAML = """\
dpkit: 1
data:
  source: people.csv
  name: people
  columns:
    age: [0, 100]
    city: {levels: [north, south, other], unknown: other}
budget: {epsilon: 0.3, delta: 1e-7, accountant: ACCOUNTANT, ledger: people.ledger}
steps:
  - {id: people, run: count}
  - {id: ages, run: mean, with: {column: age}}
  - {id: cities, run: histogram, with: {column: city}}
report: NAME/report.html
"""


def fill(ledger, unit):
    """Runs in every state: finished, interrupted between charge and release, paying as it goes, failed."""
    plan = Repeat(event=unit, times=4)
    ledger.reserve("finished", plan, analysis="one")
    for key in "ab":
        ledger.released(ledger.charge("finished", unit, key=key), VALUE)
    ledger.close_run("finished")
    ledger.reserve("free")
    ledger.released(ledger.charge("free", unit, key="a"), 1.5)
    ledger.failed(ledger.charge("free", unit, key="b"), "memory")
    ledger.reserve("interrupted", plan, analysis="two", data="stamp")
    ledger.released(ledger.charge("interrupted", unit, key="a"), VALUE)
    ledger.charge("interrupted", unit, key="b")  # paid, and nothing came of it


def killed(work):
    """What `kill -9` leaves of a process that did this."""
    process = os.fork()
    if process == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def ledgers(folder):
    for accountant, (terms, unit) in TERMS.items():
        path = folder / f"{accountant}.ledger"
        with Ledger.create(path, accountant=accountant, dataset="flights", who="ada", **terms) as ledger:
            fill(ledger, unit)
            (folder / f"{accountant}.export").write_text("\n".join(export_lines(ledger)) + "\n")
    path = folder / "killed.ledger"
    Ledger.create(path, budget=ZCDP(rho=0.5), dataset="flights", who="ada").close()
    kept = []

    def work():
        fill(ledger := Ledger.open(path, who="ada"), TERMS["zcdp"][1])
        kept.append(ledger)  # still open, so that nothing is copied back into the file
        (folder / "killed.head").write_text(ledger.head().as_json() + "\n")

    killed(work)
    (folder / "killed.ledger-shm").unlink()  # SQLite makes it anew
    assert (folder / "killed.ledger-wal").stat().st_size > 0


def analyses(folder):
    """finished.yaml and best.yaml have run, interrupted.yaml was killed after its second charge; audits of the first."""
    from click.testing import CliRunner

    from dpkit.cli import main

    def shell(*arguments):
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        return result.output

    folder.mkdir()
    rows = "".join(f"{20 + n % 50},{'north' if n % 3 else 'south'}\n" for n in range(200))
    (folder / "people.csv").write_text(f"age,city\n{rows}")
    os.utime(folder / "people.csv", ns=(CHANGED, CHANGED))
    for name, accountant in (("finished", "zcdp"), ("interrupted", "zcdp"), ("best", "best")):
        (folder / f"{name}.yaml").write_text(YAML.replace("NAME", name).replace("ACCOUNTANT", accountant))
    # two analyses that say the same have names of their own
    Ledger.create(folder / "people.ledger", budget=ApproxDP(epsilon=1.0, delta=1e-6), dataset="people", who="ada").close()
    for name in ("finished", "best"):
        shell("run", folder / f"{name}.yaml", "--yes")
    shell("audit", folder / "finished.yaml", "--samples", 2000, "--seed", 1)
    (folder / "mechanism.certificates.json").write_text(
        shell("audit", "Laplace(scale=1.0)", "--at", "l1(1.0)", "--samples", 2000, "--seed", 1, "--json")
    )
    (folder / "refuted.certificates.json").write_text(refuted())

    def work():
        released, calls = Ledger.released, []

        def crash(self, charge, value):
            calls.append(charge)
            if len(calls) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return released(self, charge, value)

        Ledger.released = crash
        dpkit.load(folder / "interrupted.yaml").plan().run()

    killed(work)
    (folder / "people.ledger-shm").unlink()
    for name in ("finished", "best"):
        for left in (folder / name).glob("*.html"):
            left.unlink()


def refuted():
    """A claim of half of what Laplace noise costs, which an audit refutes."""
    found = dpkit.audit(dpkit.Laplace(scale=1.0), PureDP(epsilon=0.25), samples=20_000, rng=1, at=dpkit.l1(1.0))
    assert any(one.refuted for one in found)
    return json.dumps({"certificates": [json.loads(one.to_json()) for one in found]})


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ledgers(folder)
    analyses(folder / "analysis")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
