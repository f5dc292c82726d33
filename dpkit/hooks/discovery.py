"""Finding the installed plugins: the entry points of the group `dpkit`, each loaded by itself so that one may fail alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from dpkit._version import __version__
from dpkit.errors import PluginError
from dpkit.hooks.specs import PROJECT

BUILT_IN = "dpkit.builtins"
"""The module of dpkit's own plugin. It stands above this layer, so it is found by name, as the modules of other plugins are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plugin as it was found: its object, or the reason why it has none."""

    name: str
    distribution: str
    version: str
    location: str
    module: object | None
    problem: str = ""

    @property
    def owner(self) -> str:
        """How messages name it."""
        return f"{self.name!r} ({self.distribution} {self.version})" if self.distribution else repr(self.name)


def built_in() -> Candidate:
    """dpkit itself, which goes through the same hooks."""
    return Candidate(name=PROJECT, distribution="dpkit", version=__version__, location=BUILT_IN, module=import_module(BUILT_IN))


def installed(only: Collection[str] | None) -> Iterator[Candidate]:
    """The plugins of the entry-point group; with an allow-list, no other module is so much as imported."""
    points = sorted(entry_points(group=PROJECT), key=lambda point: (point.name, _distribution(point)))
    if only is not None:
        names = {point.name for point in points}
        for name in sorted(set(only) - names - {PROJECT}):
            raise PluginError(
                plugin=name,
                reason=f"it is not installed; installed: {', '.join(sorted(names)) or 'none'}.",
                fix=f"Install the distribution that brings it (by custom `dpkit-{name}`), or take it off the allow-list.",
            )
    for point in points:
        if only is None or point.name in only:
            yield _loaded(point)


def _loaded(point: EntryPoint) -> Candidate:
    module, problem = None, ""
    try:
        module = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a third party's import does, the others go on
        problem = f"its import of {point.value!r} failed with {type(error).__name__}: {words_of(error)}"
    return Candidate(
        name=point.name,
        distribution=_distribution(point),
        version=point.dist.version if point.dist is not None else "",
        location=str(point.dist.locate_file("")) if point.dist is not None else point.value,
        module=module,
        problem=problem,
    )


def words_of(error: BaseException) -> str:
    """What an error says; a third party's may fail even at that."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - see above
        return "(it cannot be shown)"


def _distribution(point: EntryPoint) -> str:
    return str(point.dist.name) if point.dist is not None else ""
