"""Packages of which a command uses a little: that at once, the rest when it is asked for.

`import scipy.special` loads all of numpy, its Fortran reader and its tests, for the sake of other array libraries, and
randomgen loads thirty generators. That is more work than most commands. What dpkit calls stands in a module of each, and is the
same object there. Whoever asks for anything else gets the whole package, which is loaded then. Only the process of a command
does this.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader


class LightPart(NamedTuple):
    """A module of a package, and the names in it that are given without the rest of the package."""

    module: str
    names: frozenset[str]


_SPECIAL = (
    *("betainc", "betaincinv", "chdtri", "erfcx", "erfinv", "gammainc", "gammaincc", "gammaincinv", "gammaln"),
    *("ive", "log_ndtr", "ndtr", "ndtri", "ndtri_exp", "xlogy"),
)
AT_ONCE = {
    "scipy.special": LightPart("scipy.special._ufuncs", frozenset(_SPECIAL)),
    "randomgen": LightPart("randomgen.chacha", frozenset(["ChaCha"])),
}
"""A test holds each name against what the whole package gives."""
_OF_PACKAGES = {"__all__", "__version__"}
"""Names like those that Python asks of every module, which packages make themselves."""


def lighten_packages() -> None:
    """From here on the first import of each of these packages is light; one that is loaded already stays as it is.

    Where `SCIPY_ARRAY_API` asks scipy for other array libraries, its functions are others, and nothing waits.
    """
    if not os.environ.get("SCIPY_ARRAY_API"):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds these packages as they are found on the path, with a loader that waits."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in AT_ONCE else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Waiting(spec.loader)  # type: ignore[assignment]
        return spec


class _Waiting:
    """Makes a package's module without running it."""

    def __init__(self, whole: Loader) -> None:
        self.whole = whole

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Light(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing yet: `_Light` runs it."""

    def __getattr__(self, name: str) -> object:  # resources, code and paths, as of the loader that it stands for
        return getattr(self.whole, name)


def _part_of(part: LightPart) -> ModuleType | None:
    """The module, where this version of the package has it."""
    try:
        return importlib.import_module(part.module)
    except ModuleNotFoundError:
        return None


class _Light(ModuleType):
    """A package before it has run. After that it is a module like any other."""

    _lock = threading.RLock()
    _running: set[str] = set()  # noqa: RUF012 - of all of them, under the lock

    def __getattr__(self, name: str) -> object:
        package = ModuleType.__getattribute__(self, "__name__")
        part = AT_ONCE[package]
        if name in part.names and hasattr(module := _part_of(part), name):
            value: object = getattr(module, name)
            setattr(self, name, value)
            return value
        of_imports = name.startswith("__") and name not in _OF_PACKAGES  # what Python asks of every module: it has that, or not
        with _Light._lock:
            if of_imports or package in _Light._running:  # it may ask for what it has not made yet
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            if type(self) is _Light:
                self._run(package)
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        package = ModuleType.__getattribute__(self, "__name__")
        with _Light._lock:
            if type(self) is _Light and package not in _Light._running:
                self._run(package)
        return sorted(vars(self))

    def _run(self, package: str) -> None:
        spec = self.__spec__
        if spec is None or not isinstance(spec.loader, _Waiting):
            raise ImportError(f"{package} was changed while it waited", name=package)
        _Light._running.add(package)
        try:
            spec.loader.whole.exec_module(self)
        finally:
            _Light._running.remove(package)
        spec.loader = self.__loader__ = spec.loader.whole
        self.__class__ = ModuleType
