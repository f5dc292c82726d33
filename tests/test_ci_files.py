"""The action and the hook that other projects use name real options."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dpkit.cli import main

ROOT = Path(__file__).parent.parent
FILES = [ROOT / ".github" / "actions" / "audit" / "action.yml", ROOT / ".pre-commit-hooks.yaml"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_option_that_a_file_names_is_one_of_the_audit(path):
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    known = CliRunner().invoke(main, ["audit", "run", "--help"]).output
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--quiet"}
    assert named
    assert not [option for option in named if option not in known]


def test_the_action_passes_inputs_by_the_environment():
    action = yaml.safe_load(FILES[0].read_text(encoding="utf-8"))
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
