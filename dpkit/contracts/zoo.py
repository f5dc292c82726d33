"""What an entry of the audit's zoo declares: a mechanism whose claim is known to be false, or true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpkit.contracts.mechanism import WhiteBox
from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import nonempty_text
from dpkit.privacy.losses import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def __post_init__(self) -> None:
        nonempty_text(self.name, field="name", where="ZooEntry")
        where = f"ZooEntry({self.name})"
        nonempty_text(self.about, field="about", where=where)
        if not callable(self.sampler):
            allowed = "a function of (dataset, n, rng)"
            raise InvalidValueError(field="sampler", found=type(self.sampler).__name__, allowed=allowed, where=where)
        if not isinstance(self.claim, Loss):
            allowed = "a loss, such as PureDP(epsilon=1.0)"
            raise InvalidValueError(field="claim", found=type(self.claim).__name__, allowed=allowed, where=where)
        if not isinstance(self.pair, tuple) or len(self.pair) != 2:
            raise InvalidValueError(
                field="pair", found=type(self.pair).__name__, allowed="a tuple of two neighbouring datasets", where=where
            )
        if self.truth not in ("broken", "right"):
            raise InvalidValueError(field="truth", found=self.truth, allowed="'broken' or 'right'", where=where)
        named = self.falsifiers
        if named is not None and not (isinstance(named, tuple) and named and all(isinstance(one, str) for one in named)):
            raise InvalidValueError(field="falsifiers", found=named, allowed="None, or a tuple of names", where=where)

    @property
    def broken(self) -> bool:
        """Whether the claim is false."""
        return self.truth == "broken"
