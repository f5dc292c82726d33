"""The audit engine on the mechanisms of a plugin, at typical parameters and hard pairs: a law, and `dpkit audit NAME`."""

from __future__ import annotations

from dpkit.auditing.audit import audit
from dpkit.auditing.betting.campaign import Watch
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.errors import InvalidValueError
from dpkit.privacy.claims import Claim
from dpkit.privacy.losses import GDP, ApproxDP, PureDP
from dpkit.testing.mechanism_cases import MechanismCase, MechanismSubject, pairs_at
from dpkit.testing.run_laws import LawNotApplicable

CONFIDENCE = 1.0 - 1e-9
"""Of the law: a kit that runs in every plugin's CI must not raise a false alarm in anybody's lifetime."""
_SAMPLES, _PAIRS, _SUBJECTS, _CLAIMS = 1_000, 2, 2, 1
_SHARPEST = (PureDP, GDP, ApproxDP)
"""Notions whose profile is tested exactly where it is claimed; of several claims these are the first to fall."""
_CHECKS = ("exact_profile", "exact_enumeration")
"""Accountants have laws of their own."""


def claims_survive_the_audit(case: MechanismCase) -> None:
    """No falsifier of `dpkit.audit` refutes a claim at the hardest pairs that are known; registered pairs go first."""
    asked = 0
    for index, subject in enumerate(case.subjects(_SUBJECTS)[:_SUBJECTS]):
        found = audit_subject(case, subject, confidence=CONFIDENCE, samples=_SAMPLES, seed=case.seed + 31 * index, most=_CLAIMS)
        asked += len(found)
        for one in found:
            assert not one.refuted, f"with parameters {subject.parameters}: {one}"
    if not asked:
        raise LawNotApplicable("no claim of it can be audited at a typical distance")


def audit_subject(
    case: MechanismCase,
    subject: MechanismSubject,
    *,
    confidence: float,
    samples: int,
    seed: int,
    most: int | None = None,
    time: float | None = None,
    watch: Watch | None = None,
) -> list[AuditCertificate]:
    """Certificates for the proved claims of one mechanism (the `most` sharpest), at the distance where it costs about 1.

    The error probability is split over the claims. A loss that is claimed under both relations is audited once.
    """
    at = case.distance(subject)
    claims = _sharpest_first(case.claims(subject.mechanism, at))[:most] if at.value else []
    level = 1.0 - (1.0 - confidence) / max(1, len(claims))
    found: list[AuditCertificate] = []
    for place, claim in enumerate(claims):
        try:
            found += audit(
                subject.mechanism,
                claim,
                confidence=level,
                samples=samples,
                rng=seed + place,
                at=at,
                pairs=pairs_at(case, subject, at, claim, most=_PAIRS),
                checks=_CHECKS,
                # what rounding decides is tested once, and has nothing to do with which claim it is
                floating_point=None if place == 0 else False,
                time=time,
                watch=watch,
                registry=case.registry,
            )
        except InvalidValueError as error:
            if error.field != "claim":  # a loss without a profile that the engine reads
                raise
    return found


def _sharpest_first(claims: list[Claim]) -> list[Claim]:
    unique = list({repr(claim.loss): claim for claim in claims}.values())
    return sorted(unique, key=lambda claim: not isinstance(claim.loss, _SHARPEST))
