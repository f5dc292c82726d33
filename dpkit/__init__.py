"""dpkit: privacy accounting with plugins. The public names are loaded when they are first used (PEP 562).

Where each lives stands once, in `__init__.pyi`, which type checkers read.
"""

from __future__ import annotations

from importlib import import_module

_TABLE = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
_HOME_OF = {name: home for line in _TABLE.splitlines() if line.startswith("from") for _, home, _, name, *_ in [line.split()]}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - computed from the one table


_MODULES = ("authoring", "interchange", "testing")
"""Public modules, loaded like the names."""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpkit' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
