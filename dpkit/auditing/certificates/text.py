"""A certificate as text, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpkit.errors import visible
from dpkit.numerics.rounding import format_down, format_up, in_full

if TYPE_CHECKING:
    from dpkit.auditing.certificates.certificate import AuditCertificate

TITLES = {
    "real arithmetic": "the claim, in real arithmetic",
    "floating point": "the claim, of what runs in floating point",
    "declared law": "that the samples follow the declared law",
    "records": "that what was recorded adds up and is covered",
}


def power_in_words(certificate: AuditCertificate) -> str:
    """The violation, and the kind of event it is stated for: through rarer events only larger ones are found."""
    if certificate.power is None or certificate.power == math.inf:
        return "none"
    event = (
        ""
        if certificate.power_event is None
        else f", through an event of probability {format_up(certificate.power_event, digits=2)}"
    )
    return f"epsilon = {format_up(certificate.power, digits=4)} at that delta{event}"


def evidence_in_words(certificate: AuditCertificate) -> str:
    """The e-value, rounded down, and the one that refutes, rounded up."""
    proved = certificate.log_e_value == math.inf
    evidence = "proof" if proved else f"e-value {format_down(certificate.e_value, digits=4)}"
    return f"{evidence} from {certificate.samples} samples; refuted at {format_up(1.0 / certificate.level, digits=4)}"


def lower_bound_in_words(certificate: AuditCertificate) -> str:
    """What epsilon is at least, rounded down."""
    return f"epsilon >= {format_down(certificate.epsilon_lower)} at delta = {in_full(certificate.delta)}"


def as_text(certificate: AuditCertificate) -> str:
    """A dozen lines: verdict first, then why, then how to check it."""
    witness = certificate.witness
    lines = [
        f"{certificate.verdict.upper()}: {certificate.target}",
        f"  claim       {certificate.claim.loss} under {certificate.claim.neighbours} ({certificate.claim.because})",
        f"  tested      {TITLES[certificate.hypothesis]}, by: {', '.join(certificate.tried)}",
        f"  datasets    {witness.pair[0]}  against  {witness.pair[1]}",
    ]
    if witness.event:
        lines += [f"  event       {witness.event}", f"  as code     {witness.code}"]
    if witness.output:
        lines.append(f"  output      {list(witness.output)}")
    if witness.hits is not None:
        lines.append(f"  counted     {witness.hits[0]} against {witness.hits[1]} of {witness.trials} fresh samples each")
    lines.append(f"  evidence    {evidence_in_words(certificate)}")
    lines.append(f"  lower bound {lower_bound_in_words(certificate)}")
    if certificate.power is not None:
        lines.append(
            f"  power       smallest violation found with probability 0.95 (approximately): {power_in_words(certificate)}"
        )
    if certificate.note:
        lines.append(f"  note        {certificate.note}")
    software = ", ".join(f"{name} {version}" for name, version in certificate.software)
    lines.append(f"  confidence  {in_full(certificate.confidence)} over the whole audit; seed {certificate.seed}; {software}")
    return visible("\n".join(lines))
