"""Two runs timed alternately, so that both see the same machine; medians, and the range over the median."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Run = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """Seconds of ours and of a peer; `ratio` above 1 says that ours is faster."""

    ours: float
    ours_spread: float
    peer: float
    peer_spread: float

    @property
    def ratio(self) -> float:
        """How many times as long the peer takes."""
        return self.peer / self.ours


def seconds(run: Run, *, before: Run | None = None) -> float:
    """Of one run; what `before` does is not timed."""
    if before is not None:
        before()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def versus(ours: Run, peer: Run, *, repeats: int, before: Run | None = None) -> Versus:
    """Alternately, each `repeats` times."""
    times = [(seconds(ours, before=before), seconds(peer)) for _ in range(repeats)]
    mine, theirs = summary([pair[0] for pair in times]), summary([pair[1] for pair in times])
    return Versus(ours=mine[0], ours_spread=mine[1], peer=theirs[0], peer_spread=theirs[1])


def summary(values: Sequence[float]) -> tuple[float, float]:
    """The median, and the range over it."""
    median = statistics.median(values)
    return median, (max(values) - min(values)) / median if median else 0.0
