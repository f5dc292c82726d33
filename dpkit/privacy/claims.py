"""What is claimed, on whose authority, and whether it stands; loss rules (an event costs a loss) and conversions of losses.

One theorem each. Plugins register their rules by hook.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

from dpkit.errors import InvalidValueError, LossOverflowError
from dpkit.privacy.checks import checked, function, instance_of, nonempty_text, one_of, or_none, tuple_of
from dpkit.privacy.events import ApproxEvent, Event, PureEvent, ZCDPEvent
from dpkit.privacy.losses import ZCDP, ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import EITHER, Neighbours
from dpkit.values import dataclass

Status = Literal["proved", "refuted", "unproved"]
STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(key=nonempty_text, locator=nonempty_text)
class Citation:
    """Where a theorem stands: a key of docs/references.md (or of the plugin's own list) and a place in it."""

    key: str
    locator: str

    def __str__(self) -> str:
        return f"{self.key}, {self.locator}"


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(
    loss=partial(instance_of, kind=Loss, allowed="a privacy loss such as PureDP(epsilon=1.0)"),
    neighbours=partial(instance_of, kind=Neighbours, allowed="a Neighbours member"),
    because=partial(instance_of, kind=Citation, allowed="a Citation"),
    assuming=partial(tuple_of, kind=str, allowed="a tuple of strings"),
    status=partial(one_of, options=STATUSES),
)
class Claim:
    """`loss` bounds the mechanism under `neighbours`, because of a citation, assuming what `assuming` lists."""

    loss: Loss
    neighbours: Neighbours
    because: Citation
    assuming: tuple[str, ...] = ()
    status: Status = "proved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """`apply` turns a `source` loss into a `target` loss that it implies; sound in this direction only."""

    name: str
    source: type[Loss]
    target: type[Loss]
    because: Citation
    apply: Callable[..., Loss]


def finite(value: float, *, notion: str) -> float:
    """The value, or an error when the loss is too large to be a number."""
    if not math.isfinite(value):
        raise LossOverflowError(notion=notion)
    return value


def _subclass(value: object, base: type, *, field: str, where: str) -> object:
    if not (isinstance(value, type) and issubclass(value, base)):
        raise InvalidValueError(field=field, found=value, allowed=f"a subclass of {base.__name__}", where=where)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(
    name=nonempty_text,
    event=partial(_subclass, base=Event),
    loss=partial(_subclass, base=Loss),
    neighbours=partial(tuple_of, kind=Neighbours, allowed="Neighbours members, at least one", least=1),
    status=partial(one_of, options=STATUSES),
    because=partial(instance_of, kind=Citation, allowed="a Citation"),
    bound=partial(function, allowed="a function of the event"),
    attained=or_none(partial(function, allowed="a function of the event")),
)
class LossRule:
    """`bound(event)` is a loss of type `loss` that the event keeps within, under each of `neighbours`.

    The rule speaks of events of exactly this class. `bound` returns None where the theorem does not apply to this
    particular event (a subsample of something else, say).
    Accountants use proved rules only; another one prices only where the caller accepts it by name.
    `attained(event)` says whether the worst pair of that loss is the very pair of some mechanism and neighbours that the event
    speaks of: only then is a lower bound on the pair one on the event. A rule that does not say so gives upper bounds alone.
    """

    name: str
    event: type[Event]
    loss: type[Loss]
    neighbours: tuple[Neighbours, ...]
    because: Citation
    status: Status = "proved"
    bound: Callable[..., Loss | None]
    attained: Callable[..., bool] | None = None

    def is_attained(self, event: Event) -> bool:
        """Whether the bound is attained for this event; never where the rule does not say so."""
        return self.attained is not None and self.attained(event) is True


def always(event: Event) -> bool:
    """For rules that are attained by every event of their kind."""
    return True


def rule(
    name: str,
    event: type[Event],
    loss: type[Loss],
    cited: tuple[str, str],
    bound: Callable[..., Loss | None],
    *,
    neighbours: tuple[Neighbours, ...] = EITHER,
    attained: Callable[..., bool] | None = None,
) -> LossRule:
    """A proved rule of dpkit's own, as one line of a table: `cited` is a key and a place; under either relation by default."""
    because = Citation(key=cited[0], locator=cited[1])
    return LossRule(name=name, event=event, loss=loss, neighbours=neighbours, because=because, bound=bound, attained=attained)


_BY_DEFINITION = "the event states its own loss"

CORE_RULES: tuple[LossRule, ...] = (
    # attained by randomised response (KOV15, Theorem 3.1)
    rule(
        "pure-event",
        PureEvent,
        PureDP,
        ("DMNS06", _BY_DEFINITION),
        lambda event: PureDP(epsilon=event.epsilon),
        attained=always,
    ),
    # delta = 0 is the pure case, and is priced as such
    rule(
        "approximate-event",
        ApproxEvent,
        ApproxDP,
        ("DKMMN06", _BY_DEFINITION),
        lambda event: ApproxDP(epsilon=event.epsilon, delta=event.delta) if event.delta else None,
        attained=always,
    ),
    rule(
        "approximate-event-without-delta",
        ApproxEvent,
        PureDP,
        ("DKMMN06", "delta = 0 is the pure case"),
        lambda event: None if event.delta else PureDP(epsilon=event.epsilon),
        attained=always,
    ),
    rule("zcdp-event", ZCDPEvent, ZCDP, ("BS16", _BY_DEFINITION), lambda event: ZCDP(rho=event.rho)),
)
