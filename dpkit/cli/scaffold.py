"""Writing a new plugin: a template of this folder, rendered under a name. plugins/dpkit-hello is that of a mechanism."""

from __future__ import annotations

import keyword
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dpkit.analysis.outputs import write_whole
from dpkit.contracts.factories import checked_name
from dpkit.errors import InvalidValueError
from dpkit.hooks.catalogue import CATALOGUE
from dpkit.hooks.manager import load_plugins
from dpkit.privacy.checks import one_of

TEMPLATE = Path(__file__).parent / "plugin_template"
_SUFFIX = ".tmpl"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfPlugin:
    """What differs in the common files from one kind of plugin to the next."""

    hook: str
    kinds: str
    description: str
    about: str
    parts: str
    tests: str
    more_files: tuple[str, ...] = ()


KINDS: Mapping[str, KindOfPlugin] = {
    "mechanism": KindOfPlugin(
        hook="dpkit_mechanisms",
        kinds="mechanisms",
        description="logistic noise",
        about="logistic noise in every entry, `D / scale` pure DP at an L1 distance of D.",
        parts="event, theorem, noise, hooks, some forty lines.",
        tests="It searches for neighbours that break the claim, tests the sampler against the declared density, and more.",
    ),
    "algorithm": KindOfPlugin(
        hook="dpkit_algorithms",
        kinds="algorithms",
        description="a quantile by bisection",
        about="a quantile of a column by bisection, one noisy release a round. `run: @name@` in a step of an analysis.",
        parts="query, plan, steps, hook.",
        tests="It runs the algorithm over hard data and made-up answers: the plan covers every path, no state holds data.",
    ),
    "query": KindOfPlugin(
        hook="dpkit_queries",
        kinds="queries",
        description="a sum of squares",
        about="the sum of squares of a column, clipped to a bound.",
        parts="contribution, distances, hook.",
        tests="It searches for neighbours that exceed the distances, and compares the fast sum with the slow one bit for bit.",
    ),
    "source": KindOfPlugin(
        hook="dpkit_sources",
        kinds="sources",
        description="lines of JSON",
        about="files of JSON, one object a line. `source: {run: @name@, with: {path: rows.jsonl, columns: [x]}}`.",
        parts="table, cells, hook.",
        tests="It reads the example by many sizes of batches and by single columns: the rows are the same.",
        more_files=("@module@_example.jsonl",),
    ),
    "accountant": KindOfPlugin(
        hook="dpkit_accountants",
        kinds="accountants",
        description="basic composition",
        about="basic composition in exact arithmetic. `accountant: @name@` under the budget of an analysis.",
        parts="state, sums, reading, hook.",
        tests="It tries counts, orders, groupings and mixtures of losses, and compares with what is known to be true.",
    ),
    "engine": KindOfPlugin(
        hook="dpkit_engines",
        kinds="engines",
        description="one block after the other",
        about="one block after the other, on one thread. `engine: @name@` in an analysis.",
        parts="check, pass over the blocks, hook.",
        tests="It compares totals with those of the built-in engine bit for bit, on rows of all kinds.",
    ),
}


def rendered(name: str, kind: str = "mechanism") -> dict[Path, str]:
    """Every file of a new plugin of this name and kind: its path within the distribution, and its text."""
    one_of(kind, tuple(KINDS), field="kind", where="new-plugin")
    checked_name(name, where="new-plugin")
    wanted = KINDS[kind]
    registry = load_plugins(discover=False).registry
    (field,) = [contribution.field for contribution in CATALOGUE if contribution.hook == wanted.hook]
    taken = {item.name for item in getattr(registry, field)}
    if name in taken or keyword.iskeyword(name.capitalize()) or keyword.iskeyword(name) or name == "dpkit":
        allowed = "a name that dpkit and Python leave free"
        raise InvalidValueError(field="name", found=name, allowed=allowed, where="new-plugin")
    words = name.split("-")
    article = "an" if kind[0] in "aeiou" else "a"
    tokens = {
        "@files@": ", ".join(f'"{file}"' for file in ("@module@.py", *wanted.more_files)),
        "@description@": f"{article.capitalize()} {kind} for dpkit: {wanted.description}.",
        "@about@": f"{article.capitalize()} {kind} for dpkit: {wanted.about}",
        "@kinds@": wanted.kinds,
        "@parts@": wanted.parts,
        "@tests@": wanted.tests,
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
    files = rendered(name, kind)
    if os.path.lexists(root):
        raise InvalidValueError(
            field="name", found=name, allowed=f"a name whose folder {root.name} does not exist yet", where="new-plugin"
        )
    for target, text in files.items():
        write_whole(root / target, text)
    return [root / target for target in files]
