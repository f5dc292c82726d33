"""The laws of side ways out: neither what a release writes nor whether it refuses tells anything of the value."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator

import numpy as np

from dpkit.privacy.claims import Claim
from dpkit.privacy.neighbours import Distance
from dpkit.testing.cases import Array, MechanismCase, MechanismSubject, pairs_at
from dpkit.testing.conformance import LawNotApplicable
from dpkit.testing.release_laws import CANARY, INTEGER_CANARY, SHOWN, bad_values

FARTHEST = 20
"""Refusals are looked for up to 2**20 distances from zero: the total of a million records. Beyond, a limit is no news."""


def nothing_is_written_of_the_value(case: MechanismCase) -> None:
    """A release prints, logs and warns of nothing that shows the value, be it released or refused."""
    if case.factory.values == "categories":
        raise LawNotApplicable("a category is a small number, which may be written for any reason")
    ordinary = [np.full(shape, INTEGER_CANARY if _whole(case) else CANARY) for shape in case.factory.shapes]
    for subject in case.subjects(2):
        for value in [*ordinary, *bad_values(case)]:
            # what an error says has a law of its own
            with _listening() as written, contextlib.suppress(Exception):
                subject.mechanism.release(value, case.rng(41))
            text = "".join(written)
            assert not any(digits in text for digits in SHOWN), "a value of the data is printed, logged or warned of"


def refusals_tell_no_neighbours_apart(case: MechanismCase) -> None:
    """Of two neighbours, `release` takes both or neither: an error is an answer, too, and it comes without noise.

    A value beyond what a mechanism can answer well is to be clamped. Limits that no ordinary total reaches are not looked for.
    """
    if case.factory.values in ("categories", "scores"):
        raise LawNotApplicable("the values are of a fixed, public set, or a vector of scores")
    for subject in case.subjects(2):
        at = case.distance(subject, target=0.5)
        claims = case.claims(subject.mechanism, at)
        if not claims or not at.value:
            continue
        for value, neighbour in _pairs_across(case, subject, at, claims[0]):
            alike = _is_taken(case, subject, value) == _is_taken(case, subject, neighbour)
            assert alike, (
                f"of two values {at} apart, one is refused and the other is not: clamp what is out of range, with parameters "
                f"{subject.parameters}"
            )


def _pairs_across(case: MechanismCase, subject: MechanismSubject, at: Distance, claim: Claim) -> Iterator[tuple[Array, Array]]:
    """The known pairs; and, where values are refused from some size on, the neighbours on both sides of that limit."""
    yield from pairs_at(case, subject, at, claim, most=24)
    step = float(round(at.value)) if _whole(case) else at.value
    for sign in (1.0, -1.0):

        def at_size(count: int, sign: float = sign) -> Array:
            value = np.zeros(case.factory.shapes[-1], dtype=np.int64 if _whole(case) else np.float64)
            value[(-1,) * value.ndim] = sign * count * step  # one entry, on a diagonal where there is one
            return value

        low, high = 0, 2**FARTHEST
        if _is_taken(case, subject, at_size(high)) or not _is_taken(case, subject, at_size(low)):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _is_taken(case, subject, at_size(middle)) else (low, middle)
        yield at_size(low), at_size(high)


def _whole(case: MechanismCase) -> bool:
    return case.factory.values == "integers"


def _is_taken(case: MechanismCase, subject: MechanismSubject, value: Array) -> bool:
    try:
        subject.mechanism.release(value.copy(), case.rng(42))
    except Exception:  # noqa: BLE001 - a third party's code may refuse in any way
        return False
    return True


class _Keeping(logging.Handler):
    def __init__(self, written: list[str]) -> None:
        super().__init__(level=logging.NOTSET)
        self._written = written

    def emit(self, record: logging.LogRecord) -> None:
        self._written.append(self.format(record))


@contextlib.contextmanager
def _listening() -> Iterator[list[str]]:
    """What is printed, logged at any level and warned of, in the end."""
    written: list[str] = []
    printed = io.StringIO()
    root, handler = logging.getLogger(), _Keeping(written)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.NOTSET)
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            yield written
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        written.append(printed.getvalue())
        written.extend(str(warning.message) for warning in warned)
