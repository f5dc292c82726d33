"""What a fit says of itself in words: what it estimates, and what a reader must know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpkit_irls.bounded.filter import Filter
from dpkit_irls.bounded.frame import Frame

if TYPE_CHECKING:
    from dpkit_irls.bounded.bounded import BoundedIRLS
    from dpkit_irls.bounded.state import BoundedState

TIES = (
    "Many targets are equal, or may be: the threshold is 1.345 spreads of the target, not of the residuals. For a target of "
    "yes and no the algorithm `logistic` models the probability."
)

YES_OR_NO = (
    "The target lies between 0 and 1: if it is yes or no, this is a linear probability, and `logistic` models the probability."
)


def estimand_sentence(frame: Frame, now: Filter) -> str:
    """Which weights and which threshold, with released values."""
    of = "spreads of the target" if now.tied else "scales of the residuals"
    per = now.threshold / (now.spread if now.tied else now.scale)
    return (
        f"Huber's regression with the threshold {now.threshold:.5g} ({per:.3g} {of}). A row has full weight up to the length "
        f"{frame.near:.4g}, after the released centring and scaling; beyond, its weight falls as 1/length, and from "
        f"{frame.far:.4g} on as 1/length^2."
    )


def notes_of(algorithm: BoundedIRLS, state: BoundedState, hidden: Sequence[int]) -> tuple[str, ...]:
    """Rare levels, hidden directions and ties, all from released values."""
    notes = []
    for category, few in zip(algorithm.layout.categories, state.few, strict=False):
        if few:
            name = algorithm.columns[category.feature]
            levels = algorithm.setting.levels(name)
            rare = ", ".join(levels[level] for level in few)
            notes.append(f"Levels of {name} with fewer rows than the noise of their count can tell from none: {rare}.")
    if hidden:
        names = [*algorithm.entries, "intercept"]
        notes.append(f"Hidden by the noise, so the interval is wide: {', '.join(names[place] for place in hidden)}.")
    if state.filter.tied if state.filter is not None else state.tied:
        notes.append(TIES)
    return tuple(notes)
