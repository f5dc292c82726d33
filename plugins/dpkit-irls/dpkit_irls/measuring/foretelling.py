"""Whether plans foretell the errors of fits: what they foretell over what many fits are off, and over what these state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpkit_irls.fit import Array
from dpkit_irls.measuring.coverage import FIRST_SEED, Case, Coverage, designs, foretold, other_designs

PLANS: dict[str, dict[str, Any]] = {
    "what is declared": {"guessed": False},
    "deviations, middles and shares": {"guessed": True},
    "200 public rows": {"public_rows": 200},
    "1,000 public rows": {"public_rows": 1_000},
}
"""What a plan is told, as `foretold` takes it."""


def plan_table(kept: Coverage, *, fits: int) -> str:
    """What a plan foretells over the errors of fits, and over those that they state, where data are as they were declared."""
    cases = [Case(design=name, rows=rows, epsilon=1.0) for name in list(other_designs())[1:] for rows in (1_000, 3_000, 20_000)]
    kept.measure([(case, fits) for case in cases])
    heads = ["design", "N", "foretold over observed error", "of those that the plan calls hidden", "foretold over stated error"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for case in cases:
        plan, as_stated, hidden = foretold(case)
        observed, stated = _over_fits(kept, case, fits, plan, as_stated)
        told = [_between(each) for each in (observed[~hidden], observed[hidden], stated)]
        lines.append(f"| {case.design} | {case.rows:,} | {' | '.join(told)} |")
    return "\n".join([*lines, "", f"{fits} fits each at epsilon 1. Bar: 0.5 to 2."])


def _over_fits(kept: Coverage, case: Case, fits: int, plan: Array, as_stated: Array) -> tuple[Array, Array]:
    """What a plan foretells over the errors of fits (root mean squares), and over those that they state (the middle fit)."""
    rows = kept.rows[case.key][:fits]
    observed = np.sqrt(np.mean(np.square([row[0] for row in rows]), axis=0))
    return plan / observed, as_stated / np.median([row[1] for row in rows], axis=0)


def stand_in_table(kept: Coverage, cases: Sequence[tuple[int, float]], *, fits: int, small: bool) -> str:
    """How many errors that a plan foretells lie within half to twice those of fits, and those that fits state: from what is
    declared alone, from guesses, and from other rows of the design that stand in for the data.
    """
    names = list(designs())[:2] if small else list(designs())
    kept.measure([(Case(design=name, rows=rows, epsilon=epsilon), fits) for rows, epsilon in cases for name in names])
    lines = ["| plan knows | N | errors of fits | errors that fits state | off most |", "|---" * 5 + "|"]
    for what, choose in PLANS.items():
        for rows, epsilon in cases:
            observed, stated = [], []
            for name in names:
                case = Case(design=name, rows=rows, epsilon=epsilon)
                plan, as_stated, _ = foretold(case, **choose)
                found = _over_fits(kept, case, fits, plan, as_stated)
                observed += found[0].tolist()
                stated += found[1].tolist()
            counts = [f"{sum(0.5 <= ratio <= 2.0 for ratio in each)} of {len(each)}" for each in (observed, stated)]
            far = f"{min(observed):.2g} to {max(observed):.2g}"
            lines.append(f"| {what} | {rows:,} | {counts[0]} | {counts[1]} | {far} |")
    return "\n".join([*lines, "", f"{len(names)} designs, {fits} fits each, seeds from {FIRST_SEED:,}. Bar: 0.5 to 2."])


def _between(found: np.ndarray) -> str:
    return f"{np.min(found):.2f} to {np.max(found):.2f}" if found.size else "none"
