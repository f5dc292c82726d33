"""Whether the declared number of rows is enough for the noise of a plan: said from public facts, before anything is spent.

An algorithm may say how many rows it needs at a noise, and below how many its answer would be noise (`NeedsRows`): a plan
below the second is refused, below the first it carries advice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpkit.contracts.algorithm import AnyAlgorithm, NeedsRows
from dpkit.errors import DpkitError, PlanRefusedError
from dpkit.numerics.rounding import format_up

Price = Callable[[float], float]
"""The epsilon of the whole plan with all its noise larger by a factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfStep:
    """A step, what it says it needs at its noise, and what is declared. None where it does not say."""

    id: str
    size: int | None
    needed: int | None
    least: int | None


def rows_of(step: str, algorithm: AnyAlgorithm, noise: float, size: int | None) -> RowsOfStep:
    """Ask an algorithm."""
    if not isinstance(algorithm, NeedsRows):
        return RowsOfStep(id=step, size=size, needed=None, least=None)
    return RowsOfStep(
        id=step, size=size, needed=_whole(algorithm.needed_rows(noise)), least=_whole(algorithm.least_rows(noise))
    )


def refuse_too_few(steps: Sequence[RowsOfStep], price: Price) -> None:
    """`PlanRefusedError` with the rows and the epsilon that would do, where some step has too few rows to say anything."""
    for step in steps:
        if step.size is not None and step.least is not None and step.size < step.least:
            more = _epsilon(price, step.size / step.least)
            raise PlanRefusedError(
                reason=f"Step {step.id!r}: {step.size} rows are too few for this budget; its answer would be noise.",
                nearest=f"It needs at least about {step.least} rows{_well(step)}{more}.",
            )


def advice_on_rows(step: RowsOfStep, price: Price) -> tuple[str, ...]:
    """What an analyst should know about the number of rows."""
    if step.needed is None:
        return ()
    if step.size is None:
        return (f"about {step.needed} rows are needed at this budget; `rows` is not declared, so this is not checked.",)
    if step.size >= step.needed:
        return ()
    more = _epsilon(price, step.size / step.needed)
    return (f"{step.size} rows are few for this budget: about {step.needed} are needed{more}.",)


def _whole(found: object) -> int | None:
    """A third party's answer; anything but a whole number says nothing."""
    return found if isinstance(found, int) else None


def _well(step: RowsOfStep) -> str:
    return f" (about {step.needed} for a good answer)" if step.needed is not None else ""


def _epsilon(price: Price, factor: float) -> str:
    """Rows and noise trade one for one: with so much less noise these rows would do."""
    try:
        return f", or a budget of about epsilon {format_up(price(factor), digits=3)}"
    except (DpkitError, ValueError, ArithmeticError):
        return ""
