"""A whole run: algorithms with their noise, one plan, one purse, one curator each; what came out of it, and its trace."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from dpkit._version import __version__
from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.engine import Engine
from dpkit.contracts.setting import Setting
from dpkit.data.columns.schema import ROW
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import LedgerDisagreementError
from dpkit.pricing.serialise import dump
from dpkit.privacy.events import Compose, Event, as_event
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.curator import DataCurator, Purse, Released, check_agreement
from dpkit.release.driver import Outcome, drive, interrupts
from dpkit.release.ledger.entries import value_text
from dpkit.release.ledger.ledger import Ledger
from dpkit.values import dataclass

TRACE_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The outcome of each algorithm by its id, everything that was released, and the plan that was paid for.

    `resumed` is when the run began, if that was before: what it had released then was given back, not drawn again. It may have
    been `finished_before`, and of `other_data` than there is now. `digest` is where the ledger's log ended afterwards.
    """

    run: str
    outcomes: Mapping[str, Outcome]
    releases: tuple[Released, ...]
    plan: Event
    simulation: bool
    resumed: str = ""
    finished_before: bool = False
    other_data: bool = False
    digest: str = ""


def run_algorithms(
    algorithms: Mapping[str, tuple[AnyAlgorithm, float]],
    *,
    engine: Engine,
    setting: Setting,
    views: Mapping[str, tuple[Engine, Setting]] | None = None,
    ledger: Ledger | None = None,
    run: str | None = None,
    analysis: str = "",
    data: str = "",
    rng: np.random.Generator | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> RunResult:
    """Run algorithms, each at its noise multiplier, one after the other, and give back what was reserved and not used.

    `views` are the engine and the setting of those, by id, that look at columns or rows of their own of the same data.

    With a ledger the whole plan is reserved first. An error or Ctrl-C leaves the run open: the same `run` id and the same plan
    resume it, and what was released then is not paid again. `data` is a stamp of the data (`DataSource.stamp`); a run is
    resumed with the same. The price that counts is the plan's, also after an early stop.
    """
    name = uuid.uuid4().hex if run is None else run
    plan = Compose(events=tuple(algorithm.plan(noise) for algorithm, noise in algorithms.values()))
    seen = {step: (views or {}).get(step, (engine, setting)) for step in algorithms}
    for own_engine, own_setting in ((engine, setting), *seen.values()):
        check_agreement(own_engine, own_setting)  # before anything is reserved
    if ledger is not None:  # its prices hold for its own relation and unit
        unit = setting.unit if isinstance(setting, DeclaredSetting) else ROW
        for field, given in (("neighbours", setting.neighbours), ("unit", unit.terms)):
            fixed = getattr(ledger.terms, field)
            if fixed != given:
                raise LedgerDisagreementError(path=ledger.path, field=field, ledger=fixed, given=given)
    purse = Purse(plan, run=name, ledger=ledger, analysis=analysis, data=data)
    outcomes: dict[str, Outcome] = {}
    releases: list[Released] = []
    with interrupts() as interrupted:  # one for all: Ctrl-C in the last step of one algorithm keeps the next from beginning
        for place, (step, (algorithm, noise)) in enumerate(algorithms.items(), start=1):
            own_engine, own_setting = seen[step]
            curator = DataCurator(engine=own_engine, setting=own_setting, purse=purse, rng=rng, prefix=f"{step}/")
            report = None if progress is None else partial(progress, step)
            outcomes[step] = drive(algorithm, curator.door, noise=noise, progress=report, cancelled=interrupted)
            releases.extend(curator.trace)
            if outcomes[step].ending == "cancelled" or (interrupted() and place < len(algorithms)):
                break
        else:  # not after Ctrl-C: a closed run cannot go on
            purse.close()
    return RunResult(
        run=name,
        outcomes=outcomes,
        releases=tuple(releases),
        plan=plan,
        simulation=any(release.simulation for release in releases),
        resumed="" if purse.reserved is None else purse.reserved.began,
        finished_before=purse.reserved is not None and not purse.reserved.is_open,
        other_data=purse.reserved is not None and purse.reserved.other_data,
        digest="" if ledger is None else ledger.head().hash,
    )


def trace_json(releases: Sequence[Released], *, plan: Event, neighbours: Neighbours, accountant: str) -> str:
    """Everything that is needed to price a run again and to audit it, as JSON, and no value but released ones."""
    body = {
        "dpkit-trace": TRACE_VERSION,
        "dpkit": __version__,
        "neighbours": str(neighbours),
        "accountant": accountant,
        "plan": json.loads(dump(plan)),
        "simulation": any(release.simulation for release in releases),
        "releases": [
            {
                "key": release.key,
                "queries": list(release.queries),
                "mechanisms": list(release.mechanisms),
                "event": json.loads(dump(release.event)),
                "values": [json.loads(value_text(value)) for value in release.values],
                **({"keys": list(release.keys)} if release.keys else {}),
            }
            for release in releases
        ],
    }
    return json.dumps(body, indent=2, sort_keys=True)


def charged_event(releases: Sequence[Released]) -> Event:
    """Everything that was charged, composed."""
    return as_event([release.event for release in releases])
