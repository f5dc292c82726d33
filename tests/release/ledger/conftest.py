"""An empty ledger in a folder of its own, and a server of PostgreSQL."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from laws.ledger_laws import new_ledger
from postgres_server import Server, missing

from dpkit import ZCDP
from dpkit.release.ledger.ledger import Ledger

HERE = Path(__file__).parent
_NUMBERS = itertools.count()


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(new_ledger(Ledger, tmp_path, releases=8)) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres():
    """A real server, for all tests of this process."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    server = Server()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def shared_database(postgres):
    """A database with the schema of ledgers, for tests that change nothing but ledgers of their own."""
    address = postgres.new_database("shared")
    Ledger.create(address, budget=ZCDP(rho=1.0), dataset="first").close()
    return address


@pytest.fixture
def database(postgres):
    """An empty database."""
    return postgres.new_database(f"db{next(_NUMBERS)}")


@pytest.fixture
def answer_of():
    def run(script, *arguments):
        """Run a script on its own: single-threaded, so that forking is safe."""
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[2])}
        run = subprocess.run(
            [sys.executable, HERE / script, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False
        )
        assert run.returncode == 0, run.stderr[-2000:]
        return json.loads(run.stdout)

    return run
