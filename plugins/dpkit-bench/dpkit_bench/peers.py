"""Peers are optional: which of them can be imported here, and what is said of those that cannot."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

EXTRAS = {
    "dp_accounting": "peers",
    "opendp": "peers",
    "pipeline_dp": "peers",
    "prv_accountant": "peers",
    "diffprivlib": "diffprivlib",
    "sklearn": "peers",
}
"""By the module of a peer, the extra of dpkit-bench that installs it. diffprivlib is alone: it needs an older scikit-learn."""


def peer(module: str, *, of: str = "") -> tuple[ModuleType | None, tuple[str, ...]]:
    """The module, or one of its own (`of` is its package), and a note where it is left out and why."""
    package = of or module
    name = package.replace("_", "-")
    if importlib.util.find_spec(package) is None:
        return None, (f"{name} is left out: it is not installed (pip install 'dpkit-bench[{EXTRAS[package]}]').",)
    try:
        return importlib.import_module(module), ()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a peer, the others are measured
        fix = f"pip install 'dpkit-bench[{EXTRAS[package]}]' in an environment of its own"
        return None, (f"{name} is left out: it is installed and does not import here ({type(error).__name__}); {fix}.",)
