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
    from dpkit.analysis.plan import Plan as Plan
    from dpkit.analysis.reading.load import load as load
    from dpkit.analysis.reading.spec import Spec as Spec
    from dpkit.analysis.run_plan import Result as Result
    from dpkit.auditing.audit import audit as audit
    from dpkit.auditing.certificates.certificate import AuditCertificate as AuditCertificate
    from dpkit.contracts.accountant import Accountant as Accountant
    from dpkit.contracts.accountant import Reading as Reading
    from dpkit.contracts.algorithm import Advising as Advising
    from dpkit.contracts.algorithm import Curator as Curator
    from dpkit.contracts.algorithm import Foretelling as Foretelling
    from dpkit.contracts.algorithm import IterativeAlgorithm as IterativeAlgorithm
    from dpkit.contracts.algorithm import NeedsRows as NeedsRows
    from dpkit.contracts.auditor import Auditor as Auditor
    from dpkit.contracts.auditor import Evidence as Evidence
    from dpkit.contracts.command import Command as Command
    from dpkit.contracts.engine import Closing as Closing
    from dpkit.contracts.engine import CountsRows as CountsRows
    from dpkit.contracts.engine import DeclaresSetting as DeclaresSetting
    from dpkit.contracts.engine import Engine as Engine
    from dpkit.contracts.factories import AlgorithmFactory as AlgorithmFactory
    from dpkit.contracts.factories import EngineFactory as EngineFactory
    from dpkit.contracts.factories import Factory as Factory
    from dpkit.contracts.factories import MechanismFactory as MechanismFactory
    from dpkit.contracts.factories import NeighbourPairs as NeighbourPairs
    from dpkit.contracts.factories import QueryFactory as QueryFactory
    from dpkit.contracts.guarantee import Guarantee as Guarantee
    from dpkit.contracts.mechanism import Accurate as Accurate
    from dpkit.contracts.mechanism import CombinedAccurate as CombinedAccurate
    from dpkit.contracts.mechanism import Mechanism as Mechanism
    from dpkit.contracts.mechanism import Neighbouring as Neighbouring
    from dpkit.contracts.mechanism import OnGrid as OnGrid
    from dpkit.contracts.mechanism import Scaled as Scaled
    from dpkit.contracts.mechanism import WhiteBox as WhiteBox
    from dpkit.contracts.parameters import GIVEN as GIVEN
    from dpkit.contracts.parameters import Choice as Choice
    from dpkit.contracts.parameters import Parameter as Parameter
    from dpkit.contracts.query import Preparation as Preparation
    from dpkit.contracts.query import Query as Query
    from dpkit.contracts.registry import Registry as Registry
    from dpkit.contracts.setting import Setting as Setting
    from dpkit.contracts.table import Batch as Batch
    from dpkit.contracts.table import Cells as Cells
    from dpkit.contracts.table import DivisibleTable as DivisibleTable
    from dpkit.contracts.table import InMemory as InMemory
    from dpkit.contracts.table import OfFiles as OfFiles
    from dpkit.contracts.table import OfFloat32 as OfFloat32
    from dpkit.contracts.table import Source as Source
    from dpkit.contracts.table import Table as Table
    from dpkit.contracts.zoo import ZooEntry as ZooEntry
    from dpkit.data.columns.kinds import Boolean as Boolean
    from dpkit.data.columns.kinds import Category as Category
    from dpkit.data.columns.kinds import Number as Number
    from dpkit.data.columns.kinds import Policy as Policy
    from dpkit.data.columns.schema import Schema as Schema
    from dpkit.data.columns.unit import PrivacyUnit as PrivacyUnit
    from dpkit.data.setting import DeclaredSetting as DeclaredSetting
    from dpkit.data.summing.block_engine import BlockEngine as BlockEngine
    from dpkit.data.tables.open_source import open_source as open_source
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
    from dpkit.numerics.exact_sums import ExactSum as ExactSum
    from dpkit.numerics.noise.exact_rounding import NoiseLaw as NoiseLaw
    from dpkit.numerics.noise.exact_rounding import Tail as Tail
    from dpkit.numerics.noise.exact_rounding import exactly_rounded as exactly_rounded
    from dpkit.numerics.noise.randomness import secure_generator as secure_generator
    from dpkit.numerics.noise.simulated import Simulated as Simulated
    from dpkit.pricing.explain import Explanation as Explanation
    from dpkit.pricing.filters import Filtering as Filtering
    from dpkit.pricing.filters import FilterTheorem as FilterTheorem
    from dpkit.pricing.filters import PrivacyFilter as PrivacyFilter
    from dpkit.privacy.claims import Citation as Citation
    from dpkit.privacy.claims import Claim as Claim
    from dpkit.privacy.claims import Conversion as Conversion
    from dpkit.privacy.distances import Distance as Distance
    from dpkit.privacy.distances import frobenius as frobenius
    from dpkit.privacy.distances import l1 as l1
    from dpkit.privacy.distances import l2 as l2
    from dpkit.privacy.distances import linf as linf
    from dpkit.privacy.distances import rank_one as rank_one
    from dpkit.privacy.distances import records as records
    from dpkit.privacy.events import ApproxEvent as ApproxEvent
    from dpkit.privacy.events import Compose as Compose
    from dpkit.privacy.events import Event as Event
    from dpkit.privacy.events import Parallel as Parallel
    from dpkit.privacy.events import PureEvent as PureEvent
    from dpkit.privacy.events import Repeat as Repeat
    from dpkit.privacy.events import Subsample as Subsample
    from dpkit.privacy.events import ZCDPEvent as ZCDPEvent
    from dpkit.privacy.gauges import Gauge as Gauge
    from dpkit.privacy.gauges import Gauging as Gauging
    from dpkit.privacy.loss_pairs import PLD as PLD
    from dpkit.privacy.loss_pairs import LossDirection as LossDirection
    from dpkit.privacy.loss_pairs import LossPair as LossPair
    from dpkit.privacy.losses import GDP as GDP
    from dpkit.privacy.losses import RDP as RDP
    from dpkit.privacy.losses import ZCDP as ZCDP
    from dpkit.privacy.losses import ApproxDP as ApproxDP
    from dpkit.privacy.losses import Loss as Loss
    from dpkit.privacy.losses import MeanCDP as MeanCDP
    from dpkit.privacy.losses import PureDP as PureDP
    from dpkit.privacy.losses import RenyiCurve as RenyiCurve
    from dpkit.privacy.neighbours import Neighbours as Neighbours
    from dpkit.privacy.rules import LossRule as LossRule
    from dpkit.release.curator import DataCurator as DataCurator
    from dpkit.release.curator import Released as Released
    from dpkit.release.curator import planned_event as planned_event
    from dpkit.release.driver import Outcome as Outcome
    from dpkit.release.driver import drive as drive
    from dpkit.release.driver import states_of as states_of
    from dpkit.release.ledger.ledger import Ledger as Ledger
    from dpkit.release.ledger.terms import ExpectedTerms as ExpectedTerms
    from dpkit.release.noise import ScaledNoise as ScaledNoise
    from dpkit.release.noise import expected_error as expected_error
    from dpkit.release.noise import noise_for as noise_for
    from dpkit.release.run_algorithms import RunResult as RunResult
    from dpkit.release.run_algorithms import run_algorithms as run_algorithms
    from dpkit.release.schedules import schedule_weights as schedule_weights
    from dpkit.release.schedules import solve_noise as solve_noise

# Where each public name lives. A test holds this table against the imports above and against docs/api.md.
_HOMES: dict[str, tuple[str, ...]] = {
    "dpkit._version": ("__version__",),
    "dpkit.accountants.odometers": ("PrivacyOdometer",),
    "dpkit.accounting": ("account", "calibrate", "privacy_filter", "privacy_odometer"),
    "dpkit.analysis.reading.load": ("load",),
    "dpkit.analysis.plan": ("Plan",),
    "dpkit.analysis.run_plan": ("Result",),
    "dpkit.analysis.reading.spec": ("Spec",),
    "dpkit.auditing.certificates.certificate": ("AuditCertificate",),
    "dpkit.auditing.audit": ("audit",),
    "dpkit.contracts.accountant": ("Accountant", "Reading"),
    "dpkit.contracts.algorithm": ("Curator", "IterativeAlgorithm", "Advising", "Foretelling", "NeedsRows"),
    "dpkit.contracts.auditor": ("Auditor", "Evidence"),
    "dpkit.privacy.claims": ("Citation", "Claim", "Conversion"),
    "dpkit.contracts.command": ("Command",),
    "dpkit.privacy.distances": ("Distance", "frobenius", "l1", "l2", "linf", "rank_one", "records"),
    "dpkit.contracts.engine": ("Engine", "Closing", "CountsRows", "DeclaresSetting"),
    "dpkit.privacy.events": ("ApproxEvent", "Compose", "Event", "Parallel", "PureEvent", "Repeat", "Subsample", "ZCDPEvent"),
    "dpkit.pricing.explain": ("Explanation",),
    "dpkit.contracts.factories": (
        "AlgorithmFactory",
        "EngineFactory",
        "Factory",
        "MechanismFactory",
        "NeighbourPairs",
        "QueryFactory",
    ),
    "dpkit.pricing.filters": ("PrivacyFilter", "FilterTheorem", "Filtering"),
    "dpkit.privacy.gauges": ("Gauge", "Gauging"),
    "dpkit.contracts.guarantee": ("Guarantee",),
    "dpkit.privacy.loss_pairs": ("PLD", "LossDirection", "LossPair"),
    "dpkit.privacy.rules": ("LossRule",),
    "dpkit.privacy.losses": ("GDP", "RDP", "ZCDP", "ApproxDP", "Loss", "MeanCDP", "PureDP", "RenyiCurve"),
    "dpkit.contracts.mechanism": ("Mechanism", "Accurate", "CombinedAccurate", "Neighbouring", "OnGrid", "Scaled", "WhiteBox"),
    "dpkit.privacy.neighbours": ("Neighbours",),
    "dpkit.contracts.parameters": ("GIVEN", "Choice", "Parameter"),
    "dpkit.contracts.query": ("Query", "Preparation"),
    "dpkit.contracts.registry": ("Registry",),
    "dpkit.contracts.setting": ("Setting",),
    "dpkit.contracts.table": ("Source", "Table", "Batch", "Cells", "DivisibleTable", "InMemory", "OfFiles", "OfFloat32"),
    "dpkit.contracts.zoo": ("ZooEntry",),
    "dpkit.data.columns.kinds": ("Boolean", "Category", "Number", "Policy"),
    "dpkit.data.summing.block_engine": ("BlockEngine",),
    "dpkit.data.tables.open_source": ("open_source",),
    "dpkit.data.columns.schema": ("Schema",),
    "dpkit.data.setting": ("DeclaredSetting",),
    "dpkit.data.columns.unit": ("PrivacyUnit",),
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
    "dpkit.numerics.noise.exact_rounding": ("NoiseLaw", "Tail", "exactly_rounded"),
    "dpkit.numerics.exact_sums": ("ExactSum",),
    "dpkit.numerics.noise.randomness": ("secure_generator",),
    "dpkit.numerics.noise.simulated": ("Simulated",),
    "dpkit.release.curator": ("DataCurator", "Released", "planned_event"),
    "dpkit.release.driver": ("drive", "Outcome", "states_of"),
    "dpkit.release.ledger.ledger": ("Ledger",),
    "dpkit.release.ledger.terms": ("ExpectedTerms",),
    "dpkit.release.noise": ("ScaledNoise", "expected_error", "noise_for"),
    "dpkit.release.run_algorithms": ("run_algorithms", "RunResult"),
    "dpkit.release.schedules": ("solve_noise", "schedule_weights"),
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
