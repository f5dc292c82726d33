"""Events as people type them: `1000 x gaussian(ratio=1.0) sampled at 0.01 + laplace(ratio=0.1)`.

    sum    := term { "+" term }
    term   := [ COUNT "x" ] single [ "sampled at" RATE ]
    single := NAME "(" [ KEY "=" value { "," KEY "=" value } ] ")"  |  "(" sum ")"
    value  := a number, `inf`, a word, `true` or `false`, or a sum

Numbers may have `_` between digits, and a `%` after them; a count may have commas between groups of three digits: `1,000 x
gaussian(ratio=1.0) sampled at 1%`. `x` may be `X`, `*` or `×`.

A name is that of an event class in small letters, without `Event`: `discrete-laplace` for `DiscreteLaplaceEvent`. Where a class
has a `ratio`, `noise_multiplier` may stand for it: its inverse, rounded up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction

from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import round_up
from dpkit.privacy import events
from dpkit.privacy.events import Compose, Event, Repeat, Subsample

_TOKENS = re.compile(
    r"\s*(?:(\d{1,3}(?:,\d{3})+(?=\s*[xX*×])|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:\s*%)?)|([A-Za-z][\w-]*)|(.))"
)
_TIMES = ("x", "X", "*", "×")
_LONGEST = 100_000
_DEEPEST = 50
EXAMPLE = "1000 x gaussian(ratio=1.0) sampled at 0.01"


def event_names(registry: Registry) -> Mapping[str, type[Event]]:
    """The classes of events that may be typed, by the names under which they are."""
    kinds = {rule.event for rule in registry.rules}
    core = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)]
    kinds.update(kind for kind in core if is_dataclass(kind))
    return {_small(kind.__name__.removesuffix("Event")): kind for kind in sorted(kinds, key=lambda kind: kind.__name__)}


def parse_event(text: str, *, registry: Registry) -> Event:
    """The event that a text describes; `InvalidValueError` says where it is not understood, and what is."""
    if len(text) > _LONGEST:
        raise InvalidValueError(field="event", found=f"{len(text)} characters", allowed=f"at most {_LONGEST}", where="price")
    return _Reader(text, event_names(registry)).whole()


def event_text(event: Event) -> str:
    """The text of an event, for readers. `parse_event` reads it back as an equal one, unless a field holds a list."""
    if type(event) is Compose and len(event.events) > 1:
        return " + ".join(_in_brackets(part, Compose) for part in event.events)
    if type(event) is Repeat:
        return f"{event.times} x {_in_brackets(event.event, Compose, Repeat)}"
    if type(event) is Subsample and event.at_most is None:
        return f"{_in_brackets(event.event, Compose, Repeat)} sampled at {event.rate!r}"
    assert is_dataclass(event)
    given = {part.name: getattr(event, part.name) for part in fields(event) if getattr(event, part.name) != part.default}
    inside = ", ".join(f"{name}={_value_text(value)}" for name, value in given.items())
    return f"{_small(type(event).__name__.removesuffix('Event'))}({inside})"


def _in_brackets(event: Event, *kinds: type[Event]) -> str:
    return f"({event_text(event)})" if type(event) in kinds else event_text(event)


def _value_text(value: object) -> str:
    if isinstance(value, Event):
        return event_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Reader:
    """One pass over the tokens of a text."""

    def __init__(self, text: str, known: Mapping[str, type[Event]]) -> None:
        self._tokens = [match.group(0).strip() for match in _TOKENS.finditer(text) if match.group(0).strip()]
        self._at, self._depth, self._known = 0, 0, known

    def whole(self) -> Event:
        found = self._sum()
        if self._at < len(self._tokens):
            raise self._wrong(self._next(), f"`+`, `sampled at` or the end{self._hint()}")
        return found

    def _hint(self) -> str:
        """What people mean by what was read last, where an event was over."""
        token = self._tokens[self._at - 1]
        if token in _TIMES:
            return "; a count stands before its event"
        hints = {"-": "; what was released cannot be taken away", ",": "; decimals have a point, as in 0.01"}
        return {**hints, "/": "; a rate is one number, as in 0.01 or 1%"}.get(token, "")

    def _sum(self) -> Event:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong("(", f"at most {_DEEPEST} brackets in each other")
        terms = [self._term()]
        while self._takes("+"):
            terms.append(self._term())
        self._depth -= 1
        return terms[0] if len(terms) == 1 else Compose(events=tuple(terms))

    def _term(self) -> Event:
        times = None
        if self._at + 1 < len(self._tokens) and self._tokens[self._at + 1] in _TIMES:
            times = self._whole_number()
            self._next()
        elif self._at < len(self._tokens) and not re.match(r"[A-Za-z(]", self._tokens[self._at]):
            raise self._no_term(self._next())
        found = self._single()
        while self._takes("sampled"):
            if not self._takes("at"):
                raise self._wrong(self._next(), "`at` and a rate, after `sampled`")
            self._takes("rate")
            found = Subsample(rate=self._number(), event=found)
        return found if times is None else Repeat(event=found, times=times)

    def _no_term(self, token: str) -> InvalidValueError:
        """Why neither a count nor an event begins here."""
        after = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if token == "-":
            return self._wrong(f"-{after}", "a whole number of times without a sign, or an event")
        if (token[:1].isdigit() and after[:1] in (",", ".")) or after[:1].isdigit():
            found = f"{token}{'' if after[:1] in (',', '.') else ' '}{after}"
            return self._wrong(found, "a count in one piece, as in 1000, 1_000 or 1,000, then `x` and an event")
        if token[:1].isdigit():
            return self._wrong(token, "a count followed by a blank, `x`, a blank and an event")
        return self._wrong(token, "a count and `x`, the name of an event, or `(`")

    def _single(self) -> Event:
        token = self._next("an event")
        if token == "(":
            found = self._sum()
            self._must(")")
            return found
        name = token.lower().replace("_", "-")
        if name not in self._known:
            near = get_close_matches(name, self._known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"For example: {EXAMPLE}"
            allowed = f"one of {', '.join(self._known)}"
            raise InvalidValueError(field="event", found=token, allowed=allowed, where="price", fix=hint)
        kind = self._known[name]
        self._must("(")
        given = self._arguments()
        names: list[str] = [part.name for part in fields(kind)] if is_dataclass(kind) else []
        if "ratio" in names and "noise_multiplier" in given and "ratio" not in given:
            given["ratio"] = ratio_of(given.pop("noise_multiplier"))
        try:
            return kind(**given)
        except TypeError:
            shown = f"given {', '.join(names)}{', or noise_multiplier for ratio' if 'ratio' in names else ''}"
            raise InvalidValueError(field=name, found=", ".join(given) or "nothing", allowed=shown, where="price") from None

    def _arguments(self) -> dict[str, object]:
        given: dict[str, object] = {}
        while not self._takes(")"):
            key = self._next("`)` or the name of a field")
            if not re.fullmatch(r"[A-Za-z]\w*", key):
                raise self._wrong(key, "the name of a field and its value, as in ratio=1.0")
            self._must("=")
            if key in given:
                raise self._wrong(key, "each field once")
            given[key] = self._value()
            if not self._takes(","):
                self._must(")")
                break
        return given

    def _value(self) -> object:
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if token.lower() in ("true", "false"):
            self._at += 1
            return token.lower() == "true"
        if token.lower() in ("inf", "infinity"):
            self._at += 1
            return math.inf
        after = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else ""
        if token[:1].isalpha() and after != "(":
            self._at += 1
            return token  # a word that a class chooses by, such as noise=laplace
        if token[:1].isalpha() or token == "(" or after in _TIMES:
            return self._sum()
        return self._whole_number() if re.fullmatch(r"[\d_]+", token) else self._number()

    def _number(self) -> float:
        token = self._next("a number")
        try:
            if token.endswith("%"):
                return float(Decimal(token[:-1].rstrip()).scaleb(-2))
            return float(token)
        except (ValueError, ArithmeticError):
            raise self._wrong(token, "a number without a sign, such as 0.01 or 1%") from None

    def _whole_number(self) -> int:
        token = self._next("a whole number")
        if re.search(r"[eE][+-]?\d{4}", token):
            raise self._wrong(token, "a whole number of fewer than 1000 digits")
        try:
            exact = Fraction(token.replace(",", ""))
        except (ValueError, ZeroDivisionError):
            raise self._wrong(token, "a whole number") from None
        if exact.denominator != 1:
            raise self._wrong(token, "a whole number")
        return exact.numerator

    def _next(self, wanted: str = "more") -> str:
        if self._at >= len(self._tokens):
            raise self._wrong("the end", wanted)
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at].lower() == token:
            self._at += 1
            return True
        return False

    def _must(self, token: str) -> None:
        found = self._next(f"`{token}`")
        if found != token:
            raise self._wrong(found, f"`{token}`")

    def _wrong(self, found: str, allowed: str) -> InvalidValueError:
        read = self._tokens[: self._at]
        if read and found.startswith(read[-1]):
            read = read[:-1]  # what is wrong itself
        place = " ".join(read[-4:])[-60:]
        fix = f"It comes after {place!r}. For example: {EXAMPLE}" if place else f"For example: {EXAMPLE}"
        return InvalidValueError(field="event", found=found[:60], allowed=allowed, where="price", fix=fix)


def ratio_of(noise_multiplier: object) -> float:
    """Sensitivity over scale from its inverse, rounded up."""
    if isinstance(noise_multiplier, bool) or not isinstance(noise_multiplier, int | float) or not noise_multiplier > 0.0:
        allowed = "a number > 0: without noise there is no guarantee"
        raise InvalidValueError(field="noise_multiplier", found=noise_multiplier, allowed=allowed, where="an event")
    if noise_multiplier == float("inf"):
        return 0.0
    return round_up(1 / Fraction(noise_multiplier))


def _small(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
