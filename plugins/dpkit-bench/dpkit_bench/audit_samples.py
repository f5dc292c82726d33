"""How many samples the audit needs to refute what is broken, and how often it refutes what is right."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dpkit.auditing.zoo import ZOO, AuditableEntry
from dpkit_bench.progress import measured


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One entry of the zoo over several seeds: samples (both sides) to refutation, and the CPU time of a run."""

    name: str
    truth: str
    falsifier: str
    seeds: int
    refuted: int
    median: float
    quarter: float
    three_quarters: float
    smallest: int
    largest: int
    seconds: float


def measure_audit(
    *,
    seeds: int = 20,
    samples: int = 200_000,
    null_samples: int = 20_000,
    entries: Sequence[AuditableEntry] = ZOO,
    first_seed: int = 0,
    confidence: float = 0.999,
) -> list[AuditRow]:
    """Audit each entry with each seed; right entries get `null_samples`. Unrefuted counts as infinite."""
    rows = []
    for entry in entries:
        start = time.process_time()
        budget = samples if entry.broken else null_samples
        runs = [entry.audit(samples=budget, rng=first_seed + seed, confidence=confidence) for seed in range(seeds)]
        used = [run.samples if run.refuted else 2**62 for run in runs]
        quartiles = statistics.quantiles(used, n=4, method="inclusive") if seeds > 1 else 3 * used
        row = AuditRow(
            name=entry.name,
            truth=entry.truth,
            falsifier=next((run.falsifier for run in runs if run.refuted), runs[0].falsifier),
            seeds=seeds,
            refuted=sum(run.refuted for run in runs),
            median=statistics.median(used),
            quarter=quartiles[0],
            three_quarters=quartiles[2],
            smallest=min(used),
            largest=max(used),
            seconds=(time.process_time() - start) / seeds,
        )
        rows.append(row)
        measured(entry.name, len(rows), len(entries))
    return rows


def as_markdown(rows: Sequence[AuditRow]) -> str:
    """A table."""
    lines = [
        "| entry | truth | falsifier | refuted | median samples | smallest | largest | CPU s a run |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.truth} | {row.falsifier} | {row.refuted}/{row.seeds} | {count(row.median)} "
        f"| {count(row.smallest)} | {count(row.largest)} | {row.seconds:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)


def count(number: float) -> str:
    """With commas; a dash where there is none."""
    return "-" if number > 2**60 else f"{number:,.0f}"
