"""What an entry of the audit's zoo declares: a mechanism whose claim is known to be false, or true."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpkit.contracts.mechanism import WhiteBox
from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import checked, function, instance_of, nonempty_text, one_of, or_none, tuple_of
from dpkit.privacy.losses import Loss
from dpkit.values import dataclass


def _pair(value: object, *, field: str, where: str) -> object:
    if not isinstance(value, tuple) or len(value) != 2:
        allowed = "a tuple of two neighbouring datasets"
        raise InvalidValueError(field=field, found=type(value).__name__, allowed=allowed, where=where)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(
    name=nonempty_text,
    about=nonempty_text,
    sampler=partial(function, allowed="a function of (dataset, n, rng)"),
    claim=partial(instance_of, kind=Loss, allowed="a loss, such as PureDP(epsilon=1.0)"),
    pair=_pair,
    truth=partial(one_of, options=("broken", "right")),
    falsifiers=or_none(partial(tuple_of, kind=str, allowed="None, or a tuple of names", least=1)),
)
class ZooEntry:
    """A sampler, a claim about it, two neighbouring datasets, and whether the claim is true.

    `sampler(dataset, n, rng)` returns n outputs along the first axis. `truth` is of the claim in the arithmetic named: an
    entry that is broken in floating point only is right otherwise. `falsifiers` names what the entry is there to exercise;
    None stands for the automatic choice. `about` says in words why the claim is false, or true.
    """

    name: str
    sampler: Callable[[Any, int, np.random.Generator], npt.ArrayLike]
    claim: Loss
    pair: tuple[object, object]
    truth: Literal["broken", "right"]
    about: str
    density: WhiteBox | None = None
    falsifiers: tuple[str, ...] | None = ("black box",)
    floating_point: bool = False

    @property
    def broken(self) -> bool:
        """Whether the claim is false."""
        return self.truth == "broken"
