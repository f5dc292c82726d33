"""A PostgreSQL server of the distribution's package, where it can be had."""

import importlib.util
import sys
from pathlib import Path

import pytest

_FILE = Path(__file__).parents[3] / "tests" / "postgres_server.py"


@pytest.fixture(scope="session")
def postgres():
    if not _FILE.exists():
        pytest.skip("the tests of dpkit are not here")
    spec = importlib.util.spec_from_file_location("postgres_server", _FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("postgres_server", module)
    spec.loader.exec_module(module)
    why = module.missing()
    if why is not None:
        pytest.skip(why)
    server = module.Server()
    yield server
    server.remove()
