"""dpkit's own falsifiers, as the hook `dpkit_auditors` registers them: names first, code when an audit runs.

An audit asks each auditor of the registry. Those of this kind have a `stage` and take part together: exact ones come first,
because they draw nothing; those that sample share one stream, and the average of their e-values decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpkit.contracts.auditor import Auditor, Evidence
from dpkit.privacy.claims import Claim

if TYPE_CHECKING:
    from dpkit.auditing.betting.campaign import Finding
    from dpkit.auditing.betting.processes import Process
    from dpkit.auditing.outputs import Source
    from dpkit.auditing.subject import Subject

Stage = Literal["exact", "law", "density", "samples", "rounding"]
"""`exact` draws nothing; `law` tests samples against the declared law; `density` bets with it; `samples` bets without it;
`rounding` bets on what floating point decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Falsifier:
    """A falsifier that takes part in the campaign of an audit at its stage. `make(subject)` gives its finding or process."""

    name: str
    stage: Stage
    make: Callable[..., Any]

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


def own(auditors: Sequence[Auditor]) -> tuple[Falsifier, ...]:
    """The auditors that take part in the campaign."""
    return tuple(auditor for auditor in auditors if isinstance(auditor, Falsifier))


def others(auditors: Sequence[Auditor]) -> tuple[Auditor, ...]:
    """The auditors that are asked one by one, each at its share."""
    return tuple(auditor for auditor in auditors if not isinstance(auditor, Falsifier))


def _exact_profile(subject: Subject) -> Finding | None:
    from dpkit.auditing.falsifiers.exact import exact_profile

    return exact_profile(subject)


def _exact_enumeration(subject: Subject) -> Finding | None:
    from dpkit.auditing.falsifiers.exact import exact_enumeration

    return exact_enumeration(subject)


def _accountants_agree(subject: Subject) -> Finding | None:
    from dpkit.auditing.falsifiers.exact import accountants_agree

    return accountants_agree(subject)


def _noise_law(subject: Subject, source: Source) -> Process | None:
    from dpkit.auditing.falsifiers.noise_law import noise_law_of

    return noise_law_of(subject, source)


def _support(subject: Subject) -> Process:
    from dpkit.auditing.falsifiers.support import Support

    return Support(subject)


def _white_box(subject: Subject) -> Process:
    from dpkit.auditing.falsifiers.white_box import LikelihoodRatio

    return LikelihoodRatio(subject)


def _black_box(subject: Subject) -> Process:
    from dpkit.auditing.falsifiers.black_box import BlackBox

    return BlackBox(subject.points, subject.pair, delta=subject.delta)


def _floating_point(subject: Subject) -> Process:
    from dpkit.auditing.falsifiers.floating_point import FloatingPoint

    return FloatingPoint(subject)


FALSIFIERS: tuple[Falsifier, ...] = (
    Falsifier(name="exact profile", stage="exact", make=_exact_profile),
    Falsifier(name="exact enumeration", stage="exact", make=_exact_enumeration),
    Falsifier(name="accountants agree", stage="exact", make=_accountants_agree),
    Falsifier(name="noise law", stage="law", make=_noise_law),
    Falsifier(name="support", stage="density", make=_support),
    Falsifier(name="white box", stage="density", make=_white_box),
    Falsifier(name="black box", stage="samples", make=_black_box),
    Falsifier(name="floating point", stage="rounding", make=_floating_point),
)
"""Cheapest first."""
