"""Wrong plugins in a few lines each: an honest base and one override. Each is a module of its own, as a plugin is."""

import types

import dpkit

WRONG: dict[str, tuple[str, str]] = {}
"""By name: the law that names the mistake, and the outcome of it."""
_MADE = {}


def wrong(law, *, outcome="failed"):
    """Registers a function that returns hooks by name (`{"queries": [...]}`) as the wrong plugin of the function's name."""

    def register(make):
        WRONG[make.__name__] = (law, outcome)
        _MADE[make.__name__] = make
        return make

    return register


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


from tests.mutants.wrong import accountants, algorithms, mechanisms, queries, rules  # noqa: E402, F401 - they register
