"""Replay: run an audit again from the seed of its certificate, and see whether it says the same."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

from dpkit.auditing.certificate import AuditCertificate
from dpkit.auditing.outputs import Sampler
from dpkit.auditing.runner import audit
from dpkit.core.distances import Distance
from dpkit.core.mechanism import Mechanism, WhiteBox
from dpkit.errors import InvalidValueError

_IGNORED = ("software", "digest", "note", "budget")
_MECHANISMS = {
    "Laplace": "laplace",
    "Gaussian": "gaussian",
    "SymmetricGaussian": "symmetric_gaussian",
    "DiscreteLaplace": "discrete",
    "DiscreteGaussian": "discrete",
    "Exponential": "exponential",
    "RandomizedResponse": "randomized_response",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Whether the rerun gave the same certificate, and the fields in which it did not."""

    confirmed: bool
    differences: tuple[str, ...]
    certificate: AuditCertificate | None


def replay(
    certificate: AuditCertificate,
    target: Sampler | Mechanism | None = None,
    pair: tuple[object, object] | None = None,
    *,
    density: WhiteBox | None = None,
    falsifiers: Sequence[str] | None = None,
) -> Replay:
    """Audit again with the same seed, budget and confidence; everything but software versions must be the same.

    A mechanism of dpkit and an entry of the zoo are found by what the certificate calls them; anything else, and the pair of
    datasets of a function, must be given, with whatever else was passed to `audit`. A certificate whose seal does not fit is
    not confirmed.
    """
    if not certificate.intact:
        return Replay(confirmed=False, differences=("digest",), certificate=None)
    again = _rerun(certificate, target, pair, density, falsifiers)
    same = [one for one in again if (one.hypothesis, one.claim, one.witness.pair) == _key(certificate)]
    if not same:
        return Replay(confirmed=False, differences=("no such certificate",), certificate=None)
    different = [
        part.name
        for part in fields(certificate)
        if part.name not in _IGNORED and getattr(certificate, part.name) != getattr(same[0], part.name)
    ]
    return Replay(confirmed=not different, differences=tuple(different), certificate=same[0])


def _key(certificate: AuditCertificate) -> tuple[object, object, object]:
    return certificate.hypothesis, certificate.claim, certificate.witness.pair


def _rerun(
    certificate: AuditCertificate,
    target: Sampler | Mechanism | None,
    pair: tuple[object, object] | None,
    density: WhiteBox | None,
    falsifiers: Sequence[str] | None,
) -> list[AuditCertificate]:
    # a run that was cut short by time is run again for as many samples as it had
    if certificate.hypothesis == "records":
        return [_of_records(certificate)]
    samples = certificate.samples if "time" in certificate.note else certificate.budget
    if target is None and certificate.target.startswith("zoo:"):
        from dpkit.auditing.zoo import entry_named

        entry = entry_named(certificate.target.removeprefix("zoo:"))
        return entry.audits(confidence=certificate.confidence, samples=samples, rng=certificate.seed)
    name, _, place = certificate.target.partition(" at ")
    found = resolved(name) if target is None else target
    own = isinstance(found, Mechanism)
    return audit(
        found,
        None if own and certificate.claim.because.key != "caller" else certificate.claim,
        pair if own or pair is not None else _literal_pair(certificate),
        certificate.confidence,
        samples,
        certificate.seed,
        at=distance_of(place),
        density=density,
        falsifiers=falsifiers,
        floating_point=None if own else certificate.floating_point,
        name=certificate.target,
    )


def _of_records(certificate: AuditCertificate) -> AuditCertificate:
    from dpkit.auditing.records import audit_file

    kind, _, path = certificate.target.partition(":")
    if kind not in ("ledger", "trace"):
        raise InvalidValueError(field="target", found=kind, allowed="the file of a ledger or a trace", where="replay")
    return audit_file(path)


def _literal_pair(certificate: AuditCertificate) -> tuple[object, object]:
    """The datasets, where the certificate shows them whole."""
    try:
        one, two = (ast.literal_eval(text) for text in certificate.witness.pair)
    except (ValueError, SyntaxError):
        raise InvalidValueError(
            field="pair", found=None, allowed="the two datasets, which the certificate does not hold", where="replay"
        ) from None
    return one, two


def resolved(name: str) -> Sampler | Mechanism:
    """A mechanism of dpkit as it writes itself, or a function by its import path."""
    made = re.fullmatch(r"(\w+)\((.*)\)", name)
    if made and made.group(1) in _MECHANISMS:
        call = ast.parse(name, mode="eval").body
        assert isinstance(call, ast.Call)
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
        module = importlib.import_module(f"dpkit.mechanisms.{_MECHANISMS[made.group(1)]}")
        mechanism: Mechanism = getattr(module, made.group(1))(**arguments)
        return mechanism
    raise InvalidValueError(
        field="target", found=name, allowed="the function or mechanism that was audited", where="replay", fix="Pass target=..."
    )


def distance_of(text: str) -> Distance | None:
    """A distance as it is written in a certificate, such as l1(1.0)."""
    found = re.fullmatch(r"(\w+)\(([^)]*)\)", text)
    return None if found is None else Distance(metric=found.group(1), value=float(found.group(2)))
