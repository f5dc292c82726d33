"""The auditor interface: one way of trying to falsify a claim. Plugins add theirs by hook."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import checked, nonempty_text, whole_number
from dpkit.privacy.claims import Claim
from dpkit.values import dataclass


def _no_nan(value: object, *, field: str, where: str) -> float:
    if not isinstance(value, int | float) or math.isnan(value):
        raise InvalidValueError(field=field, found=value, allowed="a number", where=where)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(words=nonempty_text, samples=whole_number, log_e_value=_no_nan)
class Evidence:
    """What an auditor found: an event in words and as code, and how strongly it speaks against the claim.

    `log_e_value` is ln of an e-value (of mean at most 1 where the claim holds), or -ln of a p-value; infinity is proof. The
    runner compares it with the auditor's share of the error probability, so that no auditor decides on a verdict itself.
    """

    words: str
    log_e_value: float
    code: str = ""
    samples: int = 0


@runtime_checkable
class Auditor(Protocol):
    """Tries to break a claim about a target at one pair of neighbours, and says what it found."""

    @property
    def name(self) -> str:
        """Unique among auditors."""

    def falsify(
        self,
        target: object,
        claim: Claim,
        pair: tuple[object, object],
        *,
        samples: int,
        alpha: float,
        rng: np.random.Generator,
    ) -> Evidence | None:
        """The evidence at this pair; None where this auditor has nothing to say about such a target or claim.

        `target` is a mechanism, or a function of (dataset, n, rng) that returns n outputs. At most `samples` are drawn, both
        sides together, from `rng` alone, so that a replay finds the same. Where the claim holds, `log_e_value` reaches
        -ln(alpha) with probability at most `alpha`, which is this auditor's share at this pair.
        """
