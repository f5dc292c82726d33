"""The auditor interface: one way of trying to falsify a claim. Plugins add theirs by hook."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import nonempty_text, whole_number
from dpkit.privacy.claims import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What an auditor found: an event in words and as code, and how strongly it speaks against the claim.

    `log_e_value` is ln of an e-value (of mean at most 1 where the claim holds), or -ln of a p-value; infinity is proof. The
    runner compares it with the auditor's share of the error probability, so that no auditor decides on a verdict itself.
    """

    words: str
    log_e_value: float
    code: str = ""
    samples: int = 0

    def __post_init__(self) -> None:
        nonempty_text(self.words, field="words", where="Evidence")
        whole_number(self.samples, field="samples", where="Evidence", minimum=0)
        if not isinstance(self.log_e_value, int | float) or math.isnan(self.log_e_value):
            raise InvalidValueError(field="log_e_value", found=self.log_e_value, allowed="a number", where="Evidence")


@runtime_checkable
class Auditor(Protocol):
    """Tries to break a claim about a target at one pair of neighbours, and says what it found."""

    @property
    def name(self) -> str:
        """Unique among auditors."""
        ...

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
        ...
