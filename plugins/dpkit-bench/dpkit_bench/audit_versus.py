"""How many samples peers of the black box need on the same pairs, at the same confidence, and the ratio to dpkit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpkit.auditing.betting.profile import points_of
from dpkit.auditing.draw_outputs import PairOutputs, flat
from dpkit.auditing.zoo import entry_named
from dpkit_bench.audit_peers import DPSniper, HistogramTester, HockeyStick, Peer, prepared
from dpkit_bench.audit_samples import AuditRow, count
from dpkit_bench.progress import measured

PUBLISHED = 0.01
TAILS = (PUBLISHED, 0.03, 0.1)
"""DP-Sniper's c: what its authors use, and others, of which the best is taken in hindsight."""
FLAGS = {"sparse vector 3": (-1000.0, -2000.0), "sparse vector 4": (-1.0,)}
NEVER = 2**62
_FIRST, _FACTOR, _STEPS = 64, math.sqrt(2.0), 24
GRID = tuple(round(_FIRST * _FACTOR**k) for k in range(_STEPS + 1))
"""Budgets: from 64 to 262,144 samples, by factors of 1.41."""


class Audited(Protocol):
    """What is audited: a function at a pair, and its claim."""

    @property
    def name(self) -> str: ...
    @property
    def sampler(self) -> Any: ...
    @property
    def pair(self) -> tuple[Any, Any]: ...
    @property
    def claim(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """The smallest budgets of the grid with which at least a quarter, half and three quarters of the seeds refute."""

    peer: str
    quarter: int
    half: int
    three_quarters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VersusRow:
    """One entry: ours (samples of both sides to refutation) and each peer's budget."""

    name: str
    ours: AuditRow
    peers: tuple[Needed, ...]

    def best(self, *, hindsight: bool) -> Needed:
        """The peer that needs fewest samples; in hindsight, over every c of DP-Sniper as well."""
        tuned = {DPSniper(c).name for c in TAILS if c != PUBLISHED}
        return min((one for one in self.peers if hindsight or one.peer not in tuned), key=lambda one: one.half)


def measure_peers(
    rows: Sequence[AuditRow],
    *,
    seeds: int = 20,
    first_seed: int = 0,
    confidence: float = 0.999,
    grid: Sequence[int] = GRID,
    peers: Sequence[Peer] | None = None,
) -> list[VersusRow]:
    """Every peer that suits, on each broken entry that the rows measured through the black box."""
    found = []
    asked = (*(DPSniper(c) for c in TAILS), HockeyStick(), HistogramTester()) if peers is None else peers
    for row in rows:
        if row.truth == "broken" and row.falsifier == "black box":
            entry = entry_named(row.name)
            chosen = range(first_seed, first_seed + seeds)
            one, _ = PairOutputs(entry.sampler, entry.pair, np.random.SeedSequence(first_seed)).draw(1)
            (point,) = points_of(entry.claim)
            suited = [peer for peer in asked if peer.suits(flat(one), point)]
            needed = tuple(budget_needed(peer, entry, chosen, 1.0 - confidence, grid) for peer in suited)
            found.append(VersusRow(name=row.name, ours=row, peers=needed))
            measured(f"peers on {row.name}")
    return found


def budget_needed(peer: Peer, entry: Audited, seeds: range, alpha: float, grid: Sequence[int]) -> Needed:
    """Climb by fours until three quarters refute, then look between: more samples are taken to refute at least as often."""
    known: dict[int, float] = {}

    def share(place: int) -> float:
        if place not in known:
            known[place] = _share(peer, entry, grid[place], seeds, alpha)
        return known[place]

    top = len(grid) - 1
    climb = [*range(0, top, 4), top]
    for place in climb:
        if share(place) >= 0.75:
            break
    quarter, half, most = (_first(share, known, level) for level in (0.25, 0.5, 0.75))
    budgets = [NEVER if place is None else grid[place] for place in (quarter, half, most)]
    return Needed(peer=peer.name, quarter=budgets[0], half=budgets[1], three_quarters=budgets[2])


def _first(share: Callable[[int], float], known: dict[int, float], level: float) -> int | None:
    reached = [place for place, found in known.items() if found >= level]
    if not reached:
        return None
    high = min(reached)
    low = max((place for place, found in known.items() if place < high), default=-1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= level else (middle, high)
    return high


def _share(peer: Peer, entry: Audited, budget: int, seeds: range, alpha: float) -> float:
    """The share of the seeds that refute with this budget; samples are drawn anew for every budget."""
    flags = FLAGS.get(entry.name, ())
    n = peer.sizes(budget)
    runs = []
    for seed in seeds:
        one, two = PairOutputs(entry.sampler, entry.pair, np.random.SeedSequence([seed, budget])).draw(n)
        runs.append((prepared(one, flags), prepared(two, flags)))
    (point,) = points_of(entry.claim)
    return sum(peer.refuted(runs, point, alpha=alpha, seed=seeds[0])) / len(runs)


def versus_as_markdown(rows: Sequence[VersusRow]) -> str:
    """A table: medians with quartiles in brackets, and ratios of medians with the ratios of opposite quartiles."""
    sniper = DPSniper(PUBLISHED).name
    lines = [
        "| entry | dpkit | DP-Sniper, c = 0.01 | DP-Sniper, best c | hockey stick | histogram | ratio, published c "
        "| ratio, best c |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        by_name = {one.peer: one for one in row.peers}
        tuned = min((by_name[DPSniper(c).name] for c in TAILS), key=lambda one: one.half)
        best_c = tuned.peer.rpartition(" ")[2]
        ours = f"{count(row.ours.median)} ({count(row.ours.quarter)} to {count(row.ours.three_quarters)})"
        lines.append(
            f"| {row.name} | {ours} | {budgets(by_name[sniper])} | {budgets(tuned)}, c = {best_c} "
            f"| {budgets(by_name[HockeyStick.name])} | {budgets(by_name.get(HistogramTester.name))} "
            f"| {_ratio(row, hindsight=False)} | {_ratio(row, hindsight=True)} |"
        )
    return "\n".join(lines)


def budgets(one: Needed | None) -> str:
    """The median budget with its quartiles; a dash where the peer was not asked."""
    if one is None:
        return "-"
    return (
        f"{_budget(one.half)} ({_budget(one.quarter)} to {_budget(one.three_quarters)})"
        if one.quarter < NEVER
        else _budget(NEVER)
    )


def _budget(number: int) -> str:
    return f"> {GRID[-1]:,}" if number >= NEVER else f"{number:,}"


def _ratio(row: VersusRow, *, hindsight: bool) -> str:
    best = row.best(hindsight=hindsight)
    if best.half >= NEVER:
        return f"> {times(GRID[-1] / row.ours.median)}"
    low = times(best.quarter / row.ours.three_quarters)
    if best.three_quarters >= NEVER:
        return f"{times(best.half / row.ours.median)} (from {low})"
    return f"{times(best.half / row.ours.median)} ({low} to {times(best.three_quarters / row.ours.quarter)})"


def times(ratio: float) -> str:
    """A ratio with one digit, where it is small."""
    return f"{ratio:.1f}" if ratio < 10.0 else f"{ratio:,.0f}"
