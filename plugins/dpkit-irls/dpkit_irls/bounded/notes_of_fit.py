"""What a fit says of itself in words: what it estimates, and what a reader must know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpkit.authoring import in_full
from dpkit_irls import rows_needed
from dpkit_irls.loss import BISQUARE, CUT

if TYPE_CHECKING:
    from dpkit_irls.bounded.bounded_irls import BoundedIRLS
    from dpkit_irls.bounded.state import BoundedState

TIES = (
    "Many targets are equal, or may be: the threshold is 1.345 spreads of the target, not of the residuals. For a target of "
    "yes and no the algorithm `logistic` models the probability."
)

UNSEEN = (
    "The noise hides how large targets are, so their unit was guessed: most are equal (zero, say), or rows are few or missing. "
    "Bounds near the targets help."
)

GUESSED = (
    "Nothing is known of the coefficients: the unit of the target is a guess, so each may be whatever the declared range of "
    "the target allows, and its interval is as wide."
)

HIDDEN = "Hidden by the noise, so the interval is wide"
WIDER = "Hidden by the noise is how far the sizes of residuals vary with the columns"

SLOW = (
    "Residuals grow with the fitted values, so the last steps still moved: the intervals are wide. More rows, or another scale "
    "of the target (its logarithm, say), would do better."
)

YES_OR_NO = (
    "The target lies between 0 and 1: if it is yes or no, this is a linear probability, and `logistic` models the probability."
)


def estimand_sentence(algorithm: BoundedIRLS, state: BoundedState) -> str:
    """What is modelled, and which weights, with released values."""
    frame, now = state.frame, state.filter
    assert now is not None
    weights = (
        f"A row has full weight up to the length {frame.near:.4g}, after the released centring and scaling; beyond, its weight "
        f"falls as 1/length, and from {frame.far:.4g} on as 1/length^2."
    )
    if algorithm.ridge:
        ridge = in_full(algorithm.ridge)
        weights = (
            f"{weights} A ridge of {ridge} pulls slopes, in released scales, as {ridge} times the rows with no signal would."
        )
    if algorithm.family.target in ("yes or no", "class"):
        first, *others = answers_of(algorithm)
        kind = "Logistic" if len(others) == 1 else "Multinomial logistic"
        right = "" if algorithm.ridge else " Where the model is right, weights do not move what is estimated."
        return f"{kind} regression: log-odds of {', '.join(others)} against {first}. {weights}{right}"
    of = "spreads of the target" if now.tied else "scales of the residuals"
    per = now.threshold / (now.spread if now.tied else now.scale)
    if algorithm.family.target == "count" and state.link is not None:
        return (
            f"Poisson regression: the logarithm of the mean. Counts further than {CUT:g} standard deviations from it count as "
            f"if they were there; the variance is taken as {state.link.dispersion:.3g} times the mean. {weights}"
        )
    score = now.score
    if score == BISQUARE:
        return f"Tukey's bisquare regression with the threshold {now.threshold:.5g} ({per:.3g} {of}). {weights}"
    if score.name == "quantile":
        half = now.threshold / (2.0 * max(score.quantile, 1.0 - score.quantile))
        return (
            f"Regression of the quantile {score.quantile:g}: the check loss, smoothed over {half:.4g} either side "
            f"({half * per / now.threshold:.3g} {of}). {weights}"
        )
    return f"Huber's regression with the threshold {now.threshold:.5g} ({per:.3g} {of}). {weights}"


def answers_of(algorithm: BoundedIRLS) -> tuple[str, ...]:
    """The names of 0 and 1 of a target, or of its classes."""
    return algorithm.setting.levels(algorithm.columns[-1]) or ("0", "1")


def notes_of(
    algorithm: BoundedIRLS, state: BoundedState, hidden: Sequence[str], wider: Mapping[str, float], *, slow: bool
) -> tuple[str, ...]:
    """Rare levels, hidden directions, doubts (by what factor they make intervals wider) and ties, all from released values."""
    notes = _missing(algorithm, state)
    for category, few in zip(algorithm.layout.categories, state.few, strict=False):
        if few:
            name = algorithm.columns[category.feature]
            levels = algorithm.setting.levels(name)
            rare = ", ".join(levels[level] for level in few)
            notes.append(f"Levels of {name} with fewer rows than the noise of their count can tell from none: {rare}.")
    if hidden:
        notes.append(f"{HIDDEN}: {', '.join(hidden)}.")
    if wider:
        most = in_full(math.ceil(100.0 * max(wider.values())) / 100.0)
        notes.append(
            f"{WIDER}. Intervals allow for that, up to {most} times as wide as were it known; that is too wide where sizes "
            f"hardly vary, and may be too narrow where they vary much: {', '.join(wider)}."
        )
    if state.answers:
        rare = ", ".join(answers_of(algorithm)[answer] for answer in state.answers)
        notes.append(
            f"Answers of {algorithm.columns[-1]} with fewer rows than the noise of their count can tell from none: {rare}. "
            "Where an answer does not occur, its coefficients are not told: an intercept is as far out as the noise allows."
        )
    blurred = ", ".join(algorithm.entries[place] for place, _ in algorithm.blurred(state))
    if blurred:
        notes.append(
            f"Values too close together to be told apart within bounds that wide; narrow those of: {blurred}. What goes with "
            "them may stand for what they do, so other intervals are wider, too."
        )
    if state.unseen:
        notes.append(UNSEEN)
    if state.unscaled and state.link is None:
        unscaled = ", ".join(algorithm.entries[place] for place in state.unscaled)
        notes.append(f"Nothing is known of columns without bounds whose unit the noise hides; give bounds for: {unscaled}.")
    if state.guessed:
        notes.append(GUESSED)
    if slow:
        notes.append(SLOW)
    if state.filter.tied if state.filter is not None else state.tied:
        notes.append(TIES)
    return tuple(notes)


def hardly_any(state: BoundedState) -> bool:
    """Whether what was released shows that hardly any row counts."""
    precision = state.counted[1]
    return precision > 0.0 and state.total < 3.0 * precision**-0.5


def _missing(algorithm: BoundedIRLS, state: BoundedState) -> list[str]:
    """That rows do not count, where released values show it."""
    declared = algorithm.facts.rows
    if declared is None or state.total >= declared:
        return []
    if hardly_any(state):
        return [
            f"Hardly any of the {declared:,.0f} rows counts, so the fit says nothing: is a column missing throughout, or does "
            "it hold other levels than were declared?"
        ]
    share = f"{100.0 * state.total / declared:.2g}%"
    few = rows_needed.advice(round(state.total), algorithm.needed_rows(state.noise))
    return [
        f"About {share} of the rows count, by what was released: the others have missing cells or levels not declared.",
        *few,
    ]
