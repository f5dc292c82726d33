"""Constants of form `bounded`: how the budget is divided, and how released values are used. How they were found: the docs.

Shares are public and fixed before the run; the rest is post-processing. Neither can touch the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpkit_irls.estimates import UnitPrior

_PRIOR = UnitPrior()


def needed(width: int) -> float:
    """About how many rows are needed for so many coefficients at (0.9, 1e-6) under replace-one, where mu is 0.2146."""
    return 130.0 + 60.0 * width


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Relative shares of mu^2. `columns` is spent only where units are released; a step's share grows by `growth`."""

    columns: float = 0.045
    scatter: float = 0.08
    lengths: float = 0.02
    targets: float = 0.03
    steps: float = 0.7
    growth: float = 1.12

    def weight(self, kind: str, width: int) -> float:
        """Narrow regressions need few rows, among which a histogram of the same noise would see nothing: there it gets more."""
        alone = max(1.0, (needed(10) / needed(width)) ** 2) if kind in ("lengths", "targets") else 1.0
        return alone * float(getattr(self, kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """`threshold` is k over the scale of residuals; `inflation` is added to the variance each step (its model is not exact).

    `floor` bounds the eigenvalues of a scatter by that much of its noise; `trust` a step by so many scales; `turning` a step
    back by that much of the one before. The medians of histograms are looked for among so many neighbouring octaves. Every
    `gather` steps, up to a share `until` of them, the preconditioner is renewed.
    """

    threshold: float = 0.45
    inflation: float = 0.1
    floor: float = 0.4
    trust: float = 3.0
    turning: float = 0.5
    gather: int = 3
    until: float = 0.75
    octave: int = 3
    length_window: int = 3
    target_window: int = 4
    units: UnitPrior = _PRIOR


SHARES = Shares()
TUNING = Tuning()
