"""The plugin that dpkit itself is: what it brings, through the very hooks that others use.

It stands above everything that it speaks of, and `dpkit.hooks.discovery` finds it by its name, as an installed plugin is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from dpkit.accountants.advanced import AdvancedAccountant
from dpkit.accountants.cdp import MeanCDPAccountant
from dpkit.accountants.gdp import GaussianDPAccountant
from dpkit.accountants.pld.accountant import LossDistributionAccountant
from dpkit.accountants.pure import PureAccountant
from dpkit.accountants.rdp import RenyiAccountant
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.auditing.falsifiers.registered import FALSIFIERS
from dpkit.cli import VERBS
from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.auditor import Auditor
from dpkit.contracts.command import Command
from dpkit.contracts.factories import AlgorithmFactory, EngineFactory, Factory, MechanismFactory
from dpkit.data.summing.named_engines import ENGINES
from dpkit.data.tables.open_source import SOURCES
from dpkit.hooks.specs import hookimpl
from dpkit.mechanisms import (
    discrete,
    exponential,
    gaussian,
    laplace,
    randomized_response,
    subsampled_gaussian,
)
from dpkit.mechanisms.factories import FACTORIES
from dpkit.privacy.claims import CORE_RULES, LossRule
from dpkit.release.one_query import RELEASE


@hookimpl
def dpkit_mechanisms() -> Sequence[MechanismFactory]:
    """The built-in mechanisms with their declared parameters."""
    return FACTORIES


@hookimpl
def dpkit_loss_rules() -> Sequence[LossRule]:
    """The rules of the core's leaves and of the built-in mechanisms."""
    families = (laplace, gaussian, subsampled_gaussian, discrete, exponential, randomized_response)
    return (*CORE_RULES, *(rule for family in families for rule in family.RULES))


@hookimpl
def dpkit_accountants() -> Sequence[AnyAccountant]:
    """The accountants, from the loosest to the tightest."""
    return (
        PureAccountant(),
        AdvancedAccountant(),
        MeanCDPAccountant(),
        ZCDPAccountant(),
        RenyiAccountant(),
        GaussianDPAccountant(),
        LossDistributionAccountant(),
    )


@hookimpl
def dpkit_algorithms() -> Sequence[AlgorithmFactory]:
    """The release of any registered query."""
    return (RELEASE,)


@hookimpl
def dpkit_engines() -> Sequence[EngineFactory]:
    """The engines of one machine."""
    return ENGINES


@hookimpl
def dpkit_sources() -> Sequence[Factory[Any]]:
    """Files, by their format."""
    return SOURCES


@hookimpl
def dpkit_auditors() -> Sequence[Auditor]:
    """The falsifiers, cheapest first. What they need is imported when an audit runs."""
    return FALSIFIERS


@hookimpl
def dpkit_commands() -> Sequence[Command]:
    """The verbs, from the table that `dpkit --help` prints."""
    return tuple(Command(name=name, doc=text, load=_loader(*place)) for name, (*place, text) in VERBS.items())


def _loader(module: str, name: str) -> Callable[[], object]:
    return lambda: getattr(import_module(module), name)
