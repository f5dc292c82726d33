"""What an answer says of coefficients, whatever algorithm gave it: names, values, intervals; for text, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

TWO_SIDED_95 = 1.959963984540054
_SHOWN_AS_COEFFICIENTS = ("coefficients", "features", "names", "intercept", "intercept_error", "standard_errors", "intervals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One coefficient; `lower` and `upper` are None where the answer says nothing about its error."""

    name: str
    value: float
    lower: float | None = None
    upper: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Where its interval ends: at the value itself where there is none."""
        low = self.value if self.lower is None else self.lower
        return low, self.value if self.upper is None else self.upper


def coefficients_of(answer: object) -> tuple[Coefficient, ...]:
    """The coefficients of a JSON answer that has `coefficients`: a mapping, or a list with `features` or `names`.

    Intervals come from `intervals` (pairs), or from `standard_errors`, both in the same form and at 95%. An `intercept` is the
    last, with the error that `standard_errors` has for it: by that name, or as the last of the list.
    """
    if not isinstance(answer, Mapping) or "coefficients" not in answer:
        return ()
    values = _by_name(answer["coefficients"], answer.get("features") or answer.get("names"))
    names = list(values)
    if is_number(answer.get("intercept")) and "intercept" not in values:
        values["intercept"] = answer["intercept"]
    errors = _named_after(answer.get("standard_errors"), names, list(values))
    if "intercept" in values and is_number(answer.get("intercept_error")):
        errors["intercept"] = answer["intercept_error"]
    ends = _named_after(answer.get("intervals"), names, list(values))
    found = []
    for name, value in values.items():
        if not is_number(value):
            continue
        lower, upper = _ends(value, ends.get(name), errors.get(name))
        found.append(Coefficient(name=name, value=value, lower=lower, upper=upper))
    return tuple(found)


def without_coefficients(answer: object) -> object:
    """The rest of an answer whose coefficients are shown apart."""
    if not isinstance(answer, Mapping) or not coefficients_of(answer):
        return answer
    return {key: value for key, value in answer.items() if key not in _SHOWN_AS_COEFFICIENTS}


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _ends(value: float, pair: object, error: object) -> tuple[float | None, float | None]:
    if isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair)):
        return pair[0], pair[1]
    if is_number(error):
        return value - TWO_SIDED_95 * error, value + TWO_SIDED_95 * error
    return None, None


def _by_name(values: object, names: object) -> dict[str, object]:
    if isinstance(values, Mapping):
        return {str(name): value for name, value in values.items()}
    if not isinstance(values, list):
        return {}
    known = [str(name) for name in names] if isinstance(names, list) and len(names) == len(values) else None
    return dict(zip(known or [f"[{place}]" for place in range(len(values))], values, strict=True))


def _named_after(values: object, names: list[str], longer: list[str]) -> dict[str, object]:
    """A mapping as it is; a list by the names of the coefficients, with or without the intercept."""
    if isinstance(values, list):
        return next((dict(zip(found, values, strict=True)) for found in (names, longer) if len(found) == len(values)), {})
    return {str(name): value for name, value in values.items()} if isinstance(values, Mapping) else {}
