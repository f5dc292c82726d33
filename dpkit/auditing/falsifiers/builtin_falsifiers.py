"""dpkit's own falsifiers, as the hook `dpkit_auditors` registers them: names first, code when an audit runs.

An audit asks each auditor of the registry. Those of this kind have a `stage` and take part together: exact ones come first,
because they draw nothing; those that sample share one stream, and the average of their e-values decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpkit.contracts.auditor import Auditor, Evidence
from dpkit.privacy.claims import Claim
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.auditing.claim_at_pair import ClaimAtPair
    from dpkit.auditing.draw_outputs import PairOutputs

Stage = Literal["exact", "law", "density", "samples", "rounding"]
"""`exact` draws nothing; `law` tests samples against the declared law; `density` bets with it; `samples` bets without it;
`rounding` bets on what floating point decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Falsifier:
    """A falsifier that takes part in the campaign of an audit at its stage; `code` names its module here and a function."""

    name: str
    stage: Stage
    code: str

    def make(self, subject: ClaimAtPair, *source: PairOutputs) -> Any:
        """Its finding about a subject at the stage `exact`, else its process; None where it does not suit the subject."""
        module, _, function = self.code.partition(":")
        return getattr(import_module(f"dpkit.auditing.falsifiers.{module}"), function)(subject, *source)

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
        """This falsifier alone: an audit in which no other takes part."""
        from dpkit.auditing.audit import audit

        rounding = self.stage == "rounding"
        judged: Any = target
        found = audit(judged, claim, pair, 1.0 - alpha, samples, rng, falsifiers=(self.name,), floating_point=rounding)
        refuting = [certificate for certificate in found if certificate.refuted]
        if not refuting:
            return None
        worst = refuting[0]
        # the audit refutes at its level, which is within alpha
        strength = max(worst.log_e_value, -math.log(alpha))
        return Evidence(words=worst.witness.event or worst.falsifier, log_e_value=strength, samples=worst.samples)


def others(auditors: Sequence[Auditor]) -> tuple[Auditor, ...]:
    """The auditors that are asked one by one, each at its share."""
    return tuple(auditor for auditor in auditors if not isinstance(auditor, Falsifier))


FALSIFIERS: tuple[Falsifier, ...] = (
    Falsifier(name="exact profile", stage="exact", code="exact:exact_profile"),
    Falsifier(name="exact enumeration", stage="exact", code="exact:exact_enumeration"),
    Falsifier(name="accountants agree", stage="exact", code="exact:accountants_agree"),
    Falsifier(name="noise law", stage="law", code="noise_law:noise_law_of"),
    Falsifier(name="support", stage="density", code="support:Support"),
    Falsifier(name="white box", stage="density", code="white_box:LikelihoodRatio"),
    Falsifier(name="black box", stage="samples", code="black_box:BlackBox"),
    Falsifier(name="floating point", stage="rounding", code="floating_point:FloatingPoint"),
)
"""Cheapest first."""
