"""Where epsilon went: which theorem priced which part, each part's share, and what other accountants would have said."""

from __future__ import annotations

import math
from dataclasses import field
from functools import cached_property

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_up, in_full
from dpkit.pricing.assess import assess
from dpkit.privacy.claims import Citation, Status
from dpkit.privacy.events import Event, Nesting, Parallel, flatten
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

_SHOWN = 20
"""How many parts are printed one by one; the rest are summed up. The value holds them all."""

_LONGEST = 80
"""How much of an event's text is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One part of the composition in words."""

    event: str
    times: int
    rule: str
    conversion: str | None
    because: tuple[Citation, ...]
    status: Status
    share: float


@dataclass(frozen=True, kw_only=True)  # without slots: other accountants are asked once, and only where somebody looks
class Explanation:
    """An explanation at one delta; `str()` of it is for people, its fields are for programs."""

    accountant: str
    neighbours: Neighbours
    delta: float
    epsilon: float
    because: Citation
    note: str
    lines: tuple[Line, ...]
    unsound: tuple[str, ...]
    guarantee: Guarantee = field(repr=False, compare=False)

    @property
    def others(self) -> tuple[tuple[str, float], ...]:
        """What every other accountant of the registry would have said, where it can price the event."""
        return self._compared[0]

    @property
    def refused(self) -> tuple[str, ...]:
        """The accountants that cannot price it."""
        return self._compared[1]

    @cached_property
    def _compared(self) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...]]:
        guarantee, priced, refused = self.guarantee, [], []
        if guarantee.registry is None or guarantee.event is None:
            return (), ()
        for other in guarantee.registry.accountants:
            if other.name != self.accountant:
                try:
                    priced.append((other.name, _priced_by(other, guarantee).epsilon(delta=self.delta)))
                except DpkitError:
                    refused.append(other.name)
        return tuple(priced), tuple(refused)

    @property
    def unused(self) -> tuple[str, ...]:
        """The rules about these events that were not asked, because they are somebody else's and were not accepted."""
        registry = self.guarantee.registry
        if registry is None:
            return ()
        kinds = [kind for part in self.guarantee.parts for kind in _kinds(part.event)]
        found = [words for kind in kinds for words in registry.unused_rules(kind)]
        return tuple(dict.fromkeys(words for words in found if words.split(":", 1)[0] not in self.unsound))

    @property
    def best(self) -> tuple[str, float]:
        """The accountant with the smallest epsilon here, and that epsilon."""
        return min(((self.accountant, self.epsilon), *self.others), key=lambda pair: pair[1])

    @property
    def excess(self) -> float:
        """How far this epsilon is above the best accountant's, relatively: 0 when it is the best."""
        best = self.best[1]
        if self.epsilon == best:
            return 0.0
        return self.epsilon / best - 1.0 if best > 0.0 else math.inf

    def __contains__(self, text: str) -> bool:
        return text in str(self)

    def __str__(self) -> str:
        return "\n".join(self._text())

    def _text(self) -> list[str]:
        note = f" ({self.note})" if self.note else ""
        lines = [
            f"epsilon = {format_up(self.epsilon)} at delta = {in_full(self.delta)}, {self.neighbours}, "
            f"accountant {self.accountant!r}",
            f"  read by {self.because}{note}",
        ]
        if self.unsound:
            lines.append(f"  THIS GUARANTEE DOES NOT HOLD: it relies on {', '.join(self.unsound)}.")
        for line in self.lines[:_SHOWN]:
            via = f" via {line.conversion}" if line.conversion else ""
            flag = "" if line.status == "proved" else f" [{line.status}]"
            cited = "; ".join(str(citation) for citation in line.because)
            lines.append(f"  {line.share:7.2%}  {line.times} x {line.event}: {line.rule}{via}{flag} ({cited})")
        if len(self.lines) > _SHOWN:
            rest = self.lines[_SHOWN:]
            lines.append(f"  {sum(line.share for line in rest):7.2%}  {len(rest)} more parts")
        if self.others:
            listed = ", ".join(f"{name} {format_up(epsilon)}" for name, epsilon in self.others)
            lines.append(f"  other accountants: {listed}")
        if self.refused:
            lines.append(f"  cannot price it: {', '.join(self.refused)}")
        lines += [f"  rule not used: {words}" for words in self.unused]
        name, epsilon = self.best
        if self.excess > 0.0:
            lines.append(f"  the best is {name!r} with {format_up(epsilon)}: this answer is {self.excess:.2%} above it")
        else:
            lines.append("  no accountant here is better")
        return lines


def explain(guarantee: Guarantee, *, delta: float) -> Explanation:
    """Explain a guarantee at one delta, by the parts that its accountant was priced by, or the one that it chose."""
    accountant = guarantee.accountant
    reading = accountant.explained_reading(guarantee.state, delta=delta)
    chosen = accountant.explained_by(guarantee.state, delta=delta)
    is_own = chosen == accountant or guarantee.registry is None or guarantee.event is None
    source = guarantee if is_own else _priced_by(chosen, guarantee)
    totals = [source.accountant.repeat(part.state, part.times) for part in source.parts]
    shares = source.accountant.shares(totals, source.state, delta=delta)
    lines = tuple(
        Line(
            event=text if len(text := repr(part.event)) <= _LONGEST else f"{text[: _LONGEST - 3]}...",
            times=part.times,
            rule=part.rule,
            conversion=part.conversion,
            because=part.because,
            status=part.status,
            share=share,
        )
        for part, share in zip(source.parts, shares, strict=True)
    )
    return Explanation(
        accountant=accountant.name,
        neighbours=guarantee.neighbours,
        delta=delta,
        epsilon=reading.epsilon,
        because=reading.because,
        note=reading.note,
        lines=tuple(sorted(lines, key=lambda line: -line.share)),
        unsound=guarantee.unsound,
        guarantee=guarantee,
    )


def _kinds(event: Event) -> list[type[Event]]:
    """The class of an event, and of those that it is made of."""
    inner = event.events if isinstance(event, Parallel) else (event.event,) if isinstance(event, Nesting) else ()
    return [type(event), *(kind for part in inner for leaf in flatten(part) for kind in _kinds(leaf))]


def _priced_by(accountant: AnyAccountant, guarantee: Guarantee) -> Guarantee:
    """The same event under the same relation, priced by another accountant."""
    assert guarantee.event is not None
    assert guarantee.registry is not None
    return assess(
        guarantee.event,
        accountant=accountant,
        registry=guarantee.registry,
        neighbours=guarantee.neighbours,
        accept=frozenset(guarantee.unsound),
    )
