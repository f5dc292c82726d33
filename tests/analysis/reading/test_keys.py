"""The page docs/yaml.md is what the declared keys say."""

from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_yaml_reference_is_what_the_keys_say():
    from analysis.reading.yaml_reference import yaml_reference

    assert (ROOT / "docs" / "yaml.md").read_text(encoding="utf-8") == yaml_reference()
