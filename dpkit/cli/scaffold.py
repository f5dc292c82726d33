"""Writing a new plugin: the template of this folder, rendered under a name. plugins/dpkit-hello is it, rendered as `hello`."""

from __future__ import annotations

import keyword
import os
from pathlib import Path

from dpkit.analysis.outputs import write_whole
from dpkit.core.factories import checked_name
from dpkit.errors import InvalidValueError
from dpkit.hooks.manager import load_plugins

TEMPLATE = Path(__file__).parent / "plugin_template"
_SUFFIX = ".tmpl"


def rendered(name: str) -> dict[Path, str]:
    """Every file of a new plugin of this name: its path within the distribution, and its text."""
    checked_name(name, where="new-plugin")
    taken = {factory.name for factory in load_plugins(discover=False).registry.mechanisms}
    if name in taken or keyword.iskeyword(name.capitalize()) or name == "dpkit":
        allowed = "a name that dpkit and Python leave free"
        raise InvalidValueError(field="name", found=name, allowed=allowed, where="new-plugin")
    words = name.split("-")
    tokens = {
        "@name@": name,
        "@module@": "dpkit_" + "_".join(words),
        "@Class@": "".join(word.capitalize() for word in words),
    }
    files = {}
    for path in sorted(TEMPLATE.rglob(f"*{_SUFFIX}")):
        target = path.relative_to(TEMPLATE).with_suffix("")
        if target.name == "module.py":
            target = target.with_name(f"{tokens['@module@']}.py")
        text = path.read_text(encoding="utf-8")
        for token, word in tokens.items():
            text = text.replace(token, word)
        files[target] = text
    return files


def write_plugin(name: str, folder: Path) -> list[Path]:
    """Write the distribution `dpkit-NAME` into a new folder of that name; nothing that exists is touched."""
    root = folder / f"dpkit-{name}"
    files = rendered(name)
    if os.path.lexists(root):
        raise InvalidValueError(
            field="name", found=name, allowed=f"a name whose folder {root.name} does not exist yet", where="new-plugin"
        )
    for target, text in files.items():
        write_whole(root / target, text)
    return [root / target for target in files]
