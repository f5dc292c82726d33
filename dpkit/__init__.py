"""dpkit: privacy accounting with plugins. The public names, loaded when they are first used (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpkit._version import __version__ as __version__
    from dpkit.accountants.odometers import PrivacyOdometer as PrivacyOdometer
    from dpkit.accounting import account as account
    from dpkit.accounting import calibrate as calibrate
    from dpkit.accounting import privacy_filter as privacy_filter
    from dpkit.accounting import privacy_odometer as privacy_odometer
    from dpkit.analysis.load import load as load
    from dpkit.analysis.plan import Plan as Plan
    from dpkit.analysis.run import Result as Result
    from dpkit.analysis.spec import Spec as Spec
    from dpkit.auditing.certificate import AuditCertificate as AuditCertificate
    from dpkit.auditing.runner import audit as audit
    from dpkit.core.accountant import Accountant as Accountant
    from dpkit.core.algorithm import Curator as Curator
    from dpkit.core.algorithm import IterativeAlgorithm as IterativeAlgorithm
    from dpkit.core.auditor import Auditor as Auditor
    from dpkit.core.auditor import Evidence as Evidence
    from dpkit.core.claims import Citation as Citation
    from dpkit.core.claims import Claim as Claim
    from dpkit.core.distances import Distance as Distance
    from dpkit.core.distances import frobenius as frobenius
    from dpkit.core.distances import l1 as l1
    from dpkit.core.distances import l2 as l2
    from dpkit.core.distances import linf as linf
    from dpkit.core.distances import rank_one as rank_one
    from dpkit.core.distances import records as records
    from dpkit.core.engine import Engine as Engine
    from dpkit.core.events import ApproxEvent as ApproxEvent
    from dpkit.core.events import Compose as Compose
    from dpkit.core.events import Event as Event
    from dpkit.core.events import Parallel as Parallel
    from dpkit.core.events import PureEvent as PureEvent
    from dpkit.core.events import Repeat as Repeat
    from dpkit.core.events import Subsample as Subsample
    from dpkit.core.events import ZCDPEvent as ZCDPEvent
    from dpkit.core.explain import Explanation as Explanation
    from dpkit.core.factories import AlgorithmFactory as AlgorithmFactory
    from dpkit.core.factories import EngineFactory as EngineFactory
    from dpkit.core.factories import Factory as Factory
    from dpkit.core.factories import MechanismFactory as MechanismFactory
    from dpkit.core.factories import NeighbourPairs as NeighbourPairs
    from dpkit.core.factories import QueryFactory as QueryFactory
    from dpkit.core.filters import PrivacyFilter as PrivacyFilter
    from dpkit.core.guarantee import Guarantee as Guarantee
    from dpkit.core.loss_pairs import PLD as PLD
    from dpkit.core.loss_pairs import LossDirection as LossDirection
    from dpkit.core.loss_pairs import LossPair as LossPair
    from dpkit.core.loss_rules import LossRule as LossRule
    from dpkit.core.losses import GDP as GDP
    from dpkit.core.losses import RDP as RDP
    from dpkit.core.losses import ZCDP as ZCDP
    from dpkit.core.losses import ApproxDP as ApproxDP
    from dpkit.core.losses import Loss as Loss
    from dpkit.core.losses import MeanCDP as MeanCDP
    from dpkit.core.losses import PureDP as PureDP
    from dpkit.core.losses import RenyiCurve as RenyiCurve
    from dpkit.core.mechanism import Mechanism as Mechanism
    from dpkit.core.neighbours import Neighbours as Neighbours
    from dpkit.core.parameters import GIVEN as GIVEN
    from dpkit.core.parameters import Parameter as Parameter
    from dpkit.core.query import Query as Query
    from dpkit.core.registry import Registry as Registry
    from dpkit.core.setting import Setting as Setting
    from dpkit.core.source import Source as Source
    from dpkit.core.source import Table as Table
    from dpkit.core.zoo import ZooEntry as ZooEntry
    from dpkit.data.columns import Boolean as Boolean
    from dpkit.data.columns import Category as Category
    from dpkit.data.columns import Number as Number
    from dpkit.data.columns import Policy as Policy
    from dpkit.data.engine import BlockEngine as BlockEngine
    from dpkit.data.opening import open_source as open_source
    from dpkit.data.schema import Schema as Schema
    from dpkit.data.setting import DeclaredSetting as DeclaredSetting
    from dpkit.data.unit import PrivacyUnit as PrivacyUnit
    from dpkit.errors import BudgetError as BudgetError
    from dpkit.errors import BudgetExceededError as BudgetExceededError
    from dpkit.errors import BudgetUnreachableError as BudgetUnreachableError
    from dpkit.errors import DpkitError as DpkitError
    from dpkit.errors import DuplicateNameError as DuplicateNameError
    from dpkit.errors import InvalidValueError as InvalidValueError
    from dpkit.errors import LedgerBusyError as LedgerBusyError
    from dpkit.errors import LedgerCorruptError as LedgerCorruptError
    from dpkit.errors import LedgerDisagreementError as LedgerDisagreementError
    from dpkit.errors import LedgerError as LedgerError
    from dpkit.errors import LedgerExistsError as LedgerExistsError
    from dpkit.errors import LedgerStorageError as LedgerStorageError
    from dpkit.errors import LossOverflowError as LossOverflowError
    from dpkit.errors import MissingExtraError as MissingExtraError
    from dpkit.errors import NoFilterTheoremError as NoFilterTheoremError
    from dpkit.errors import NoIntervalError as NoIntervalError
    from dpkit.errors import NotALedgerError as NotALedgerError
    from dpkit.errors import OutputError as OutputError
    from dpkit.errors import PlanExceededError as PlanExceededError
    from dpkit.errors import PlanRefusedError as PlanRefusedError
    from dpkit.errors import PluginError as PluginError
    from dpkit.errors import PluginWarning as PluginWarning
    from dpkit.errors import PrivateFactError as PrivateFactError
    from dpkit.errors import Problem as Problem
    from dpkit.errors import ReleaseFailedError as ReleaseFailedError
    from dpkit.errors import RunStateError as RunStateError
    from dpkit.errors import SerialisationError as SerialisationError
    from dpkit.errors import SourceError as SourceError
    from dpkit.errors import SpecError as SpecError
    from dpkit.errors import UnknownNameError as UnknownNameError
    from dpkit.errors import UnpricedEventError as UnpricedEventError
    from dpkit.errors import UnpricedLossError as UnpricedLossError
    from dpkit.hooks.manager import default_registry as default_registry
    from dpkit.hooks.manager import load_plugins as load_plugins
    from dpkit.hooks.specs import hookimpl as hookimpl
    from dpkit.interchange import from_json as from_json
    from dpkit.interchange import to_json as to_json
    from dpkit.mechanisms.additive import AdditiveNoise as AdditiveNoise
    from dpkit.mechanisms.discrete import DiscreteGaussian as DiscreteGaussian
    from dpkit.mechanisms.discrete import DiscreteGaussianEvent as DiscreteGaussianEvent
    from dpkit.mechanisms.discrete import DiscreteLaplace as DiscreteLaplace
    from dpkit.mechanisms.discrete import DiscreteLaplaceEvent as DiscreteLaplaceEvent
    from dpkit.mechanisms.exponential import BoundedRangeEvent as BoundedRangeEvent
    from dpkit.mechanisms.exponential import Exponential as Exponential
    from dpkit.mechanisms.gaussian import Gaussian as Gaussian
    from dpkit.mechanisms.gaussian import GaussianEvent as GaussianEvent
    from dpkit.mechanisms.laplace import Laplace as Laplace
    from dpkit.mechanisms.laplace import LaplaceEvent as LaplaceEvent
    from dpkit.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from dpkit.mechanisms.randomized_response import RandomizedResponseEvent as RandomizedResponseEvent
    from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian as SymmetricGaussian
    from dpkit.numerics.exact_rounding import NoiseLaw as NoiseLaw
    from dpkit.numerics.exact_rounding import Tail as Tail
    from dpkit.numerics.exact_rounding import exactly_rounded as exactly_rounded
    from dpkit.numerics.exact_sums import ExactSum as ExactSum
    from dpkit.numerics.randomness import secure_generator as secure_generator
    from dpkit.numerics.simulated import Simulated as Simulated
    from dpkit.running.curator import DataCurator as DataCurator
    from dpkit.running.curator import planned_event as planned_event
    from dpkit.running.driver import Outcome as Outcome
    from dpkit.running.driver import drive as drive
    from dpkit.running.ledger import Ledger as Ledger
    from dpkit.running.ledger_terms import ExpectedTerms as ExpectedTerms
    from dpkit.running.run import RunResult as RunResult
    from dpkit.running.run import run_algorithms as run_algorithms
    from dpkit.running.schedules import schedule_weights as schedule_weights
    from dpkit.running.schedules import solve_noise as solve_noise

# Where each public name lives. A test holds this table against the imports above and against docs/api.md.
_HOMES: dict[str, tuple[str, ...]] = {
    "dpkit._version": ("__version__",),
    "dpkit.accountants.odometers": ("PrivacyOdometer",),
    "dpkit.accounting": ("account", "calibrate", "privacy_filter", "privacy_odometer"),
    "dpkit.analysis.load": ("load",),
    "dpkit.analysis.plan": ("Plan",),
    "dpkit.analysis.run": ("Result",),
    "dpkit.analysis.spec": ("Spec",),
    "dpkit.auditing.certificate": ("AuditCertificate",),
    "dpkit.auditing.runner": ("audit",),
    "dpkit.core.accountant": ("Accountant",),
    "dpkit.core.algorithm": ("Curator", "IterativeAlgorithm"),
    "dpkit.core.auditor": ("Auditor", "Evidence"),
    "dpkit.core.claims": ("Citation", "Claim"),
    "dpkit.core.distances": ("Distance", "frobenius", "l1", "l2", "linf", "rank_one", "records"),
    "dpkit.core.engine": ("Engine",),
    "dpkit.core.events": ("ApproxEvent", "Compose", "Event", "Parallel", "PureEvent", "Repeat", "Subsample", "ZCDPEvent"),
    "dpkit.core.explain": ("Explanation",),
    "dpkit.core.factories": (
        "AlgorithmFactory",
        "EngineFactory",
        "Factory",
        "MechanismFactory",
        "NeighbourPairs",
        "QueryFactory",
    ),
    "dpkit.core.filters": ("PrivacyFilter",),
    "dpkit.core.guarantee": ("Guarantee",),
    "dpkit.core.loss_pairs": ("PLD", "LossDirection", "LossPair"),
    "dpkit.core.loss_rules": ("LossRule",),
    "dpkit.core.losses": ("GDP", "RDP", "ZCDP", "ApproxDP", "Loss", "MeanCDP", "PureDP", "RenyiCurve"),
    "dpkit.core.mechanism": ("Mechanism",),
    "dpkit.core.neighbours": ("Neighbours",),
    "dpkit.core.parameters": ("GIVEN", "Parameter"),
    "dpkit.core.query": ("Query",),
    "dpkit.core.registry": ("Registry",),
    "dpkit.core.setting": ("Setting",),
    "dpkit.core.source": ("Source", "Table"),
    "dpkit.core.zoo": ("ZooEntry",),
    "dpkit.data.columns": ("Boolean", "Category", "Number", "Policy"),
    "dpkit.data.engine": ("BlockEngine",),
    "dpkit.data.opening": ("open_source",),
    "dpkit.data.schema": ("Schema",),
    "dpkit.data.setting": ("DeclaredSetting",),
    "dpkit.data.unit": ("PrivacyUnit",),
    "dpkit.errors": (
        "BudgetError",
        "BudgetExceededError",
        "BudgetUnreachableError",
        "DpkitError",
        "DuplicateNameError",
        "InvalidValueError",
        "LedgerBusyError",
        "LedgerCorruptError",
        "LedgerDisagreementError",
        "LedgerError",
        "LedgerExistsError",
        "LedgerStorageError",
        "LossOverflowError",
        "NoFilterTheoremError",
        "NoIntervalError",
        "NotALedgerError",
        "PlanExceededError",
        "PluginError",
        "RunStateError",
        "SerialisationError",
        "UnknownNameError",
        "UnpricedEventError",
        "UnpricedLossError",
        "PluginWarning",
        "MissingExtraError",
        "PrivateFactError",
        "SourceError",
        "ReleaseFailedError",
        "OutputError",
        "PlanRefusedError",
        "Problem",
        "SpecError",
    ),
    "dpkit.hooks.manager": ("default_registry", "load_plugins"),
    "dpkit.hooks.specs": ("hookimpl",),
    "dpkit.interchange": ("from_json", "to_json"),
    "dpkit.mechanisms.additive": ("AdditiveNoise",),
    "dpkit.mechanisms.discrete": ("DiscreteGaussian", "DiscreteGaussianEvent", "DiscreteLaplace", "DiscreteLaplaceEvent"),
    "dpkit.mechanisms.exponential": ("BoundedRangeEvent", "Exponential"),
    "dpkit.mechanisms.gaussian": ("Gaussian", "GaussianEvent"),
    "dpkit.mechanisms.laplace": ("Laplace", "LaplaceEvent"),
    "dpkit.mechanisms.randomized_response": ("RandomizedResponse", "RandomizedResponseEvent"),
    "dpkit.mechanisms.symmetric_gaussian": ("SymmetricGaussian",),
    "dpkit.numerics.exact_rounding": ("NoiseLaw", "Tail", "exactly_rounded"),
    "dpkit.numerics.exact_sums": ("ExactSum",),
    "dpkit.numerics.randomness": ("secure_generator",),
    "dpkit.numerics.simulated": ("Simulated",),
    "dpkit.running.curator": ("DataCurator", "planned_event"),
    "dpkit.running.driver": ("drive", "Outcome"),
    "dpkit.running.ledger": ("Ledger",),
    "dpkit.running.ledger_terms": ("ExpectedTerms",),
    "dpkit.running.run": ("run_algorithms", "RunResult"),
    "dpkit.running.schedules": ("solve_noise", "schedule_weights"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - computed from the one table


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpkit' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
