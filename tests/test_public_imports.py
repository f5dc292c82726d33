"""First-party plugins use what every plugin may use: names that docs/api.md lists, from the modules that it lists."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
PUBLIC = ("dpkit", "dpkit.authoring", "dpkit.authoring.engines", "dpkit.interchange", "dpkit.testing")

# A benchmark times insides (samplers, caches, threads, the engine of bets) and shows what it found as dpkit's own verbs do:
# public names for these would be promises that nobody else needs.
OF_BENCHMARKS = {
    "dpkit.accountants.pld.accountant",
    "dpkit.accountants.pld.composition",
    "dpkit.analysis.outputs",
    "dpkit.auditing.betting.lower_bound",
    "dpkit.auditing.betting.profile",
    "dpkit.auditing.draw_outputs",
    "dpkit.auditing.zoo",
    "dpkit.cli",
    "dpkit.cli.progress",
    "dpkit.data.summing.block_engine",
    "dpkit.data.summing.parallel",
    "dpkit.mechanisms.sampled_moments",
    "dpkit.mechanisms.subsampled_gaussian",
    "dpkit.numerics.noise.discrete_noise",
    "dpkit.numerics.noise.exact_rounding",
    "dpkit.numerics.noise.noise_inputs",
    "dpkit.contracts.ledger_store",
    "dpkit.report.pictures",
}


@cache
def public_names(module):
    return frozenset(import_module(module).__all__)


def uses(source):
    """(module, name) of everything of dpkit's that a file takes: by import, by attribute, or by a name in a string."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dpkit":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "dpkit")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dpkit":
            yield "dpkit", node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"dpkit(\.\w+)+", node.value):
            yield node.value, None


@cache
def private(source):
    """What of it is not public."""
    return tuple(found_private(source))


def found_private(source):
    submodules = {module.split(".")[1] for module in PUBLIC if "." in module}
    for module, name in uses(source):
        if module not in PUBLIC:
            yield module
        elif name is not None and name not in public_names(module) and not (module == "dpkit" and name in submodules):
            yield f"{module}.{name}"


@pytest.mark.parametrize("plugin", sorted(path.name for path in (ROOT / "plugins").glob("dpkit-*")))
def test_a_plugin_imports_public_names_only(plugin):
    for path in (ROOT / "plugins" / plugin).rglob("*.py"):
        found = set(private(path.read_text(encoding="utf-8"))) - (OF_BENCHMARKS if plugin == "dpkit-bench" else set())
        assert not found, f"{path.relative_to(ROOT)} uses {', '.join(sorted(found))}: make it public, or do without"


@pytest.mark.parametrize(
    "source",
    [
        "from dpkit.privacy.checks import whole_number",
        "import dpkit.privacy.checks",
        "from dpkit.authoring import _hidden",
        "import dpkit\ndpkit.privacy.events.flatten",
        "from importlib import import_module\nimport_module('dpkit.data.summing.block_engine')",
    ],
)
def test_what_is_inside_is_seen(source):
    assert private(source)


def test_what_is_public_is_let_through():
    assert not private("import dpkit\nfrom dpkit.authoring import whole_number\ndpkit.testing.run_check\ndpkit.Query")


@pytest.mark.parametrize("module", PUBLIC[1:])
def test_every_public_name_of_a_module_is_in_the_docs(module):
    _, _, section = PAGE.partition(f"## `{module}`\n")
    section = section.partition("\n## ")[0]
    assert section, f"docs/api.md has no section `{module}`"
    listed = {
        name for line in section.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert listed == public_names(module)
    assert all(hasattr(import_module(module), name) for name in listed)


def test_no_module_is_left_on_the_list_of_benchmarks_that_they_do_without():
    used = {
        name for path in (ROOT / "plugins" / "dpkit-bench").rglob("*.py") for name in private(path.read_text(encoding="utf-8"))
    }
    assert used == OF_BENCHMARKS
