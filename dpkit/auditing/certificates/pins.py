"""What was audited, pinned: a digest of the source that was run, and the versions of the packages that it uses."""

from __future__ import annotations

import hashlib
import inspect
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from types import ModuleType

from dpkit.auditing.targets.programs import CommandTarget

Pins = dict[str, str]
"""By what is pinned: `source`, and packages by the names of their distributions."""

_ALWAYS = ("dpkit", "numpy", "scipy")
"""Named by every certificate under `software`."""


def pins_of(target: object) -> Pins:
    """A digest of the file in which the target is written, and versions of the packages that this file names.

    Of what the file imports inside functions nothing is seen. Empty for what has no file, such as a line typed at a prompt.
    """
    if isinstance(target, CommandTarget):
        return _programs(target.words)
    code = inspect.unwrap(getattr(target, "audited", target))  # type: ignore[arg-type]
    code = code if hasattr(code, "__module__") and hasattr(code, "__qualname__") else type(code)
    module = sys.modules.get(getattr(code, "__module__", None) or "")
    found: Pins = {}
    digest = _digest(code)
    if digest:
        found["source"] = digest
    for name in sorted({*_packages_named_by(module)}):
        for distribution in _distributions().get(name, ()):
            if distribution not in _ALWAYS:
                try:
                    found[distribution] = installed_version(distribution)
                except PackageNotFoundError:
                    continue
    return found


def place_of(target: object) -> dict[str, object] | None:
    """The file and the line in which a target is written: from the working directory, else from its package."""
    if isinstance(target, CommandTarget):
        named = next((Path(word) for word in target.words if Path(word).is_file()), None)
        return None if named is None else {"file": _relative(named.resolve(), ""), "line": 1}
    code: object = inspect.unwrap(getattr(target, "audited", target))  # type: ignore[arg-type]
    code = code if hasattr(code, "__qualname__") else type(code)
    try:
        file, (_, line) = inspect.getsourcefile(code), inspect.getsourcelines(code)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return None
    return None if file is None else {"file": _relative(Path(file).resolve(), code.__module__), "line": max(line, 1)}


def _relative(path: Path, module: str) -> str:
    here = Path.cwd().resolve()
    if path.is_relative_to(here):
        return path.relative_to(here).as_posix()
    return "/".join(path.parts[-1 - module.count(".") - (path.name == "__init__.py") :])


def _programs(words: Sequence[str]) -> Pins:
    """Digests of the files that a command names, the program first."""
    found: Pins = {}
    for word in words:
        path = Path(shutil.which(word) or word)
        if path.is_file():
            found[f"source of {path.name}"] = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _digest(code: object) -> str:
    try:
        path = inspect.getsourcefile(code)  # type: ignore[arg-type]
        if path is None:
            return ""
        with open(path, "rb") as file:
            return "sha256:" + hashlib.sha256(file.read()).hexdigest()
    except (OSError, TypeError):
        pass
    try:
        return "sha256:" + hashlib.sha256(inspect.getsource(code).encode()).hexdigest()  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def _packages_named_by(module: ModuleType | None) -> Iterator[str]:
    if module is None:
        return
    yield module.__name__.partition(".")[0]
    for item in vars(module).values():
        named = item.__name__ if isinstance(item, ModuleType) else getattr(item, "__module__", None)
        if isinstance(named, str):
            yield named.partition(".")[0]


@lru_cache(maxsize=256)
def installed_version(distribution: str) -> str:
    """The version of an installed distribution, whose metadata is read once a process."""
    return version(distribution)


@lru_cache(maxsize=1)
def _distributions() -> dict[str, list[str]]:
    return {name: sorted(set(found)) for name, found in packages_distributions().items()}
