"""An empty ledger in a folder of its own."""

import pytest
from laws.ledger_laws import new_ledger

from dpkit.release.ledger.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(new_ledger(Ledger, tmp_path, releases=8)) as opened:
        yield opened
