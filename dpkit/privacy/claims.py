"""What is claimed, on whose authority, and whether it stands; and the shape of a theorem that turns one loss into another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from dpkit.errors import LossOverflowError
from dpkit.privacy.checks import instance_of, nonempty_text, one_of, tuple_of
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours

Status = Literal["proved", "refuted", "unproved"]
STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where a theorem stands: a key of docs/references.md (or of the plugin's own list) and a place in it."""

    key: str
    locator: str

    def __post_init__(self) -> None:
        nonempty_text(self.key, field="key", where="Citation")
        nonempty_text(self.locator, field="locator", where="Citation")

    def __str__(self) -> str:
        return f"{self.key}, {self.locator}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`loss` bounds the mechanism under `neighbours`, because of a citation, assuming what `assuming` lists."""

    loss: Loss
    neighbours: Neighbours
    because: Citation
    assuming: tuple[str, ...] = ()
    status: Status = "proved"

    def __post_init__(self) -> None:
        instance_of(self.loss, Loss, field="loss", where="Claim", allowed="a privacy loss such as PureDP(epsilon=1.0)")
        instance_of(self.neighbours, Neighbours, field="neighbours", where="Claim", allowed="a Neighbours member")
        instance_of(self.because, Citation, field="because", where="Claim", allowed="a Citation")
        assuming = tuple_of(self.assuming, str, field="assuming", where="Claim", allowed="a tuple of strings")
        object.__setattr__(self, "assuming", assuming)
        one_of(self.status, STATUSES, field="status", where="Claim")


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
