"""How fast accounting is beside its peers at the same tightness or better, all in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dpkit import Compose, Event, GaussianEvent, LaplaceEvent, PureEvent, Repeat, Subsample, account
from dpkit.accountants.pld.accountant import LossDistributionAccountant
from dpkit.accountants.pld.composition import tuned
from dpkit.mechanisms.sampled_moments import quadrature_nodes, uniform_parts
from dpkit.mechanisms.subsampled_gaussian import moment_bound_at, rough_moment_at
from dpkit_bench.accounting_peers import (
    DELTA,
    GAUSSIAN,
    LAPLACE,
    MIXTURE,
    PURE,
    SUBSAMPLED,
    TRAINING,
    PeerRun,
    mixture_scales,
    peer_runs,
)
from dpkit_bench.progress import measured
from dpkit_bench.timing import versus


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingRow:
    """One workload: the exact epsilon, what each says above it, and seconds: medians of the runs, and their spread."""

    name: str
    exact: float
    ours: str
    ours_above: float
    ours_seconds: float
    ours_spread: float
    peer: str
    peer_above: float
    peer_seconds: float
    peer_spread: float
    ratio: float


def workloads() -> dict[str, tuple[Event, float]]:
    """Workloads and their exact epsilon at delta = 1e-6, to the digits shown; of other training runs, certified from below."""
    laplace, gaussian = mixture_scales()
    mixture = (*(LaplaceEvent(ratio=1.0 / b) for b in laplace), *(GaussianEvent(ratio=1.0 / s) for s in gaussian))
    training = {
        name: Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=1.0 / sigma)), times=steps)
        for name, (rate, sigma, steps) in TRAINING.items()
    }
    return {
        LAPLACE: (Repeat(event=LaplaceEvent(ratio=0.15), times=40), 4.2319093540),
        PURE: (Repeat(event=PureEvent(epsilon=0.15), times=40), 4.3629411884),
        GAUSSIAN: (Repeat(event=GaussianEvent(ratio=0.05), times=1000), 8.3062250500),
        SUBSAMPLED: (training[SUBSAMPLED], 6.9073844950),
        **{
            name: (event, account(event, "pld").interval(delta=DELTA)[0])
            for name, event in training.items()
            if name != SUBSAMPLED
        },
        MIXTURE: (Compose(events=mixture), 7.6532176838),
    }


def measure_accounting(*, repeats: int = 5, slow: bool = True) -> tuple[list[AccountingRow], tuple[str, ...]]:
    """Time every workload under dpkit and each peer that has it, alternately; notes on peers that are left out.

    Without `slow`, only what takes a peer less than a second or so.
    """
    runs, notes = peer_runs()
    known = workloads()
    wanted = [run for run in runs if slow or not run.is_slow]
    rows = []
    for run in wanted:
        rows.append(_compare(run, *known[run.workload], repeats=repeats))
        measured(run.workload, len(rows), len(wanted))
    return sorted(rows, key=lambda row: list(known).index(row.name)), notes


def _compare(run: PeerRun, event: Event, exact: float, *, repeats: int) -> AccountingRow:
    peer_above = run.epsilon() - exact
    ours = partial(_ours, event, run.accountant)
    if run.accountant == "pld":
        # ours is asked for the peer's tightness, no more; its default where that is not enough
        ours = partial(_ours, event, LossDistributionAccountant(width=min(1e-2, max(5e-7, peer_above))))
        if ours() - exact > max(peer_above, 0.0):
            ours = partial(_ours, event, LossDistributionAccountant())
    above = ours() - exact
    times = versus(ours, run.epsilon, repeats=repeats, before=forget)
    return AccountingRow(
        name=run.workload,
        exact=exact,
        ours=run.accountant,
        ours_above=above,
        ours_seconds=times.ours,
        ours_spread=times.ours_spread,
        peer=run.peer,
        peer_above=peer_above,
        peer_seconds=times.peer,
        peer_spread=times.peer_spread,
        ratio=times.ratio,
    )


def as_markdown(rows: Sequence[AccountingRow]) -> str:
    """A table for docs/benchmarks.md."""
    lines = [
        "| workload | exact | dpkit | above | ms | spread | peer | above | ms | spread | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.exact:.10f} | {row.ours} | {row.ours_above:.1e} | {1e3 * row.ours_seconds:.3g} "
        f"| {row.ours_spread:.0%} | {row.peer} | {row.peer_above:.1e} | {1e3 * row.peer_seconds:.3g} | {row.peer_spread:.0%} "
        f"| {row.ratio:.3g} |"
        for row in rows
    ]
    return "\n".join(lines)


def _ours(event: Event, accountant: str | LossDistributionAccountant) -> float:
    return account(event, accountant).epsilon(delta=DELTA)


def forget() -> None:
    """Empty the caches: a repeat of the same question must not be answered by the run before it, since peers keep none."""
    for cached in (tuned, moment_bound_at, rough_moment_at, quadrature_nodes, uniform_parts):
        cached.cache_clear()
