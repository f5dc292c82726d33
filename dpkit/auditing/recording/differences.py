"""What the same answers do not explain: where two runs on neighbours differ, and whether that proves anything."""

from __future__ import annotations

import math

from dpkit.auditing.betting.profile import Point
from dpkit.auditing.outcomes import canonical
from dpkit.auditing.recording.losses import distances, moved, noise_parts, spread_breaks
from dpkit.auditing.recording.tape import Call, Tape
from dpkit.numerics.rounding import format_down
from dpkit.values import dataclass

ADDITIVE = ("laplace", "gaussian", "gumbel")
"""Families of noise that is added to a value."""


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A difference in words; certain where only answers that can be followed came before it: otherwise it is a lead."""

    words: str
    certain: bool


_SPREADS = ("scale", "sensitivity")
"""Parameters that may differ a little where a claim has a delta: noise by a smooth sensitivity is private so."""


def differences(tape: Tape, outcomes: list[object], diverged: str, point: Point) -> list[Unexplained]:
    """Of two runs with the same answers: how they went, what they asked, and what they came to.

    `point` is what is claimed: where its delta is not 0, noise of another spread is certain only if that alone breaks it.

    A coin (a random number that is no noise) that both runs see may stand for another one: randomised response takes another
    way with the same coin. So nothing after it is certain; nor after noise that became a plain number.
    """
    found = []
    if diverged:
        found.append(Unexplained(f"control flow differs: {diverged}", tape.place <= tape.followed))
    elif tape.unasked and not any(isinstance(one, BaseException) for one in outcomes):
        words = f"control flow differs: the first run asks {tape.unasked[0].name}, and the second asks nothing more"
        found.append(Unexplained(words, tape.place <= tape.followed))
    for place, call in enumerate(tape.calls):
        if call.other_parameters is None:
            break  # the second run did not come so far
        asked = place <= tape.followed and call.family != "coins"
        said = f"call {place + 1} ({call.name})"
        spread = asked and (point.delta == 0.0 or spread_breaks(call, point))
        found += [Unexplained(f"{said}: {words}", spread if key in _SPREADS else asked) for key, words in _of_parameters(call)]
        # noise may be added to a value long after it was drawn
        found += [
            Unexplained(f"{said}: {words}", asked if call.family == "priced" else tape.settled) for words in _of_values(call)
        ]
    if diverged:
        return found
    if same_result(*outcomes):
        return found
    one, two = (canonical(outcome) for outcome in outcomes)
    raised = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    what = f"kinds {one.kind!r} and {two.kind!r}" if one.kind != two.kind else "other numbers"
    how = "one run raises" if len(raised) == 1 else f"with the same answers the results differ ({what})"
    return [*found, Unexplained(f"a release outside any primitive: {how}", tape.settled)]


def same_result(first: object, second: object) -> bool:
    """Whether two outcomes are the same, but for the rounding of sums."""
    one, two = canonical(first), canonical(second)
    same = one.kind == two.kind and len(one.numbers) == len(two.numbers)
    return same and all(_equal(a, b) for a, b in zip(one.numbers, two.numbers, strict=True))


def shown_number(number: float) -> str:
    """A number as findings show it, rounded down."""
    return "infinity" if not math.isfinite(number) else format_down(number)


def in_short(value: object) -> str:
    """A value in at most 40 characters."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _equal(one: float, two: float) -> bool:
    return one == two or abs(one - two) <= 1e-9 * max(1.0, abs(one)) or (math.isnan(one) and math.isnan(two))


def _of_parameters(call: Call) -> list[tuple[str, str]]:
    """What depends on the data, by its name and in words."""
    found = []
    others = call.other_parameters or {}
    for key in {**call.parameters, **others}:
        one, two = sorted((call.parameters.get(key), others.get(key)), key=repr)
        if repr(one) != repr(two) and distances(one, two)[0] > 1e-12:
            found.append((key, f"its {key} depends on the data ({in_short(one)} against {in_short(two)})"))
    return found


def _of_values(call: Call) -> list[str]:
    found = []
    if call.used or call.other_used:
        found.append("one draw is added to two values, whose difference is then exact")
    sensitivity, apart = call.parameters.get("sensitivity"), moved(call)
    if sensitivity is not None and not isinstance(sensitivity, str) and apart > float(sensitivity) * (1.0 + 1e-9):  # type: ignore[arg-type]
        found.append(f"its inputs are {shown_number(apart)} apart, and the declared sensitivity is {in_short(sensitivity)}")
    if call.family in ADDITIVE and isinstance(call.value, dict):
        if any((one is None) != (two is None) for one, two, _ in noise_parts(call)):
            found.append("one run adds it to a value, and the other does not")
        if any(
            one is not None and two is not None and not math.isfinite(distances(one, two)[0])
            for one, two, _ in noise_parts(call)
        ):
            found.append("it is added to values of which one is no number, or of another shape")
    elif not math.isfinite(apart) and call.family == "priced" and call.price is None and not call.escaped:
        found.append("its inputs are of other shapes, or one is no number")
    return found
