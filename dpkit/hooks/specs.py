"""The hook specifications: one documented function each. A plugin implements those it needs, marked with `hookimpl`."""

from __future__ import annotations

from collections.abc import Sequence

import pluggy

from dpkit.core.accountant import AnyAccountant
from dpkit.core.loss_rules import LossRule

PROJECT = "dpkit"
"""pluggy's project name and the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def dpkit_loss_rules() -> Sequence[LossRule]:
    """Return the loss rules that this plugin adds: one theorem each, unique by name, with its source and status."""
    return ()


@hookspec
def dpkit_accountants() -> Sequence[AnyAccountant]:
    """Return the accountants that this plugin adds, unique by name. Each must pass the laws of accountants."""
    return ()
