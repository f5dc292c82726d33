"""The hook specifications: one documented function each. A plugin implements those it needs, marked with `hookimpl`.

The page docs/hooks.md is generated from these docstrings. Every hook takes no argument and returns a sequence; what it returns
is checked by type and by name, and a plugin with a fault is left out as a whole, with a message, while the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pluggy

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.auditor import Auditor
from dpkit.contracts.command import Command
from dpkit.contracts.factories import AlgorithmFactory, EngineFactory, Factory, MechanismFactory, NeighbourPairs, QueryFactory
from dpkit.contracts.ledger_store import LedgerStoreFactory
from dpkit.contracts.zoo import ZooEntry
from dpkit.privacy.claims import LossRule

PROJECT = "dpkit"
"""pluggy's project name and the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def dpkit_mechanisms() -> Sequence[MechanismFactory]:
    """Return the mechanisms that this plugin adds.

    Each is a `MechanismFactory`: a name, what it is, how it is made, its declared parameters, the values it takes and the
    metrics of its distances. A step of an analysis names it under `mechanism`, where its metric suits, and the plan solves the
    parameter that the factory declares as its `scale`. `dpkit plugins check` runs the laws of mechanisms on each.
    """
    return ()


@hookspec
def dpkit_loss_rules() -> Sequence[LossRule]:
    """Return the loss rules that this plugin adds.

    Each is a `LossRule`: one theorem, unique by name, which says that this kind of event costs at most that loss, with its
    source and its status. Accountants use proved rules about the plugin's own events. Others, and rules about an event of
    dpkit or of another plugin, price only where an analyst accepts them by name; `dpkit plugins` and `explain()` list those.
    """
    return ()


@hookspec
def dpkit_accountants() -> Sequence[AnyAccountant]:
    """Return the accountants that this plugin adds.

    Each is an `Accountant`, stateless and unique by name. An analysis asks for it by that name; `best` chooses among dpkit's
    own only, whatever is installed. `dpkit plugins check` runs the laws of accountants on each.
    """
    return ()


@hookspec
def dpkit_algorithms() -> Sequence[AlgorithmFactory]:
    """Return the iterative algorithms that this plugin adds.

    Each is an `AlgorithmFactory`; a step of an analysis runs it by its name, with the declared parameters. The kit drives it
    over hard data and made-up answers: its plan must cover every path, and its state may hold released values only.
    """
    return ()


@hookspec
def dpkit_queries() -> Sequence[QueryFactory]:
    """Return the queries that this plugin adds, with their sensitivities.

    Each is a `QueryFactory`. The step `run: release` releases it by its name, with its declared parameters and any mechanism
    that suits. The kit searches for neighbours that exceed a declared sensitivity.
    """
    return ()


@hookspec
def dpkit_auditors() -> Sequence[Auditor]:
    """Return the auditors that this plugin adds.

    Each has a name and a method `falsify(target, claim, pair, *, samples, alpha, rng)`, which tries to break a claim at one
    pair, within its share `alpha` of the error probability, and returns an `Evidence` or None. Every audit calls them. dpkit's
    own come through this hook, too; those that sample share one stream.
    """
    return ()


@hookspec
def dpkit_neighbour_pairs() -> Sequence[NeighbourPairs]:
    """Return hard pairs of neighbouring values for a mechanism.

    Each is a `NeighbourPairs`: audits and the kit try these before they search on their own. The mechanism is found by the
    name of its factory; pairs that are further apart than the distance are refused.
    """
    return ()


@hookspec
def dpkit_engines() -> Sequence[EngineFactory]:
    """Return the engines that this plugin adds: what evaluates queries over data, here or on a cluster.

    Each is an `EngineFactory`; an analysis names it under `engine`, with its declared parameters. Totals are exact, so every
    engine gives the same bits as the built-in ones.
    """
    return ()


@hookspec
def dpkit_sources() -> Sequence[Factory[Any]]:
    """Return the sources that this plugin adds: where rows come from.

    Each is a `Factory` that makes whatever `dpkit.open_source` takes: a `Table`, a frame, columns by name. An analysis names it
    as `source: {run: NAME, with: {...}}`; in Python, give `registry.source(NAME).build(...)` to `open_source`. Declare files as
    parameters of the kind `path` or `paths`: a relative one is relative to the YAML file, as is a path that `make` returns.
    """
    return ()


@hookspec
def dpkit_zoo() -> Sequence[ZooEntry]:
    """Return the entries that this plugin adds to the zoo, the self-test of the audit.

    Each is a `ZooEntry`: a sampler, a claim, a pair of neighbouring datasets, and whether the claim is true. The command
    `dpkit audit --zoo` audits it beside dpkit's own: a broken one must fall, a right one must stand. One that raises is
    reported, and the others go on. Names of dpkit's own entries are taken. The hook is called whenever plugins are loaded,
    so it should be quick.
    """
    return ()


@hookspec
def dpkit_commands() -> Sequence[Command]:
    """Return the verbs that this plugin adds to the command line.

    Each is a `Command`: a name, one line of help, and `load()`, which gives a `click.Command` or a function of the arguments.
    `dpkit NAME` runs it. `dpkit plugins` lists it; `dpkit --help` lists dpkit's own verbs only, because it answers before any
    plugin is imported. One that fails to load is named, and the others work.
    """
    return ()


@hookspec
def dpkit_ledger_stores() -> Sequence[LedgerStoreFactory]:
    """Return the kinds of stores of ledgers that this plugin adds.

    Each is a `LedgerStoreFactory`, by the scheme of its addresses: `ledger: postgresql://host/db?dataset=flights` asks for the
    store `postgresql`. The kit runs the laws of ledger stores on each: nothing is lost, nothing is granted twice.
    """
    return ()
