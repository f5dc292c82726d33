"""Replay: run an audit again from the seed of its certificate, and see whether it says the same."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from dpkit.auditing.audit import audit
from dpkit.auditing.certificates.certificate import AuditCertificate, Witness
from dpkit.auditing.certificates.recipe import decode_distance, decode_pairs, made_mechanism, read_recipe
from dpkit.auditing.draw_outputs import Sampler
from dpkit.auditing.falsifiers.builtin_falsifiers import others
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError
from dpkit.hooks.manager import default_registry

_IGNORED = ("software", "digest", "note", "budget", "recipe")


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
    registry: Registry | None = None,
) -> Replay:
    """Audit again with the same seed, budget and confidence; everything but software versions must be the same.

    Mechanisms and algorithms that the registry can make, entries of the zoo, ledgers and traces are found by the certificate
    alone. A function must be given, and so must its datasets or its density where a text cannot hold them: the error says
    which. A certificate whose seal does not fit is not confirmed.
    """
    if not certificate.intact:
        return Replay(confirmed=False, differences=("digest",), certificate=None)
    known = default_registry() if registry is None else registry
    again = _rerun(certificate, target, pair, density, falsifiers, known)
    key = (certificate.hypothesis, certificate.claim, certificate.witness.pair)
    same = [one for one in again if (one.hypothesis, one.claim, one.witness.pair) == key]
    if not same:
        return Replay(confirmed=False, differences=("no such certificate",), certificate=None)
    different = [
        part.name
        for part in fields(certificate)
        if part.name not in _IGNORED and _compared(certificate, part.name) != _compared(same[0], part.name)
    ]
    return Replay(confirmed=not different, differences=tuple(different), certificate=same[0])


def _compared(certificate: AuditCertificate, name: str) -> object:
    """A field as replays compare it: of the witness everything but its words, which later versions may choose better."""
    value: object = getattr(certificate, name)
    return replace(value, event="") if isinstance(value, Witness) else value


def function_path(certificate: AuditCertificate) -> str | None:
    """The import path of the function that was audited; None where it was something else, or is found by a name."""
    if certificate.target.startswith("zoo:"):
        return None
    described = read_recipe(certificate.recipe).get("target")
    return str(described["function"]) if isinstance(described, dict) and "function" in described else None


def _rerun(
    certificate: AuditCertificate,
    target: Sampler | Mechanism | None,
    pair: tuple[object, object] | None,
    density: WhiteBox | None,
    falsifiers: Sequence[str] | None,
    registry: Registry,
) -> list[AuditCertificate]:
    # a run that was cut short by time is run again for as many samples as it had
    samples = certificate.samples if "time" in certificate.note else certificate.budget
    recipe = read_recipe(certificate.recipe)
    described = recipe.get("target")
    if isinstance(described, dict) and "algorithm" in described and target is None:
        from dpkit.auditing.algorithms.transcripts import rerun_algorithm

        return rerun_algorithm(described, certificate, samples=samples, registry=registry)
    if certificate.hypothesis == "records":
        from dpkit.auditing.falsifiers.runs_and_ledgers import audit_file

        kind, _, path = certificate.target.partition(":")
        if kind not in ("ledger", "trace"):
            raise InvalidValueError(field="target", found=kind, allowed="the file of a ledger or a trace", where="replay")
        return [audit_file(path)]
    if target is None and certificate.target.startswith("zoo:"):
        from dpkit.auditing.zoo import entry_named

        entry = entry_named(certificate.target.removeprefix("zoo:"), registry)
        return entry.audits(confidence=certificate.confidence, samples=samples, rng=certificate.seed)
    missing = sorted(set(recipe.get("auditors") or ()) ^ {auditor.name for auditor in others(registry.auditors)})
    if recipe and recipe.get("falsifiers") is None and missing:
        raise InvalidValueError(
            field="plugins", found=f"other auditors than took part ({', '.join(missing)})", where="replay",
            allowed="the plugins whose auditors shared the error probability",
            fix="Install the plugins that the audit was run with, and no other auditors.",
        )  # fmt: skip
    checks = recipe.get("checks")
    claim = None if recipe.get("claim") == "own" else certificate.claim
    return audit(
        _target(certificate, described, registry) if target is None else target, claim, None, certificate.confidence, samples,
        certificate.seed, at=decode_distance(recipe.get("at")),
        pairs=_pairs(recipe, certificate) if pair is None else (pair,),
        density=_density(recipe, registry) if density is None else density,
        falsifiers=recipe.get("falsifiers") if falsifiers is None else falsifiers, floating_point=certificate.floating_point,
        checks=None if checks is None else [name for name in checks if isinstance(name, str)], name=certificate.target,
        registry=registry,
    )  # fmt: skip


def _target(certificate: AuditCertificate, described: object, registry: Registry) -> Sampler | Mechanism:
    if isinstance(described, dict) and "mechanism" in described:
        return made_mechanism(described, registry)
    raise InvalidValueError(
        field="target",
        found=certificate.target,
        allowed="what was audited: the certificate names it, and nothing installed makes it by that name",
        where="replay",
        fix="Pass target=..., on the command line --target module:function.",
    )


def _density(recipe: Mapping[str, object], registry: Registry) -> WhiteBox | None:
    described = recipe.get("density")
    if described is None:
        return None
    made = made_mechanism(described, registry) if isinstance(described, dict) else None
    if not isinstance(made, WhiteBox):
        raise InvalidValueError(
            field="density", found=None, allowed="the declared density, which the certificate cannot hold", where="replay",
            fix="Pass density=... to replay.",
        )  # fmt: skip
    return made


def _pairs(recipe: Mapping[str, object], certificate: AuditCertificate) -> tuple[tuple[object, object], ...]:
    """The datasets, where the certificate holds them whole."""
    if recipe.get("pairs") is not None:
        return decode_pairs(recipe["pairs"])
    try:
        one, two = (ast.literal_eval(text) for text in certificate.witness.pair)
    except (ValueError, SyntaxError):
        raise InvalidValueError(
            field="pair",
            found=None,
            allowed="the two datasets, which the certificate does not hold",
            where="replay",
            fix="Pass pair=(d1, d2), on the command line --pair.",
        ) from None
    return ((one, two),)
