"""How many rows a form needs at a noise: fitted to what was measured (docs/regression-measured.md), from public facts alone."""

from __future__ import annotations

FAILING = 3.0
"""With fewer rows than the need over this, an answer is mostly noise (measured for `irls`; taken over for the others)."""


def least_rows(needed: int, *, answer_anyway: bool) -> int:
    """With fewer rows a plan is refused; 0 where the analyst wants an answer anyway."""
    return 0 if answer_anyway else int(needed / FAILING)


def advice(size: int | None, needed: int) -> tuple[str, ...]:
    """Whether the declared number of rows is small for this noise; rows and mu buy the same."""
    if size is None or size >= needed:
        return ()
    return (f"{size} rows are few for this budget: about {needed} are needed, or {needed / size:.1f} times the budget's mu.",)
