"""How fast `pld` is beside Google's dp-accounting at the same tightness or better, both in one process."""

from __future__ import annotations

import importlib.util
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpkit.accountants.loss_composition import tuned
from dpkit.accountants.loss_distribution import LossDistributionAccountant
from dpkit.accounting import account
from dpkit.core.events import Compose, Event, PureEvent, Repeat, Subsample
from dpkit.errors import InvalidValueError
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.mechanisms.subsampled_gaussian_pair import moment_bound_at

DELTA = 1e-6
GRIDS = (1e-4, 1e-5)
"""The peer's default discretisation interval, and one that is ten times as fine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingRow:
    """One workload: the exact epsilon, what each says above it, and seconds: medians of the runs, and their spread."""

    name: str
    exact: float
    ours_above: float
    ours_seconds: float
    ours_spread: float
    peer: str
    peer_above: float
    peer_seconds: float
    peer_spread: float
    ratio: float


def workloads() -> dict[str, tuple[Event, float]]:
    """The five public workloads and their exact epsilon at delta = 1e-6, rounded to the digits shown."""
    rng = np.random.default_rng(0)
    laplace, gaussian = rng.uniform(5, 50, 500), rng.uniform(10, 100, 500)
    mixture = [LaplaceEvent(ratio=float(1.0 / b)) for b in laplace], [GaussianEvent(ratio=float(1.0 / s)) for s in gaussian]
    return {
        "40 Laplace": (Repeat(event=LaplaceEvent(ratio=0.15), times=40), 4.2319093540),
        "40 pure": (Repeat(event=PureEvent(epsilon=0.15), times=40), 4.3629411884),
        "1,000 Gaussian": (Repeat(event=GaussianEvent(ratio=0.05), times=1000), 8.3062250500),
        "10,000 subsampled Gaussian": (
            Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1.0)), times=10_000),
            6.9073844950,
        ),
        "500 Laplace and 500 Gaussian, all different": (Compose(events=(*mixture[0], *mixture[1])), 7.6532176838),
    }


def measure_accounting(*, repeats: int = 5) -> list[AccountingRow]:
    """Time every workload under both, alternately, the peer on its default grid of 1e-4 and on one of 1e-5."""
    if importlib.util.find_spec("dp_accounting") is None:
        raise InvalidValueError(
            field="peer",
            found="no dp-accounting",
            allowed="an installed dp-accounting",
            where="bench",
            fix="pip install dpkit[peers]",
        )
    rows = []
    for name, (event, exact) in workloads().items():
        for grid in GRIDS:
            if name.startswith("500") and grid < 1e-4:
                continue  # it would take minutes
            rows.append(_compare(name, event, partial(_peer(name), grid), exact=exact, grid=grid, repeats=repeats))
    return rows


def _compare(name: str, event: Event, peer: Callable[[], float], *, exact: float, grid: float, repeats: int) -> AccountingRow:
    peer_above = peer() - exact
    # ours is asked for the peer's tightness, no more; its default where that is not enough
    ours = partial(_ours, event, LossDistributionAccountant(width=min(1e-2, max(5e-7, peer_above))))
    if ours() - exact > max(peer_above, 0.0):
        ours = partial(_ours, event, LossDistributionAccountant())
    above = ours() - exact
    times = [(_seconds(ours), _seconds(peer)) for _ in range(repeats)]  # each of ours from cold caches
    mine, theirs = [pair[0] for pair in times], [pair[1] for pair in times]
    return AccountingRow(
        name=name,
        exact=exact,
        ours_above=above,
        ours_seconds=statistics.median(mine),
        ours_spread=(max(mine) - min(mine)) / statistics.median(mine),
        peer=f"dp-accounting, grid {grid:g}",
        peer_above=peer_above,
        peer_seconds=statistics.median(theirs),
        peer_spread=(max(theirs) - min(theirs)) / statistics.median(theirs),
        ratio=statistics.median(theirs) / statistics.median(mine),
    )


def as_markdown(rows: list[AccountingRow]) -> str:
    """A table for docs/benchmarks.md."""
    lines = [
        "| workload | exact | dpkit above | dpkit ms | spread | peer | peer above | peer ms | spread | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.exact:.10f} | {row.ours_above:.1e} | {1e3 * row.ours_seconds:.3g} | {row.ours_spread:.0%} "
        f"| {row.peer} | {row.peer_above:.1e} | {1e3 * row.peer_seconds:.3g} | {row.peer_spread:.0%} | {row.ratio:.3g} |"
        for row in rows
    ]
    return "\n".join(lines)


def _ours(event: Event, accountant: LossDistributionAccountant) -> float:
    return account(event, accountant).epsilon(delta=DELTA)


def _peer(name: str) -> Callable[[float], float]:
    from dp_accounting.pld import privacy_loss_distribution as pld  # type: ignore[import-untyped, unused-ignore]

    def laplace(grid: float) -> float:
        return float(
            pld.from_laplace_mechanism(1.0 / 0.15, value_discretization_interval=grid)
            .self_compose(40)
            .get_epsilon_for_delta(DELTA)
        )

    def pure(grid: float) -> float:
        lie = 2.0 / (1.0 + math.exp(0.15))
        return float(
            pld.from_randomized_response(lie, 2, value_discretization_interval=grid)
            .self_compose(40)
            .get_epsilon_for_delta(DELTA)
        )

    def gaussian(grid: float) -> float:
        return float(
            pld.from_gaussian_mechanism(20.0, value_discretization_interval=grid)
            .self_compose(1000)
            .get_epsilon_for_delta(DELTA)
        )

    def subsampled(grid: float) -> float:
        one = pld.from_gaussian_mechanism(1.0, sampling_prob=0.01, value_discretization_interval=grid)
        return float(one.self_compose(10_000).get_epsilon_for_delta(DELTA))

    def mixture(grid: float) -> float:
        rng = np.random.default_rng(0)
        scales, sigmas = rng.uniform(5, 50, 500), rng.uniform(10, 100, 500)
        total = pld.identity(value_discretization_interval=grid)
        for scale in scales:
            total = total.compose(pld.from_laplace_mechanism(scale, value_discretization_interval=grid))
        for sigma in sigmas:
            total = total.compose(pld.from_gaussian_mechanism(sigma, value_discretization_interval=grid))
        return float(total.get_epsilon_for_delta(DELTA))

    peers = dict(zip(workloads(), (laplace, pure, gaussian, subsampled, mixture), strict=True))
    return peers[name]


def _seconds(run: Callable[[], object]) -> float:
    """Seconds of one run from cold caches: a repeat of the same question must not be answered by the run before it."""
    for cached in (tuned, moment_bound_at):
        cached.cache_clear()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
