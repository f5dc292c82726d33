"""The page docs/cli.md is what the verbs say."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_command_line_reference_is_what_the_verbs_say():
    from cli.cli_reference import cli_reference

    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == cli_reference()
