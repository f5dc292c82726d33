"""Plugins in a few lines each, wrong and right: an honest base and one override. Each is a module of its own."""

import types

import dpkit

WRONG: dict[str, tuple[str, str]] = {}
"""By name: the law that names the mistake, and the outcome of it."""
RIGHT: list[str] = []
_MADE = {}


def wrong(law, *, outcome="failed"):
    """Registers a function that returns hooks by name (`{"queries": [...]}`) as the wrong plugin of the function's name."""

    def register(make):
        WRONG[make.__name__] = (law, outcome)
        _MADE[make.__name__] = make
        return make

    return register


def right(make):
    """Registers a function that returns hooks by name as a right plugin: no law may fail."""
    RIGHT.append(make.__name__)
    _MADE[make.__name__] = make
    return make


def module_of(name):
    """The plugin as a module."""
    module = types.ModuleType(name)
    module.__doc__ = _MADE[name].__doc__
    for kind, items in _MADE[name]().items():
        setattr(module, f"dpkit_{kind}", dpkit.hookimpl(_returning(items, kind)))
    return module


def _returning(items, kind):
    def hook():
        return items

    hook.__name__ = f"dpkit_{kind}"
    return hook


from tests.mutants.little import accountants, algorithms, honest, mechanisms, queries, rules  # noqa: E402, F401 - they register
