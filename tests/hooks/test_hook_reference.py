"""The page docs/hooks.md is what the specs say."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_hook_reference_is_what_the_specs_say():
    from hooks.hook_reference import hook_reference

    assert (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8") == hook_reference()
