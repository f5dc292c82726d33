"""The plugin that dpkit itself is: what it brings, through the very hooks that others use.

It stands above everything that it speaks of, and `dpkit.hooks.discovery` finds it by its name, as an installed plugin is found.
"""

from __future__ import annotations

import math
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
from dpkit.auditing.falsifiers.builtin_falsifiers import FALSIFIERS
from dpkit.cli import VERBS
from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.auditor import Auditor
from dpkit.contracts.command import Command
from dpkit.contracts.factories import AlgorithmFactory, EngineFactory, Factory, MechanismFactory
from dpkit.contracts.ledger_store import LedgerStoreFactory
from dpkit.contracts.parameters import Parameter
from dpkit.data.summing.block_engine import ENGINES
from dpkit.data.tables.open_source import SOURCES
from dpkit.hooks.specs import hookimpl
from dpkit.mechanisms import (
    above_threshold,
    discrete,
    exponential,
    gaussian,
    laplace,
    noisy_max,
    random_allocation,
    random_search,
    randomized_response,
    sampled_batches,
    subsampled_gaussian,
)
from dpkit.mechanisms.above_threshold import AboveThreshold
from dpkit.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from dpkit.mechanisms.exponential import Exponential
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.laplace import Laplace
from dpkit.mechanisms.noisy_max import NoisyMax
from dpkit.mechanisms.random_search import RandomSearch
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian
from dpkit.privacy.claims import CORE_RULES, LossRule
from dpkit.release.release_one_query import RELEASE


@hookimpl
def dpkit_mechanisms() -> Sequence[MechanismFactory]:
    """The built-in mechanisms with their declared parameters."""
    return FACTORIES


@hookimpl
def dpkit_loss_rules() -> Sequence[LossRule]:
    """The rules of the core's leaves and of the built-in mechanisms."""
    noises = (laplace, gaussian, discrete, exponential, noisy_max, above_threshold, random_search, randomized_response)
    families = (*noises, subsampled_gaussian, sampled_batches, random_allocation)
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
def dpkit_ledger_stores() -> Sequence[LedgerStoreFactory]:
    """What keeps ledgers beside SQLite files, which paths stand for."""
    store = "dpkit.release.ledger.postgres_store"
    doc = "Ledgers in a PostgreSQL database, one for each dataset, which many machines share."
    return (
        LedgerStoreFactory(
            name="postgresql",
            doc=doc,
            open=_called(store, "PostgresStore"),
            create=_called(store, "create_ledger"),
            check=_called(store, "check_creatable"),
        ),
    )


@hookimpl
def dpkit_commands() -> Sequence[Command]:
    """The verbs, from the table that `dpkit --help` prints."""
    return tuple(Command(name=name, doc=text, load=_loader(*place)) for name, (*place, text) in VERBS.items())


def _loader(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)


def _called(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is first called."""
    load = _loader(module, name)
    return lambda *arguments, **options: load()(*arguments, **options)


def _scale(doc: str, *, smallest: float = 2.0**-450, largest: float = 2.0**450) -> Parameter:
    return Parameter(name="scale", kind="number", doc=doc, minimum=smallest, maximum=largest, examples=(1.0, 0.3, 1e4))


_MONOTONE = Parameter(
    name="monotone",
    kind="boolean",
    doc="Whether a record that comes or goes moves all scores in one direction.",
    default=False,
    about_values=True,
)


FACTORIES: tuple[MechanismFactory, ...] = (
    MechanismFactory(
        name="laplace",
        doc="Laplace noise in every entry, exactly rounded.",
        make=Laplace,
        parameters=(_scale("The scale b of the noise, in the unit of the value."),),
        metrics=("l1",),
        deviation=math.sqrt(2.0),
    ),
    MechanismFactory(
        name="gaussian",
        doc="Gaussian noise in every entry, exactly rounded.",
        make=Gaussian,
        parameters=(_scale("The standard deviation of the noise, in the unit of the value."),),
        metrics=("l2", "l1"),
    ),
    MechanismFactory(
        name="symmetric-gaussian",
        doc="Gaussian noise on a symmetric matrix, exactly rounded.",
        make=SymmetricGaussian,
        parameters=(_scale("The standard deviation of the noise on the diagonal, in the unit of the value."),),
        metrics=("frobenius",),
        values="symmetric",
        shapes=((1, 1), (2, 2)),
    ),
    MechanismFactory(
        name="discrete-laplace",
        doc="Integer noise with geometric tails on integers.",
        make=DiscreteLaplace,
        parameters=(_scale("The scale of the noise.", smallest=1e-9, largest=1e12),),
        metrics=("l1",),
        values="integers",
        deviation=math.sqrt(2.0),  # the scale is what counts: the deviation of small integer noise is smaller
    ),
    MechanismFactory(
        name="discrete-gaussian",
        doc="Integer noise with Gaussian weights on integers.",
        make=DiscreteGaussian,
        parameters=(_scale("The parameter sigma of the noise.", smallest=1e-9, largest=1e12),),
        metrics=("l2", "l1"),
        values="integers",
    ),
    MechanismFactory(
        name="exponential",
        doc="A choice among candidates, by their scores.",
        make=Exponential,
        parameters=(
            _scale("Candidate i is chosen with probability proportional to exp(score_i / scale)."),
            _MONOTONE,
        ),
        metrics=("linf", "l2", "l1"),
        values="scores",
        shapes=((2,), (4,)),
    ),
    MechanismFactory(
        name="noisy-max",
        doc="The candidate with the largest noisy score: permute-and-flip, the exponential mechanism, or Laplace noise.",
        make=NoisyMax,
        parameters=(
            _scale("The scale of the noise on each score."),
            Parameter(
                name="noise",
                kind="choice",
                doc="exponential (permute-and-flip), gumbel (the exponential mechanism) or laplace.",
                choices=("exponential", "gumbel", "laplace"),
                default="exponential",
            ),
            _MONOTONE,
        ),
        metrics=("linf", "l2", "l1"),
        values="scores",
        shapes=((2,), (4,)),
    ),
    MechanismFactory(
        name="above-threshold",
        doc="Which of a stream of answers is the first above a noisy threshold (sparse vector).",
        make=AboveThreshold,
        parameters=(
            _scale("The scale of the Laplace noise on each answer; that on the threshold is half of it."),
            Parameter(
                name="threshold", kind="number", doc="What answers are compared with.", default=0.0, examples=(0.0, 10.0)
            ),
            _MONOTONE,
        ),
        metrics=("linf", "l2", "l1"),
        values="scores",
        shapes=((2,), (4,)),
    ),
    MechanismFactory(
        name="random-search",
        doc="The best of a random number of noisy scores of random candidates, with that score (private tuning).",
        make=RandomSearch,
        parameters=(
            _scale("The scale of the noise on the score of each run."),
            Parameter(
                name="noise", kind="choice", doc="laplace or gaussian.", choices=("laplace", "gaussian"), default="laplace"
            ),
            Parameter(
                name="mean",
                kind="number",
                doc="The mean number of runs: some for each candidate.",
                minimum=1.0,
                maximum=100.0,
                default=10.0,
                examples=(3.0, 2.0),
            ),
            Parameter(
                name="shape",
                kind="number",
                doc="Of the law of the number of runs: 1 is geometric, 0 logarithmic; less costs less and varies more.",
                minimum=0.0,
                maximum=100.0,
                default=1.0,
                examples=(1.0, 0.0),
            ),
        ),
        metrics=("linf", "l2", "l1"),
        values="scores",
        shapes=((2,), (4,)),
    ),
    MechanismFactory(
        name="randomized-response",
        doc="Each category answered truthfully at odds of e^epsilon to 1 against each other one.",
        make=RandomizedResponse,
        parameters=(
            Parameter(
                name="epsilon", kind="number", doc="The loss of one answer.", minimum=0.0, maximum=700.0, examples=(1.0, 0.1)
            ),
            Parameter(
                name="categories", kind="integer", doc="How many categories there are.", minimum=2, maximum=2**31, default=2
            ),
        ),
        metrics=("records",),
        values="categories",
    ),
)
