"""The conformance kit: hypothesis strategies and law suites, for dpkit's own tests and for plugin authors' (extra: testing).

The names here are public, each loaded when it is first used. hypothesis is imported in this package and nowhere else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpkit.errors import MissingExtraError

if TYPE_CHECKING:
    from dpkit.auditing.search.metrics import sizes_in as sizes_in
    from dpkit.privacy.events import flatten as flatten
    from dpkit.release.noise import release_exactly as release_exactly
    from dpkit.release.run_algorithms import charged_event as charged_event
    from dpkit.testing.exact_sum_laws import EXACT_SUM_LAWS as EXACT_SUM_LAWS
    from dpkit.testing.excess_search import search_excess as search_excess
    from dpkit.testing.plugin_laws import check_plugin as check_plugin
    from dpkit.testing.plugin_laws import laws_of_installed as laws_of_installed
    from dpkit.testing.plugin_laws import laws_of_plugin as laws_of_plugin
    from dpkit.testing.run_laws import Check as Check
    from dpkit.testing.run_laws import CheckResult as CheckResult
    from dpkit.testing.run_laws import LawNotApplicable as LawNotApplicable
    from dpkit.testing.run_laws import parametrize_with_laws as parametrize_with_laws
    from dpkit.testing.run_laws import run_check as run_check
    from dpkit.testing.run_laws import run_checks as run_checks
    from dpkit.testing.strategies import examples as examples

_HOMES = {
    "dpkit.auditing.search.metrics": ("sizes_in",),
    "dpkit.privacy.events": ("flatten",),
    "dpkit.release.noise": ("release_exactly",),
    "dpkit.release.run_algorithms": ("charged_event",),
    "dpkit.testing.run_laws": (
        "Check",
        "CheckResult",
        "LawNotApplicable",
        "parametrize_with_laws",
        "run_check",
        "run_checks",
    ),
    "dpkit.testing.exact_sum_laws": ("EXACT_SUM_LAWS",),
    "dpkit.testing.plugin_laws": ("check_plugin", "laws_of_installed", "laws_of_plugin"),
    "dpkit.testing.excess_search": ("search_excess",),
    "dpkit.testing.strategies": ("examples",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - computed from the one table


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpkit.testing' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(_HOME_OF[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise MissingExtraError(package="hypothesis", purpose="The conformance kit", extra="testing") from None
    globals()[name] = value
    return value
