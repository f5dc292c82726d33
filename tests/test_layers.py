"""Imports go downward only, and each special package is imported where the design says and nowhere else."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "dpkit"

# Lowest first; modules of one tuple stand side by side and may not import each other.
LAYERS = [
    ("errors", "_version", "debugging", "values"),
    ("numerics",),
    ("privacy",),
    ("contracts",),
    ("pricing",),
    ("accountants", "mechanisms"),
    ("hooks",),
    ("accounting",),
    ("interchange",),
    ("data",),
    ("authoring", "release"),
    ("analysis",),
    ("auditing",),
    ("report",),
    ("testing",),
    ("cli",),
    ("builtins",),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

ONLY_IN = {
    "pluggy": "hooks",
    "hypothesis": "testing",
    "yaml": "analysis",
    "click": "cli",
    "jinja2": "analysis",
    "rich": "cli",
    "sqlglot": "data",
}


# A guarantee explains itself by comparing accountants, which is pricing.
UPWARDS = {("contracts/guarantee.py", "dpkit.pricing.explain")}
# The one import upwards, by name: dpkit's own plugin is found as any other is.
# What notebooks show is drawn by the report, when a notebook asks.
NOTEBOOKS = "dpkit.report.notebooks"
BY_NAME = {("hooks", "dpkit.builtins"), *((layer, NOTEBOOKS) for layer in ("contracts", "release", "analysis", "auditing"))}


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@cache
def imported(path):
    return tuple(imported_by(ast.parse(path.read_text(encoding="utf-8")), path))


def imported_by(tree, path):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and names_a_module(node.value):
            own = path.relative_to(PACKAGE).with_suffix("").parts[0]
            yield from () if (own, node.value) in BY_NAME else (node.value,)  # a text in a call, or in a table


def names_a_module(text):
    parts = text.split(":")[0].split(".")
    if not all(part.isidentifier() for part in parts):
        return False
    if parts[0].startswith("dpkit_") and len(parts) > 1:
        return True
    place = PACKAGE.joinpath(*parts[1:])
    return parts[0] == "dpkit" and len(parts) > 1 and (place.is_dir() or place.with_suffix(".py").is_file())


def layer(dotted):
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RANK else None


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downward_only(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    assert own in RANK, f"{own} has no layer: add it to LAYERS and to docs/architecture.md"
    for name in imported(path):
        if name.split(".")[0] != "dpkit":
            continue
        if any((path.relative_to(PACKAGE).as_posix(), known) in UPWARDS for known in (name, name.rpartition(".")[0])):
            continue
        other = layer(name)
        if other is None:
            assert name == "dpkit", f"{path.name} imports {name}, which has no layer"
            continue
        assert other == own or RANK[other] < RANK[own], f"{own} must not import {other} ({name})"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_special_packages_stay_in_their_place(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for name in imported(path):
        root = name.split(".")[0]
        if root in ONLY_IN:
            assert own == ONLY_IN[root], f"{root} is imported in {ONLY_IN[root]} only"
        assert not root.startswith("dpkit_"), "dpkit never imports a plugin"


def test_the_layers_stand_in_the_architecture_page():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in PACKAGE.iterdir():
        name = path.stem
        if name in RANK and name != "_version":
            assert name in page, f"docs/architecture.md does not mention {name}"


def extras():
    """The packages that each extra installs itself."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name: {re.split(r"[<>=\[]", one)[0] for one in given} for name, given in project["optional-dependencies"].items()}


def test_what_an_extra_for_users_installs_is_imported():
    loaded = {name.split(".")[0] for path in modules() for name in imported(path)}
    for extra in ("arrow", "frames", "sql", "testing"):
        assert extras()[extra] <= loaded, f"nothing imports what {extra} installs"


def test_an_error_about_a_missing_package_names_an_extra_that_installs_it():
    said = []
    for text in (text for path in modules() if "MissingExtraError(" in (text := path.read_text(encoding="utf-8"))):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "MissingExtraError":
                given = {word.arg: ast.literal_eval(word.value) for word in node.keywords}
                said.append((given["package"], given["extra"]))
    assert said
    for package, extra in said:
        assert package in extras()[extra]


def test_yaml_is_imported_in_one_file():
    importers = [path.name for path in modules() if any(name.split(".")[0] == "yaml" for name in imported(path))]
    assert importers == ["read_yaml.py"]


def test_imports_written_as_texts_are_seen():
    path = PACKAGE / "numerics" / "made_up.py"
    table = 'TABLE = {"x": ("dpkit.analysis.reading.load", "load")}'
    source = f'import_module("dpkit.cli.run")\n{table}\nimport_module("dpkit_irls.fit")\n'
    found = sorted(imported_by(ast.parse(source), path))
    assert found == ["dpkit.analysis.reading.load", "dpkit.cli.run", "dpkit_irls.fit"]
    assert not names_a_module("dpkit.json")
    assert not names_a_module("dpkit plans")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_trusted_because_of_where_it_was_defined(path):
    """No comparison of a `__module__`, or of a class's name, with one of dpkit's own: what plugins bring must count as much."""
    text = path.read_text(encoding="utf-8")
    if "__module__" not in text and "__qualname__" not in text:
        return
    for node in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare | ast.Call)):
        asked = [inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)]
        if {"__module__", "__qualname__"} & set(asked):
            texts = [item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            assert not any(text.startswith("dpkit") for text in texts), f"{path.name}:{node.lineno} asks whether it is dpkit's"
