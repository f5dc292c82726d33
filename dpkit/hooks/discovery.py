"""Finding the installed plugins: the entry points of the group `dpkit`, each loaded by itself so that one may fail alone."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TypeVar

from dpkit._version import __version__
from dpkit.debugging import show_of_no_data
from dpkit.errors import PluginError
from dpkit.hooks.entry_points import PluginPoint, plugin_points
from dpkit.hooks.specs import PROJECT
from dpkit.values import dataclass

BUILT_IN = "dpkit.builtins"
"""The module of dpkit's own plugin. It stands above this layer, so it is found by name, as the modules of other plugins are."""
Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plugin as it was found: its object, or the reason why it has none, and how many seconds its import took."""

    name: str
    distribution: str
    version: str
    location: str
    module: object | None
    problem: str = ""
    seconds: float = 0.0

    @property
    def owner(self) -> str:
        """How messages name it."""
        return f"{self.name!r} ({self.distribution} {self.version})" if self.distribution else repr(self.name)


def built_in() -> Candidate:
    """dpkit itself, which goes through the same hooks."""
    return Candidate(name=PROJECT, distribution="dpkit", version=__version__, location=BUILT_IN, module=import_module(BUILT_IN))


def installed(only: Collection[str] | None) -> Iterator[Candidate]:
    """The plugins of the entry-point group; with an allow-list, no other module is imported."""
    found = plugin_points()
    often = Counter(point.name for point in found)
    points = sorted(found, key=lambda point: (point.name, point.distribution.name if often[point.name] > 1 else ""))
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


def _loaded(point: PluginPoint) -> Candidate:
    module, problem, start = None, unsuited(point), (time.process_time(), _unqueued())
    if not problem:
        module, error = attempt(point.load)
        if error is not None:
            show_of_no_data(error, of=f"the import of the plugin {point.name!r}")
            problem = f"its import of {point.value!r} failed with {type(error).__name__}: {words_of(error)}"
    return Candidate(
        name=point.name,
        distribution=point.distribution.name,
        version=point.distribution.version,
        location=point.distribution.location,
        module=module,
        problem=problem,
        seconds=_taken(time.process_time() - start[0], _unqueued() - start[1]),
    )


def _taken(computed: float, passed: float) -> float:
    """How long an import takes: what it computed, whatever else the machine did; what passed, where it mostly waited."""
    return passed if passed > 10.0 * computed else computed


def _unqueued() -> float:
    """The time of a clock that stands while other processes have the processor that this thread waits for, where Linux says so:
    on a busy machine no import is slow for that.
    """
    try:
        queued = int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        queued = 0.0
    return time.perf_counter() - queued


def unsuited(point: PluginPoint) -> str:
    """Why this version of dpkit does not suit the plugin, by the metadata of its distribution; nothing where it does."""
    wanted = [text for text in point.distribution.requires if _NAMES_DPKIT.match(text)]
    wanted = [text for text in wanted if not _plainly_suits(text)]
    if not wanted:
        return ""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for text in wanted:
        try:
            required = Requirement(text)
        except InvalidRequirement:
            return f"its metadata requires {text!r}, which names no version."
        applies = required.marker is None or required.marker.evaluate({"extra": ""})
        ours = applies and canonicalize_name(required.name) == "dpkit"
        if ours and not required.specifier.contains(__version__, prereleases=True):
            return (
                f"it requires dpkit {required.specifier}, and {__version__} is installed. Install a version of it that suits."
            )
    return ""


_NAMES_DPKIT = re.compile(r"dpkit(?![\w.-])", re.IGNORECASE)
_FOR_AN_EXTRA = re.compile(r"; *extra *== *['\"][\w.-]+['\"]$")
_PLAIN_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:\.dev(\d+))?")
_PLAIN_NEED = re.compile(r"dpkit(?:\[[\w,-]+\])?((?:(?:>=|<)[\w.]+,?)+)")


def _plainly_suits(text: str, version: str = __version__) -> bool:
    """Whether a requirement such as `dpkit>=0.1.0.dev0,<0.2` surely holds. Where it is not that plain, `packaging` is asked,
    whose import costs more than that of a plugin.
    """
    if _FOR_AN_EXTRA.search(text):
        return True  # it asks for something only where that extra is installed
    need, ours = _PLAIN_NEED.fullmatch(text), _PLAIN_VERSION.fullmatch(version)
    if need is None or ours is None:
        return False
    for clause in need[1].split(","):
        bound = _PLAIN_VERSION.fullmatch(clause.lstrip(">=<"))
        if bound is None:
            return False
        if clause.startswith("<"):  # a development version of the bound itself is not below it, by PEP 440
            if _release(ours) >= _release(bound):
                return False
        elif (_release(ours), ours[2] is None, int(ours[2] or 0)) < (_release(bound), bound[2] is None, int(bound[2] or 0)):
            return False
    return True


def _release(version: re.Match[str]) -> tuple[int, ...]:
    """The numbers of a version without zeros at its end: 1.0 is 1."""
    numbers = [int(number) for number in version[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def attempt(call: Callable[[], Returned]) -> tuple[Returned | None, BaseException | None]:
    """What a third party's code returns, or what it raised, be it SystemExit or KeyboardInterrupt: the others go on.

    Only an interrupt that came from outside, by Ctrl-C, goes on as one.
    """
    with _pressed() as pressed:
        try:
            return call(), None
        except BaseException as error:  # noqa: BLE001 - see above
            if pressed():
                raise KeyboardInterrupt from None
            return None, error


@contextmanager
def _pressed() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed. Signals come to the main thread only; what handled them before still does."""
    seen = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield seen.is_set
        return

    def handler(number: int, frame: FrameType | None) -> None:
        seen.set()
        before(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        yield seen.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def words_of(error: BaseException) -> str:
    """What an error says; a third party's may fail even at that."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - see above
        return "(it cannot be shown)"
