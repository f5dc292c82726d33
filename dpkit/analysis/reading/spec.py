"""A spec: an analysis as it was declared, checked against what is installed. It has read no data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.ledger_store import LedgerPlace
from dpkit.contracts.registry import Registry
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.hooks.manager import Installed
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan, Telling


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpec:
    """Where the rows are, and everything public about them. `source`: paths or globs, or the name of a plugin's source.

    `is_named` where `name` was written; else it is read off the source. `joined` are the files of public tables.
    `form` says how text files are written (`TextForm`). `like` are files of public rows that stand in for these in a plan.
    """

    name: str
    source: str | tuple[str, ...]
    source_parameters: Mapping[str, object] | None
    unit: PrivacyUnit
    neighbours: Neighbours
    schema: Schema
    rows: int | None
    is_named: bool = False
    joined: tuple[Path, ...] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    like: tuple[str, ...] | None = None

    @property
    def setting(self) -> DeclaredSetting:
        """What algorithms plan with."""
        return DeclaredSetting(schema=self.schema, neighbours=self.neighbours, unit=self.unit, rows=self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSpec:
    """What this run may cost, who adds it up, and the ledger that pays."""

    epsilon: float
    delta: float
    accountant: str
    ledger: LedgerPlace | None
    accept: tuple[str, ...]

    @property
    def loss(self) -> Loss:
        """The budget as a loss."""
        return ApproxDP(epsilon=self.epsilon, delta=self.delta) if self.delta else PureDP(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """Where queries are evaluated: the name of an engine, and its checked parameters."""

    name: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """One step: its name, its algorithm, its relative share, and the algorithm as it was prepared for its setting.

    The setting is that of the data, with the columns and the condition that the step itself adds.
    """

    id: str
    run: str
    share: float
    parameters: Mapping[str, object]
    setting: DeclaredSetting = field(repr=False)
    algorithm: AnyAlgorithm = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A checked analysis. `document` is what was written, as plain values; `fingerprint` is that of what matters in it.

    Results stay in the folder of the analysis, unless `outside` allows others. Where the report goes, which engine computes and
    what stands in for the data of a plan do not matter: every engine gives the same totals, to the bit.
    """

    path: Path
    data: DataSpec
    budget: BudgetSpec
    engine: EngineSpec
    steps: tuple[StepSpec, ...]
    report: Path
    fingerprint: str
    document: object = field(repr=False)
    outside: bool = field(default=False, compare=False)
    installed: Installed = field(repr=False, compare=False)

    @property
    def registry(self) -> Registry:
        """What the analysis may use."""
        return self.installed.registry

    def plan(self, *, progress: Telling | None = None, like: object = None) -> Plan:
        """Price the analysis. Reads no data and spends nothing. `progress` is told what is done, how much, and of how much; a
        notebook shows a bar.

        `like` are public rows that stand in for the data (paths, a frame, whatever `open_source` takes), in place of
        `data.like`: errors are foretold by trying algorithms on rows that are drawn from them. Never give private rows: the
        plan would tell of them, and nobody would have paid for that.
        """
        from dpkit.analysis.plan import make_plan

        if progress is not None or "IPython" not in sys.modules:
            return make_plan(self, progress=progress, like=like)
        from dpkit.analysis.showing.notebook_bar import notebook_bar

        with notebook_bar() as bar:
            return make_plan(self, progress=None if bar is None else bar.tell, like=like)
