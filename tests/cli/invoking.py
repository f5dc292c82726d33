"""How the tests of verbs invoke them, change an analysis, and see what was spent."""

from pathlib import Path

from click.testing import CliRunner

import dpkit
from dpkit.cli import main

ROOT = Path(__file__).parent.parent.parent
CANARY = "41.7093817261"


def changed(path, *changes):
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def run(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.output


def spent(path):
    with dpkit.Ledger.open(path) as opened:
        return opened.spent().rho
