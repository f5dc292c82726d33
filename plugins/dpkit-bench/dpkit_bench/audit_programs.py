"""dpkit's black box beside peers' own programs, on targets that nothing was tuned on, with the limit that no test can beat."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpkit import audit
from dpkit.auditing.betting.profile import points_of
from dpkit.auditing.draw_outputs import PairOutputs, flat
from dpkit_bench.audit_peers import Peer
from dpkit_bench.audit_samples import count
from dpkit_bench.audit_versus import GRID, NEVER, Needed, budget_needed, budgets, times
from dpkit_bench.held_out import HELD_OUT, Target
from dpkit_bench.information_limit import samples_at_least
from dpkit_bench.progress import measured

OWN_SEEDS = 5
"""Seeds of dpkit's runs for each of a program's, since its medians of eight differ by up to half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRow:
    """One target: samples of both sides until dpkit refutes, the budgets of programs, and the information limit."""

    name: str
    median: float
    quarter: float
    three_quarters: float
    limit: float
    programs: tuple[Needed, ...]

    @property
    def best(self) -> Needed | None:
        """The program that needs fewest samples."""
        return min(self.programs, key=lambda one: one.half, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times more samples the best program needs; at least that many where it never refuted."""
        best = self.best
        return None if best is None else min(best.half, 2 * GRID[-1]) / self.median

    @property
    def possible(self) -> float | None:
        """The largest ratio that any test can have here: the best program's samples over the information limit."""
        best = self.best
        return None if best is None else min(best.half, 2 * GRID[-1]) / self.limit


def measure_programs(
    programs: Sequence[Peer],
    *,
    seeds: int,
    first_seed: int,
    confidence: float = 0.999,
    targets: Sequence[Target] = HELD_OUT,
    grid: Sequence[int] = GRID,
) -> list[ProgramRow]:
    """Every program that suits, on every target, by so many seeds; dpkit by OWN_SEEDS times as many, from the first one on.

    dpkit stops by itself; a program has the least budget that half refute by.
    """
    rows = []
    for target in targets:
        used = []
        for seed in range(first_seed, first_seed + OWN_SEEDS * seeds):
            found = audit(target.sampler, target.claim, target.pair, confidence, 200_000, seed)[0]
            used.append(found.samples if found.refuted else NEVER)
        quartiles = statistics.quantiles(used, n=4, method="inclusive")
        one, _ = PairOutputs(target.sampler, target.pair, np.random.SeedSequence(first_seed)).draw(1)
        (point,) = points_of(target.claim)
        chosen = range(first_seed, first_seed + seeds)
        rows.append(
            ProgramRow(
                name=target.name,
                median=statistics.median(used),
                quarter=quartiles[0],
                three_quarters=quartiles[2],
                limit=samples_at_least(target, alpha=1.0 - confidence),
                programs=tuple(
                    budget_needed(program, target, chosen, 1.0 - confidence, grid)
                    for program in programs
                    if program.suits(flat(one), point)
                ),
            )
        )
        measured(f"programs on {target.name}", len(rows), len(targets))
    return rows


def programs_as_markdown(rows: Sequence[ProgramRow], names: Sequence[str]) -> str:
    """A table; then the smallest and the median ratio, and how many could reach three and five at all."""
    lines = [
        f"| target | no test below | dpkit | {' | '.join(names)} | best of them / dpkit | most that is possible |",
        f"|{'---|' * (len(names) + 5)}",
    ]
    for row in rows:
        by_name = {one.peer: one for one in row.programs}
        cells = " | ".join(budgets(by_name.get(name)) for name in names)
        ours = f"{count(row.median)} ({count(row.quarter)} to {count(row.three_quarters)})"
        lines.append(f"| {row.name} | {count(row.limit)} | {ours} | {cells} | {_ratio(row)} | {_possible(row)} |")
    ratios = sorted(row.ratio for row in rows if row.ratio is not None)
    if ratios:
        found = f"at the median {times(statistics.median(ratios))}, at least {times(ratios[0])}"
        lines += ["", f"Samples of the best of them over dpkit's: {found}.", f"{_reached(rows, 3.0)}; {_reached(rows, 5.0)}."]
    return "\n".join(lines)


def _reached(rows: Sequence[ProgramRow], factor: float) -> str:
    both = [(row.ratio, row.possible) for row in rows if row.ratio is not None and row.possible is not None]
    reached, possible = (sum(one[place] >= factor for one in both) for place in (0, 1))
    return f"{factor:.0f} times fewer on {reached} of {len(both)} (no test could on {len(both) - possible})"


def _possible(row: ProgramRow) -> str:
    if row.best is None or row.possible is None:
        return "-"
    return f"> {times(GRID[-1] / row.limit)}" if row.best.half >= NEVER else times(row.possible)


def _ratio(row: ProgramRow) -> str:
    if row.best is None or row.ratio is None:
        return "-"
    if row.best.half >= NEVER:
        return f"> {times(GRID[-1] / row.median)}"
    return times(row.ratio)
