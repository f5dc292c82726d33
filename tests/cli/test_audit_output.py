"""What `dpkit audit` writes: a page for people."""

import pytest
from click.testing import CliRunner

from dpkit.cli import main


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, ["audit", *arguments])


def test_a_page_for_people_is_written(run, tmp_path):
    page = tmp_path / "audit.html"
    result = run("Laplace(scale=1.0)", "--at", "l1(1.0)", "--samples", "200", "--seed", "1", "--html", str(page))
    assert result.exit_code == 0, result.output
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
