"""What is claimed, on whose authority, and whether it stands; and the shape of a theorem that turns one loss into another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from dpkit.errors import LossOverflowError
from dpkit.privacy.checks import checked, instance_of, nonempty_text, one_of, tuple_of
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours

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
