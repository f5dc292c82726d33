"""The entry points of the group `dpkit`, as `importlib.metadata` finds them.

Most distributions are folders on `sys.path`, and there names in files are all that is needed: the library's import alone takes
longer than that of the plugins. Wherever anything else may hold distributions, it is the library that looks.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from dpkit.hooks.specs import PROJECT
from dpkit.values import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What the metadata of an installed distribution says of it, and the folder that it was found in."""

    name: str
    version: str
    requires: tuple[str, ...]
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPoint:
    """An entry point: the name of a plugin, and where its object is."""

    name: str
    value: str
    distribution: Distribution

    def load(self) -> object:
        """Import the module; the object is it, or an attribute of it."""
        match = _VALUE.fullmatch(self.value)
        if match is None:
            raise ValueError(f"{self.value!r} names no module")
        found: object = importlib.import_module(match["module"])
        for attribute in filter(None, (match["attribute"] or "").split(".")):
            found = getattr(found, attribute)
        return found


def plugin_points() -> list[PluginPoint]:
    """Of every distribution that is installed; of two with one name, the first on the path is meant."""
    try:
        return list(_of_folders())
    except _NotPlainError:
        return list(_of_the_library())


class _NotPlainError(Exception):
    """Something that only the library knows to read."""


_VALUE = re.compile(r"(?P<module>[\w.]+)\s*(:\s*(?P<attribute>[\w.]+)\s*)?(\[.*\]\s*)?")
_SEPARATORS = re.compile(r"[-_.]+")


def _of_folders() -> Iterator[PluginPoint]:
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        raise _NotPlainError
    seen: set[str] = set()
    for entry in sys.path:
        try:
            children = os.listdir(entry or ".")
        except OSError as error:
            if os.path.exists(entry):  # an archive
                raise _NotPlainError from error
            continue
        for child in children:
            stem, ending = os.path.splitext(child.lower())
            if ending == ".egg" or child.lower() == "egg-info":
                raise _NotPlainError
            name = _SEPARATORS.sub("_", stem.partition("-")[0])
            if ending in {".dist-info", ".egg-info"} and name not in seen:
                seen.add(name)
                yield from _points(os.path.join(entry, child), str(Path(entry)))


def _points(folder: str, location: str) -> Iterator[PluginPoint]:
    try:
        text = Path(folder, "entry_points.txt").read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        raise _NotPlainError from error
    section, distribution = "", None
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line.strip("[]")
        elif section == PROJECT and line and not line.startswith("#"):
            name, sign, value = line.partition("=")
            if not sign:
                raise _NotPlainError
            distribution = distribution or _distribution(folder, location)
            yield PluginPoint(name=name.strip(), value=value.strip(), distribution=distribution)


def _distribution(folder: str, location: str) -> Distribution:
    """By the head of its metadata, up to the first empty line."""
    try:
        text = Path(folder, "METADATA").read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _NotPlainError from error
    head: dict[str, list[str]] = {}
    for line in text.splitlines():
        if not line:
            break
        key, sign, value = line.partition(":")
        if not sign and not line.startswith((" ", "\t")):
            raise _NotPlainError
        head.setdefault(key.lower(), []).append(value.strip())
    if not head.get("name") or not head.get("version"):
        raise _NotPlainError
    requires = tuple(head.get("requires-dist", ()))
    return Distribution(name=head["name"][0], version=head["version"][0], requires=requires, location=location)


def _of_the_library() -> Iterator[PluginPoint]:
    from importlib.metadata import entry_points

    try:
        yield from [_point(found) for found in entry_points(group=PROJECT)]
        return
    except Exception:  # noqa: BLE001 - one distribution whose files are broken: the others are to work
        pass
    yield from _one_by_one()


def _one_by_one() -> Iterator[PluginPoint]:
    """As the library does it, but a distribution that cannot be read becomes a plugin that does not load."""
    from importlib.metadata import distributions

    seen: set[str] = set()
    for found in distributions():
        name, points = "", []
        try:
            name = found.metadata["Name"] or ""
            points = [_point(point) for point in found.entry_points if point.group == PROJECT]
        except Exception:  # noqa: BLE001 - whatever its files hold
            location = str(found.locate_file(""))
            of = Distribution(name=name, version="", requires=(), location=location)
            points = [PluginPoint(name=name or location, value="entry_points.txt, which cannot be read,", distribution=of)]
        key = _SEPARATORS.sub("_", name.lower())
        if not key or key not in seen:
            seen.add(key)
            yield from points


def _point(point: EntryPoint) -> PluginPoint:
    found = point.dist
    if found is None:
        distribution = Distribution(name="", version="", requires=(), location=point.value)
    else:
        distribution = Distribution(
            name=str(found.metadata["Name"]),
            version=str(found.metadata["Version"]),
            requires=tuple(found.requires or ()),
            location=str(found.locate_file("")),
        )
    return PluginPoint(name=point.name, value=point.value, distribution=distribution)
