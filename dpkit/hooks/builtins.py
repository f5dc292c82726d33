"""What dpkit itself brings, through the very hooks that plugins use."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from dpkit.accountants.advanced import AdvancedAccountant
from dpkit.accountants.gaussian_dp import GaussianDPAccountant
from dpkit.accountants.loss_distribution import LossDistributionAccountant
from dpkit.accountants.mean_concentrated import MeanCDPAccountant
from dpkit.accountants.pure import PureAccountant
from dpkit.accountants.renyi import RenyiAccountant
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.core.accountant import AnyAccountant
from dpkit.core.factories import EngineFactory, MechanismFactory
from dpkit.core.loss_rules import CORE_RULES, LossRule
from dpkit.hooks.specs import hookimpl
from dpkit.mechanisms import (
    discrete,
    exponential,
    gaussian,
    laplace,
    randomized_response,
    subsampled_gaussian,
    subsampled_gaussian_pair,
)
from dpkit.mechanisms.factories import FACTORIES


@hookimpl
def dpkit_mechanisms() -> Sequence[MechanismFactory]:
    """The built-in mechanisms with their declared parameters."""
    return FACTORIES


@hookimpl
def dpkit_loss_rules() -> Sequence[LossRule]:
    """The rules of the core's leaves and of the built-in mechanisms."""
    families = (laplace, gaussian, subsampled_gaussian, subsampled_gaussian_pair, discrete, exponential, randomized_response)
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
def dpkit_engines() -> Sequence[EngineFactory]:
    """The engines of one machine. They stand above this layer, so they are found by name, as those of a plugin are."""
    engines: Sequence[EngineFactory] = import_module("dpkit.data.engines").ENGINES
    return engines
