"""The conformance kit: hypothesis strategies and law suites, for dpkit's own tests and for plugin authors' (extra: testing).

hypothesis is imported in this package and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpkit.testing.conformance import CheckResult

__all__ = ["check_plugin"]


def check_plugin(module: object, *, seed: int = 0) -> list[CheckResult]:
    """Load one module (or any object with hooks) as a plugin beside the built-ins, and try every law on what it adds.

    Each result is (subject, law, outcome, detail); `outcome` is 'passed', 'failed', 'skipped' (the law does not speak of it)
    or 'unchecked' (it does, and the kit cannot try it). `dpkit plugins check` shows the same for an installed plugin.
    A module that cannot be loaded fails the law `the_plugin_loads`.
    """
    from dpkit.errors import PluginError
    from dpkit.testing.conformance import CheckResult, run_check
    from dpkit.testing.plugin_laws import laws_of_plugin

    name = str(getattr(module, "__name__", "plugin")).rpartition(".")[2].replace("_", "-")
    try:
        checks = laws_of_plugin(module, name=name, seed=seed)
    except PluginError as error:
        return [CheckResult(subject=f"plugin {name}", law="the_plugin_loads", outcome="failed", detail=str(error))]
    return [run_check(check) for check in checks]
