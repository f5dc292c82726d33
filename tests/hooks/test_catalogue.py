"""Every hook has a place in the catalogue and a consumer in production code: what plugins bring is used."""

import ast
from pathlib import Path

import pytest

from dpkit.hooks.catalogue import CATALOGUE
from dpkit.hooks.manager import build_manager

PACKAGE = Path(__file__).parent.parent.parent / "dpkit"
# Where what a hook brings is put to use, and by which name of the registry.
CONSUMERS = {
    "dpkit_mechanisms": ("release/noise.py", "mechanisms"),
    "dpkit_loss_rules": ("pricing/assess.py", "rules_for"),
    "dpkit_accountants": ("accounting.py", "accountant"),
    "dpkit_algorithms": ("analysis/reading/load.py", "algorithms"),
    "dpkit_queries": ("release/release_one_query.py", "queries"),
    "dpkit_auditors": ("auditing/plan_audit.py", "auditors"),
    "dpkit_neighbour_pairs": ("auditing/search/pairs.py", "neighbour_pairs"),
    "dpkit_engines": ("analysis/run_plan.py", "engine"),
    "dpkit_sources": ("analysis/given_data.py", "source"),
    "dpkit_zoo": ("auditing/zoo/__init__.py", "zoo"),
    "dpkit_commands": ("cli/plugin_verbs.py", "commands"),
    "dpkit_ledger_stores": ("release/ledger/ledger.py", "ledger_store"),
}


@pytest.mark.parametrize("hook", [contribution.hook for contribution in CATALOGUE])
def test_a_hook_has_a_consumer_in_production_code(hook):
    assert hook in CONSUMERS, f"{hook} has no consumer: name the file that uses what it brings"
    file, name = CONSUMERS[hook]
    assert uses(PACKAGE / file, name), f"dpkit/{file} does not ask a registry for its {name}"


def test_no_consumer_is_of_a_hook_that_is_not_there():
    assert set(CONSUMERS) == {contribution.hook for contribution in CATALOGUE}
    assert not any(file.startswith(("testing/", "hooks/")) for file, _ in CONSUMERS.values())


def uses(path, name):
    """Whether a file reads that attribute of a registry: of something called so, or of a call that gives one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == name:
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            called = getattr(owner, "id", getattr(owner, "attr", ""))
            if "registry" in called or called == "known":
                return True
    return False


def test_every_hook_has_a_place_in_the_catalogue_and_no_other():
    caller = build_manager().hook
    assert {name for name in dir(caller) if name.startswith("dpkit_")} == {item.hook for item in CATALOGUE}
