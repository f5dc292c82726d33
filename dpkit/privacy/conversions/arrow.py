"""The shape of a conversion: one theorem that turns a loss of one notion into a loss of another, with its source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpkit.errors import LossOverflowError
from dpkit.privacy.claims import Citation
from dpkit.privacy.losses import Loss


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
