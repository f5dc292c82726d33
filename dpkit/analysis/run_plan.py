"""Carrying out a plan: open the data, reserve, charge, release; and the result."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpkit.analysis.given_data import made_source, name_of_given
from dpkit.analysis.ledger_standing import check_affordable, kept_digests, latest_attempt, open_ledger, run_id
from dpkit.analysis.outputs import check_outputs, check_writable, free_outputs, outputs_of, write_output, write_whole
from dpkit.analysis.plan import Plan
from dpkit.analysis.reading.spec import Spec
from dpkit.analysis.synthetic import synthetic_table
from dpkit.contracts.engine import Closing, Engine, Reopening
from dpkit.data.setting import DeclaredSetting
from dpkit.data.tables.open_source import open_source
from dpkit.data.tables.source import DataSource
from dpkit.debugging import made_up
from dpkit.errors import (
    MissingExtraError,
    SourceError,
    UnknownNameError,
)
from dpkit.privacy.checks import one_of
from dpkit.release.curator import Released
from dpkit.release.driver import Outcome
from dpkit.release.ledger.balance_in_epsilon import LedgerPurse, purse_of
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.steward import check_not_behind
from dpkit.release.run_algorithms import run_algorithms, trace_json
from dpkit.values import dataclass

if TYPE_CHECKING:
    import pandas as pd

    from dpkit.analysis.showing.tables import AnswerTable

__all__ = ["Progress", "Result", "check_writable", "open_data", "run_plan", "simulate_plan", "write_whole"]

Progress = Callable[[str, int], None]

KEPT_BYTES = 1 << 28
"""Up to this number of bytes, by the number of rows where it is public, the codes of a file are kept after the first pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run came to: answers by step, everything that was released, and the plan that was paid for.

    A simulation says so in every form in which it is shown, and so do answers that were released `earlier`; `is_repeated` where
    all of them were. `purse` is what the ledger held after the run. `digest` is where
    the log of the ledger ended after the run: `dpkit ledger verify FILE --since DIGEST` finds whether it was cut back since.
    """

    plan: Plan
    run: str
    outcomes: Mapping[str, Outcome]
    releases: tuple[Released, ...] = field(repr=False)
    simulation: bool
    earlier: str = ""
    digest: str = ""
    is_repeated: bool = False
    purse: LedgerPurse | None = None

    def __getitem__(self, step: str) -> object:
        """The answer of a step."""
        if step not in self.outcomes:
            raise UnknownNameError(kind="step", name=step, known=self.outcomes)
        return self.outcomes[step].result

    @property
    def is_complete(self) -> bool:
        """Whether every step came to its end."""
        every = [self.outcomes.get(step.id) for step in self.plan.steps]
        return all(outcome is not None and outcome.ending == "finished" for outcome in every)

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence; of a simulation, that there is none."""
        stamp = "SIMULATION, which protects nobody and answers nothing. " if self.simulation else ""
        earlier = f"{self.earlier} " if self.earlier else ""
        return stamp + earlier + self.plan.sentence

    def frame(self, step: str) -> pd.DataFrame:
        """The answer of a step as a pandas frame: the columns of its groups, then `estimate`, `lower` and `upper`.

        A regression has one row a coefficient, quantiles one a probability. An answer of a form that is not known has one row a
        number, with its name.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError(package="pandas", purpose="A data frame", extra="frames") from None
        found = self.table(step)
        return pd.DataFrame(list(found.rows), columns=list(found.columns))

    def table(self, step: str) -> AnswerTable:
        """The same as plain rows, which are written as CSV or Parquet."""
        from dpkit.analysis.showing.documents import jsonable
        from dpkit.analysis.showing.tables import main_table

        return main_table(jsonable(self[step]))

    def write_tables(self, folder: str | os.PathLike[str], *, format: str = "csv") -> tuple[Path, ...]:
        """Write the table of every step as NAME-STEP.csv, or as Parquet; no file that is there is replaced."""
        from dpkit.analysis.outputs import write_beside

        one_of(format, ("csv", "parquet"), field="format", where="write_tables")
        written = []
        for step in self.outcomes:
            table, prefix = self.table(step), "simulation-" if self.simulation else ""
            content = table.csv().encode() if format == "csv" else table.parquet()
            place = Path(folder) / f"{prefix}{self.plan.spec.path.stem}-{step}.{format}"
            written.append(write_beside(self.plan.spec, place, content))
        return tuple(written)

    def as_json(self) -> dict[str, object]:
        """Everything but the trace, as JSON."""
        from dpkit.analysis.showing.documents import result_document

        return result_document(self)

    def trace(self) -> str:
        """Every release with its event, noise and value, as JSON: enough to price the run again, and to audit it."""
        spec = self.plan.spec
        return trace_json(
            self.releases, plan=self.plan.event, neighbours=spec.data.neighbours, accountant=spec.budget.accountant
        )

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the result and the trace as JSON, named after the analysis. What another run wrote is left as it is."""
        spec = self.plan.spec
        outputs = outputs_of(spec, simulated=self.simulation, folder=Path(folder))
        del outputs["report"]
        check_outputs(spec, outputs)
        places = free_outputs(spec, self.run, outputs, simulated=self.simulation)
        write_output(places["result"], json.dumps(self.as_json(), indent=2))
        write_output(places["trace"], self.trace())
        return places["result"], places["trace"]

    def __str__(self) -> str:
        from dpkit.analysis.showing.text import result_text

        return result_text(self)

    def _repr_html_(self) -> str:
        from dpkit.analysis.showing.html import result_html

        return result_html(self) + str(import_module("dpkit.report.notebooks").result_figures(self))


def run_plan(
    plan: Plan,
    *,
    data: object = None,
    source: DataSource | None = None,
    progress: Progress | None = None,
    again: bool = False,
) -> Result:
    """Carry a plan out. Whatever can be refused is refused before anything is charged. `source` is what `open_data` gave.

    With a ledger, the same analysis of the same data has the same run: an interrupted one goes on, a finished one gives back
    what it released, and neither pays again. `again` pays for a new draw, which is what the analysis gives back from then on.
    An interrupted run does not go on with files that have changed; a finished one says that they have. `data` in place of the
    declared source has runs of its own: files by their paths, what is in memory by its rows, while this process lives.
    """
    spec = plan.spec
    source = open_data(spec, data) if source is None else source
    if spec.budget.ledger is None:
        return carry_out(plan, source, progress=progress)
    given = "" if data is None else name_of_given(source, spec)
    with open_ledger(spec) as ledger:
        if kept := kept_digests(spec, ledger):
            check_not_behind(ledger, kept)
        attempt = latest_attempt(ledger, spec, given=given)
        if again or not attempt:
            check_affordable(plan.event, ledger, was_paid=attempt > 0)
        attempt = attempt + 1 if again or not attempt else attempt
        return carry_out(plan, source, progress=progress, ledger=ledger, run=run_id(spec, attempt, given=given))


def simulate_plan(plan: Plan, *, seed: int = 0) -> Result:
    """Carry a plan out on made-up rows with seeded noise; no ledger is touched."""
    rng = np.random.default_rng(seed)
    spec = plan.spec
    table = synthetic_table(spec.data, seed=seed)
    source = open_source(table, spec.data.schema, unit=spec.data.unit, neighbours=spec.data.neighbours)
    with made_up():
        return carry_out(plan, source, rng=rng)


def open_data(spec: Spec, data: object = None) -> DataSource:
    """The source of an analysis. Only public facts are looked at: files, columns, and the number of rows where it is public."""
    given: Any = data
    if data is None and spec.data.source_parameters is not None:
        given = made_source(spec)
    elif data is None:
        given = spec.data.source
    declared = spec.data.rows
    public = declared is not None and spec.data.unit.knows_size(spec.data.neighbours)
    fits = public and 8 * (declared or 0) * len(spec.data.schema.names) <= KEPT_BYTES
    source = open_source(
        given,
        spec.data.schema,
        unit=spec.data.unit,
        neighbours=spec.data.neighbours,
        in_memory=True if fits else None,
        **spec.data.form,
    )
    if not public:
        return source
    found = source.public_rows()
    if found != declared:
        reason = f"it has {found} rows, which are public here, and `data.rows` says {declared}."
        raise SourceError(source=spec.data.name, reason=reason, fix="Correct `data.rows`: the plan was made with it.")
    return source


def carry_out(
    plan: Plan,
    source: DataSource,
    *,
    progress: Progress | None = None,
    ledger: Ledger | None = None,
    run: str | None = None,
    rng: np.random.Generator | None = None,
) -> Result:
    """One run of a plan: paid for by the ledger, where there is one; with `rng`, a simulation."""
    spec = plan.spec
    with ExitStack() as opened:
        engine = _opened(spec, source, opened)  # before anything is reserved
        found = run_algorithms(
            {step.id: (step.algorithm, planned.noise) for step, planned in zip(spec.steps, plan.steps, strict=True)},
            engine=engine,
            setting=spec.data.setting,
            views=_views(spec, source, engine, opened),
            ledger=ledger,
            run=run,
            analysis=spec.fingerprint,
            data=source.stamp,
            rng=rng,
            progress=progress,
        )
    earlier, day = "", found.resumed[:10]  # what must be said of answers that are not new
    if found.resumed and not found.finished_before:
        earlier = f"This run began on {day} and was interrupted; what it had released then was not drawn again."
    elif found.resumed:
        changed = " THE DATA FILES HAVE CHANGED SINCE." if found.other_data else ""
        earlier = f"EARLIER RELEASE of {day}: nothing was read for it, and nothing was paid.{changed}"
        earlier += " `dpkit run --again` pays for new answers."
    return Result(
        plan=plan,
        run=found.run,
        outcomes=found.outcomes,
        releases=found.releases,
        simulation=found.simulation,
        earlier=earlier,
        digest=found.digest,
        is_repeated=found.finished_before,
        purse=None if ledger is None else purse_of(ledger, like=plan.event),
    )


def _opened(spec: Spec, source: DataSource, opened: ExitStack, *, beside: Engine | None = None) -> Engine:
    """The engine of an analysis over a source; what it holds is given back in the end."""
    if isinstance(beside, Reopening):
        engine = beside.over(source)
    else:
        engine = spec.registry.engine(spec.engine.name).over(source, **spec.engine.parameters)
    if isinstance(engine, Closing):
        opened.callback(engine.close)
    return engine


def _views(spec: Spec, source: DataSource, engine: Engine, opened: ExitStack) -> dict[str, tuple[Engine, DeclaredSetting]]:
    """Engines for the steps that filter or compute columns of their own; steps that do the same share one."""
    found: dict[str, tuple[Engine, DeclaredSetting]] = {}
    for step in spec.steps:
        if step.setting.schema == spec.data.schema:
            continue
        same = next((known for known, setting in found.values() if setting.schema == step.setting.schema), None)
        own = _opened(spec, source.view(step.setting.schema), opened, beside=engine) if same is None else same
        found[step.id] = own, step.setting
    return found
