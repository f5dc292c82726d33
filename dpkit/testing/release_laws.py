"""The laws of a release: bad values are refused and not shown, in no way; inputs and mechanism stay as they are."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import itertools
import logging
import pickle
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpkit.privacy.claims import Claim
from dpkit.privacy.neighbours import Distance
from dpkit.testing.mechanism_cases import Array, MechanismCase, MechanismSubject, base_values, pairs_at
from dpkit.testing.run_laws import LawNotApplicable

CANARY = 81917.8203125
"""A value that nobody would write by chance, exact in binary: where its leading digits turn up, data has leaked."""
INTEGER_CANARY = 93169
SHOWN = ("81917", "93169", "8.1917", "9.3169", "8.19e", "9.32e")
OWN_DRAWS = 1_000
"""Outputs that are drawn without a generator: from the operating system's randomness."""
DRAWS = 600
"""Outputs that are compared to see whether there is noise at all."""


def release_refuses_nan_and_infinity(case: MechanismCase) -> None:
    """A direct release of NaN or an infinity raises: it would show that record with certainty."""
    if case.factory.values not in ("reals", "symmetric", "scores"):
        raise LawNotApplicable("the values are whole numbers")
    for subject in case.subjects(2):
        for shape in case.factory.shapes:
            for bad in (np.nan, np.inf, -np.inf):
                value = np.zeros(shape)
                value[(-1,) * len(shape)] = bad
                try:
                    subject.mechanism.release(value, case.rng(11))
                except (ValueError, ArithmeticError):
                    continue
                raise AssertionError(f"release accepted {bad} in shape {shape}: refuse it with an error")


def errors_show_no_value(case: MechanismCase) -> None:
    """What release raises on a bad value names none of the values that came with it."""
    for subject in case.subjects(2):
        for value in bad_values(case):
            try:
                subject.mechanism.release(value, case.rng(12))
            except Exception as error:  # noqa: BLE001 - any error is looked at
                shown = _said(error)
                assert not any(digits in shown for digits in SHOWN), "an error message shows a value of the data"


def _said(error: BaseException | None) -> str:
    """What an error says, and what those say that it came from: a traceback shows them all."""
    if error is None:
        return ""
    own = "".join(traceback.format_exception_only(error)) + repr(error.args)
    return own + _said(error.__cause__) + ("" if error.__suppress_context__ else _said(error.__context__))


def integers_are_numbers(case: MechanismCase) -> None:
    """An array of integers is released as the same numbers in floating point are, or refused: it may not lose its noise."""
    if case.factory.values not in ("reals", "symmetric", "scores"):
        raise LawNotApplicable("the values are whole numbers")
    for subject in case.subjects(2):
        for shape in case.factory.shapes:
            whole = np.full(shape, 5)
            try:
                outputs = [np.asarray(subject.mechanism.release(value, case.rng(9))) for value in (whole, whole.astype(float))]
            except ValueError:
                continue
            assert np.array_equal(outputs[0], outputs[1]), "integers are released otherwise than equal floats"


def release_does_not_change_its_input(case: MechanismCase) -> None:
    """The value passed in is as it was; a read-only array is fine."""
    for subject in case.subjects(2):
        for value in _values(case, subject):
            kept = value.copy()
            subject.mechanism.release(value, case.rng(13))
            assert np.array_equal(value, kept), "release changed its input"
            value.setflags(write=False)
            subject.mechanism.release(value, case.rng(13))


def release_is_deterministic_given_the_rng(case: MechanismCase) -> None:
    """The generator is the only randomness: equal generators give equal outputs, others give other ones."""
    for subject in case.subjects(2):
        value = _values(case, subject)[0]
        for n in (None, 50):
            one, same = (
                np.asarray(
                    subject.mechanism.release(value, rng) if n is None else subject.mechanism.release_many(value, n, rng)
                )
                for rng in (case.rng(14), case.rng(14))
            )
            assert np.array_equal(one, same), "two releases with equal generators differ: randomness comes from elsewhere"


def without_a_generator_the_noise_is_the_same_law(case: MechanismCase) -> None:
    """`release(value)` draws afresh each time, and as much noise as it does from a generator that is given."""
    for subject in case.subjects(1):
        mechanism: Any = subject.mechanism  # it decides whether `rng` may be left out
        draws = (mechanism.release, mechanism.release_many)
        if any(inspect.signature(draw).parameters["rng"].default is not None for draw in draws):
            raise LawNotApplicable("it draws from a generator that is given, and from nothing else")
        value = _values(case, subject)[0]
        given, own = (
            np.asarray(mechanism.release_many(value, OWN_DRAWS, rng)).reshape(OWN_DRAWS, -1)[:, 0]
            for rng in (case.rng(17), None)
        )
        single = [np.asarray(mechanism.release(value)).tobytes() for _ in range(OWN_DRAWS // 20)]
        few = len(np.unique(given)) < OWN_DRAWS // 2  # choices and small integers are equal by chance
        assert few or len(set(single)) > len(single) // 2, "without a generator a release repeats itself: its seed is fixed"
        both = np.sort(np.concatenate([given, own]).astype(np.float64))
        ranks = [np.searchsorted(np.sort(part.astype(np.float64)), both, side="right") / OWN_DRAWS for part in (given, own)]
        gap = float(np.max(np.abs(ranks[0] - ranks[1])))
        # Smirnov: two samples of n differ by more with a probability below 2 exp(-n gap^2); 0.15 of 1,000 is below 4e-10
        assert gap < 0.15, "without a generator the noise has another law than with one"


def mechanism_keeps_nothing(case: MechanismCase) -> None:
    """A release leaves no trace in the mechanism: neither the value nor anything drawn for it."""
    for subject in case.subjects(2):
        before = _state(subject)
        value = _values(case, subject)[0]
        marked = value + np.asarray(CANARY if value.dtype.kind == "f" else 1).astype(value.dtype)
        subject.mechanism.release(marked if _is_taken(case, subject, marked) else value, case.rng(15))
        assert _state(subject) == before, "a release changed the mechanism: it keeps something of the data or of the noise"


def form_shows_nothing(case: MechanismCase) -> None:
    """The output's shape and dtype depend on the input's shape alone, not on its values."""
    for subject in case.subjects(2):
        for shape in case.factory.shapes:
            forms = set()
            for value in _values(case, subject, shape):
                output = np.asarray(subject.mechanism.release(value, case.rng(16)))
                forms.add((output.shape, output.dtype.str))
            assert len(forms) == 1, f"shape or dtype of the output depends on the value: {sorted(forms)}"


def noise_is_never_zero(case: MechanismCase) -> None:
    """For no legal parameters is a cheap release a function of the value alone, asymmetric bounds included."""
    from hypothesis import HealthCheck, given, seed, settings

    from dpkit.errors import DpkitError
    from dpkit.testing.mechanism_cases import built_or_none, pairs_at
    from dpkit.testing.strategies import factory_parameters

    seen = []

    def law(parameters: dict[str, Any]) -> None:
        mechanism = built_or_none(case.factory, parameters)
        if mechanism is None:
            return
        subject = MechanismSubject(parameters=parameters, mechanism=mechanism)
        try:
            at = case.distance(subject, target=1.5)
            claims = case.claims(mechanism, at)
            if not claims or case.epsilon(mechanism, at) > 3.0 or not at.value:
                return
            pairs = pairs_at(case, subject, at, claims[0], most=8)
        except (DpkitError, LawNotApplicable, OverflowError):
            return
        seen.append(parameters)
        for value, other in pairs:
            if not (np.isfinite(value).all() and np.isfinite(other).all()):
                continue
            try:
                one, two = (
                    np.asarray(mechanism.release_many(x, DRAWS, case.rng(salt))).reshape(DRAWS, -1)
                    for x, salt in ((value, 17), (other, 18))
                )
            except (DpkitError, ValueError):
                continue  # a value that this mechanism does not take
            constant = (one == one[0]).all(axis=0) & (two == two[0]).all(axis=0)
            # all outputs equal on either side, each with another value: at an epsilon of 3 a chance below 1e-9
            shown = np.flatnonzero(constant & (one[0] != two[0]))
            assert not shown.size, (
                f"there is no noise in coordinate {shown[0]} of {one.shape[1]}: it is a function of the value, with "
                f"parameters {parameters}"
            )

    for parameters in _placed(case):
        law(parameters)
    anything = given(parameters=factory_parameters(case.factory))(law)
    many = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))(anything)
    seed(case.seed)(many)()
    if not seen:
        raise LawNotApplicable("no parameters were found that cost an epsilon between 0 and 3")


def _placed(case: MechanismCase) -> Iterator[dict[str, object]]:
    """Typical parameters with every two numbers below zero, above it and around it: one of them may be a lower bound."""
    typical = case.subjects(1)[0].parameters
    numbers = [parameter.name for parameter in case.factory.parameters if parameter.kind == "number"]
    for one, other in itertools.combinations([name for name in numbers if name in typical], 2):
        for low, high in ((-2.0, -1.0), (-2.0, 1.0), (1.0, 2.0)):
            yield {**typical, one: low, other: high}


def _values(case: MechanismCase, subject: MechanismSubject, shape: tuple[int, ...] | None = None) -> list[Array]:
    """Fresh arrays of ordinary and odd magnitudes."""
    form = case.factory.shapes[-1] if shape is None else shape
    values = [np.array(value) for value in base_values(case, subject, form, 1.0)]
    if case.factory.values == "integers":
        values += [np.full(form, 10**6), np.full(form, -3)]
    elif case.factory.values == "categories":
        values += [np.ones(form, dtype=np.int64)]
    else:
        values += [np.full(form, -0.0), np.full(form, 5e-324), np.full(form, 1e9), np.full(form, -123.25)]
    return [value for value in values if _is_taken(case, subject, value)]


def _is_taken(case: MechanismCase, subject: MechanismSubject, value: Array) -> bool:
    """A mechanism may refuse large values; zero it must take."""
    try:
        subject.mechanism.release(value.copy(), case.rng(10))
    except ValueError:
        assert np.any(value != 0), "release refuses zero"
        return False
    return True


def bad_values(case: MechanismCase) -> list[Any]:
    """Values that should be refused, each with a canary in it."""
    shape = case.factory.shapes[-1]
    if case.factory.values in ("integers", "categories"):
        return [np.full(shape, CANARY), [INTEGER_CANARY, "x"], np.full(shape, INTEGER_CANARY), [[INTEGER_CANARY], [1, 2]]]
    spoilt = np.full(shape, CANARY)
    spoilt[(-1,) * len(shape)] = np.nan
    return [spoilt, np.full(shape, CANARY) * np.inf, [[CANARY], [CANARY, 1.0]], [CANARY, "x"], np.full((2, 3, 4), CANARY)]


def _state(subject: MechanismSubject) -> object:
    """Everything that the mechanism and its classes hold."""
    of_classes = [
        (kind.__qualname__, name, repr(item))
        for kind in type(subject.mechanism).__mro__
        if kind is not object
        for name, item in vars(kind).items()
        if not callable(item) and not name.startswith("__")
    ]
    return of_classes, _own_state(subject)


def _own_state(subject: MechanismSubject) -> object:
    """What the mechanism holds, as bytes; where it cannot be pickled, as a deep copy of its attributes."""
    try:
        return pickle.dumps(subject.mechanism)
    except Exception:  # noqa: BLE001 - a third party's class may refuse in any way
        names = [name for kind in type(subject.mechanism).__mro__ for name in getattr(kind, "__slots__", ())]
        held = {name: getattr(subject.mechanism, name, None) for name in names} | getattr(subject.mechanism, "__dict__", {})
        return copy.deepcopy({name: repr(item) for name, item in held.items()})


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
            alike = _answers(case, subject, value) == _answers(case, subject, neighbour)
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
        if _answers(case, subject, at_size(high)) or not _answers(case, subject, at_size(low)):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _answers(case, subject, at_size(middle)) else (low, middle)
        yield at_size(low), at_size(high)


def _whole(case: MechanismCase) -> bool:
    return case.factory.values == "integers"


def _answers(case: MechanismCase, subject: MechanismSubject, value: Array) -> bool:
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
