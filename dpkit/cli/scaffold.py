"""Writing a new plugin: a template of this folder, rendered under a name. plugins/dpkit-hello is that of a mechanism."""

from __future__ import annotations

import keyword
import os
import tomllib
from pathlib import Path

from dpkit.analysis.outputs import write_whole
from dpkit.contracts.factories import checked_name
from dpkit.errors import InvalidValueError
from dpkit.hooks.catalogue import CATALOGUE
from dpkit.hooks.manager import load_plugins
from dpkit.privacy.checks import one_of

TEMPLATE = Path(__file__).parent / "plugin_template"
_SUFFIX = ".tmpl"
KINDS = tuple(sorted(path.parent.name for path in TEMPLATE.glob("*/kind.toml")))
"""Each kind of plugin is a folder; its kind.toml says what differs in the common files."""


def render_plugin(name: str, kind: str = "mechanism") -> dict[Path, str]:
    """Every file of a new plugin of this name and kind: its path within the distribution, and its text."""
    one_of(kind, KINDS, field="kind", where="new-plugin")
    checked_name(name, where="new-plugin")
    wanted = tomllib.loads((TEMPLATE / kind / "kind.toml").read_text(encoding="utf-8"))
    registry = load_plugins(discover=False).registry
    (field,) = [contribution.field for contribution in CATALOGUE if contribution.hook == wanted["hook"]]
    taken = {item.name for item in getattr(registry, field)}
    if name in taken or keyword.iskeyword(name.capitalize()) or keyword.iskeyword(name) or name == "dpkit":
        allowed = "a name that dpkit and Python leave free"
        raise InvalidValueError(field="name", found=name, allowed=allowed, where="new-plugin")
    words = name.split("-")
    article = "an" if kind[0] in "aeiou" else "a"
    tokens = {
        "@files@": ", ".join(f'"{file}"' for file in ("@module@.py", *wanted.get("more_files", ()))),
        "@description@": f"{article.capitalize()} {kind} for dpkit: {wanted['description']}.",
        "@about@": f"{article.capitalize()} {kind} for dpkit: {wanted['about']}",
        **{f"@{part}@": wanted[part] for part in ("kinds", "parts", "tests")},
        "@name@": name,
        "@module@": "dpkit_" + "_".join(words),
        "@function@": "_".join(words),
        "@Class@": "".join(word.capitalize() for word in words),
    }
    files = {}
    for folder in (TEMPLATE / "common", TEMPLATE / kind):
        for path in sorted(folder.rglob(f"*{_SUFFIX}")):
            target = path.relative_to(folder).with_suffix("")
            if target.name.startswith("module"):
                target = target.with_name(tokens["@module@"] + target.name.removeprefix("module"))
            text = path.read_text(encoding="utf-8")
            for token, word in tokens.items():
                text = text.replace(token, word)
            files[target] = text
    return files


def write_plugin(name: str, folder: Path, kind: str = "mechanism") -> list[Path]:
    """Write the distribution `dpkit-NAME` into a new folder of that name; nothing that exists is touched."""
    root = folder / f"dpkit-{name}"
    files = render_plugin(name, kind)
    if os.path.lexists(root):
        raise InvalidValueError(
            field="name", found=name, allowed=f"a name whose folder {root.name} does not exist yet", where="new-plugin"
        )
    for target, text in files.items():
        write_whole(root / target, text)
    return [root / target for target in files]
