"""A whole analysis, end to end: it runs on two neighbouring files as on the data, and everything that it gives is compared."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

import numpy as np

from dpkit.analysis.plan import Plan
from dpkit.analysis.run_plan import carry_out, open_data
from dpkit.auditing.audit import audit
from dpkit.auditing.betting.campaign import Watch
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.noise_family import curve_of
from dpkit.auditing.outcomes import canonical
from dpkit.data.tables.source import DataSource
from dpkit.numerics.special import Array
from dpkit.values import dataclass

MOST_RUNS = 10_000
"""Runs of an analysis at most, both files together: a run takes milliseconds and more."""
_NUMBERS = 512


@dataclass(frozen=True, slots=True)
class WholeAnalysis:
    """A plan as a target: an output is everything that one run releases, and the answers that it makes of that.

    The noise is that of a real run, from secure randomness. No ledger is opened, nothing is written, and nothing is paid: the
    files must be made up.
    """

    plan: Plan
    independent: bool = True
    _sources: dict[str, DataSource] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> list[Array]:
        """n runs."""
        source = self._sources.get(str(dataset))
        if source is None:
            source = self._sources[str(dataset)] = open_data(self.plan.spec, dataset)
        return [self._one(source) for _ in range(n)]

    def _one(self, source: DataSource) -> Array:
        found = carry_out(self.plan, source)
        parts: list[float] = []
        for value in (value for release in found.releases for value in release.values):
            parts += canonical(value).numbers
        for step in sorted(found.outcomes):
            outcome = found.outcomes[step]
            parts += [*canonical(outcome.ending).numbers, *canonical(outcome.result).numbers]
        return np.array(parts[:_NUMBERS])


def audit_end_to_end(
    plan: Plan,
    files: tuple[str | Path, str | Path],
    *,
    confidence: float = 0.999,
    samples: int = MOST_RUNS,
    seed: int | None = None,
    time: float | None = None,
    watch: Watch | None = None,
) -> AuditCertificate:
    """Try to refute what a plan says of itself, by running all of it on two neighbouring files of made-up rows.

    It sees what no part shows: steps that share what they should not, and answers that hold more than the releases. Each output
    is a run, so it sees large violations at this one pair; the audit of the parts sees small ones.
    """
    one, two = (Path(file) for file in files)
    (found,) = audit(
        WholeAnalysis(plan),
        curve_of(plan.guarantee, delta=plan.delta),
        (one, two),
        confidence,
        min(samples, MOST_RUNS),
        seed,
        neighbours=plan.spec.data.neighbours,
        time=time,
        watch=watch,
        name="the whole analysis, end to end",
        registry=plan.spec.registry,
    )
    return found
