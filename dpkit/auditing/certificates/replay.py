"""Replay: run an audit again from the seed of its certificate, and see whether it says the same; `confirm`: by fresh draws."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dpkit.auditing.audit import NO_TIME, audit
from dpkit.auditing.betting.campaign import TIME_WAS_UP
from dpkit.auditing.certificates.certificate import AuditCertificate, Witness
from dpkit.auditing.certificates.confirm import Confirmation, contradictions, count_event
from dpkit.auditing.certificates.pins import pins_of
from dpkit.auditing.certificates.recipe import decode_distance, decode_pairs, made_mechanism, read_recipe
from dpkit.auditing.draw_outputs import Sampler
from dpkit.auditing.falsifiers.builtin_falsifiers import others
from dpkit.auditing.plan_audit import claims_about, identity_of, seed_of, shown, software
from dpkit.auditing.targets.one_release import as_sampler
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError, SerialisationError
from dpkit.hooks.manager import default_registry
from dpkit.privacy.checks import finite_number, whole_number
from dpkit.privacy.claims import Claim
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

_IGNORED = ("software", "digest", "recipe", "signature", "signer")
_FOREVER = 1e9
"""Seconds: batches begin as they do where time is limited, and it never is up."""
_OLD = ("note", "budget", "relation", "pilot_samples", "fresh_log_e_value")
"""What certificates from before recipes had a format do not hold, or not so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Whether the rerun gave the same certificate, and the fields in which it did not."""

    confirmed: bool
    differences: tuple[str, ...]
    certificate: AuditCertificate | None
    drifted: tuple[str, ...] = ()
    """Parts of what was audited that are others now: its source, or versions of its packages."""


def replay(
    certificate: AuditCertificate,
    target: Sampler | Mechanism | None = None,
    pair: tuple[object, object] | None = None,
    *,
    density: WhiteBox | None = None,
    falsifiers: Sequence[str] | None = None,
    registry: Registry | None = None,
    loaded_from: str | None = None,
) -> Replay:
    """Audit again with the same seed, budget and confidence; everything but software versions must be the same.

    The name of the target, the relation and the note are made anew from the recipe and from what is run, so that a certificate
    which was given another name is not confirmed. A source or a package that changed since is named. `loaded_from` is the path
    that the target was imported by, where it was. A target with randomness of its own is for `confirm`.

    Mechanisms and algorithms that the registry can make, entries of the zoo, ledgers and traces are found by the certificate
    alone. A function must be given, and so must its datasets or its density where a text cannot hold them: the error says
    which. A certificate whose seal does not fit is not confirmed.
    """
    if not certificate.intact:
        return Replay(confirmed=False, differences=("digest",), certificate=None)
    known = default_registry() if registry is None else registry
    again = _rerun(certificate, target, pair, density, falsifiers, known, loaded_from)
    old = "format" not in read_recipe(certificate.recipe)
    ignored = (*_IGNORED, *_OLD) if old else _IGNORED
    ignored = (*ignored, "pilot_samples")  # a search is not run again: its pair is known; and there may be time for more now
    key = (certificate.hypothesis, certificate.claim, certificate.witness.pair)
    same = [one for one in again if (one.hypothesis, one.claim, one.witness.pair) == key]
    if not same:
        return Replay(confirmed=False, differences=("no such certificate",), certificate=None)
    different = [
        part.name
        for part in fields(certificate)
        if part.name not in ignored and _compared(certificate, part.name, old) != _compared(same[0], part.name, old)
    ]
    drifted = _changed_since(certificate, read_recipe(same[0].recipe).get("pinned") or {})
    if any(name.startswith("source") for name in drifted):
        different.append("source")
    return Replay(confirmed=not different, differences=tuple(different), certificate=same[0], drifted=drifted)


def confirm(
    certificate: AuditCertificate,
    target: Sampler | Mechanism | None = None,
    pair: tuple[object, object] | None = None,
    *,
    density: WhiteBox | None = None,
    confidence: float = 0.999,
    samples: int = 200_000,
    rng: np.random.Generator | int | None = None,
    registry: Registry | None = None,
    loaded_from: str | None = None,
) -> Confirmation:
    """Count the event of a refuted certificate on fresh draws of its target, which may have randomness of its own.

    Confirmed: with this confidence, over these draws alone, the claim is false of what was run. The event was fixed before,
    its code is what counts, and every draw is a call of its own. A target of another name than the certificate's is refused.
    """
    level = finite_number(confidence, field="confidence", where="confirm", minimum=0.0, below=1.0, strict=True)
    if not certificate.intact or not certificate.refuted:
        found = "a changed certificate" if not certificate.intact else f"one that says {certificate.verdict!r}"
        raise InvalidValueError(
            field="certificate", found=found, allowed="an unchanged certificate of a refuted claim", where="confirm"
        )
    known = default_registry() if registry is None else registry
    recipe = read_recipe(certificate.recipe)
    described = recipe.get("target")
    if isinstance(described, dict) and "zoo" in described and target is None:
        from dpkit.auditing.zoo import entry_named

        entry = entry_named(str(described["zoo"]), known)
        target, pair, density, called = entry.sampler, entry.pair, entry.density, f"zoo:{entry.name}"
    else:
        target = as_sampler(_target(certificate, described, known) if target is None else target)  # type: ignore[assignment]
        assert target is not None
        called = loaded_from or identity_of(target, decode_distance(recipe.get("at")))
        density = _density(recipe, known) if density is None else density
    label = recipe.get("label")
    if certificate.target not in (called, f"{label}: {called}"):
        raise InvalidValueError(
            field="target", found=called, allowed=f"what was audited, {certificate.target}", where="confirm",
            fix="A certificate speaks of one target: audit the other one by itself.",
        )  # fmt: skip
    if pair is None:
        pair = next(
            (one for one in _pairs(recipe, certificate) if (shown(one[0]), shown(one[1])) == certificate.witness.pair), None
        )
    if pair is None:
        raise InvalidValueError(field="pair", found=None, allowed="the two datasets of the witness", where="confirm")
    drifted = _changed_since(certificate, pins_of(target))
    contradicted = (*contradictions(certificate), *_relabelled(certificate, recipe, target, pair))
    return count_event(
        certificate, target, pair, density=density, confidence=level, drifted=drifted, seed=seed_of(rng),
        contradicted=contradicted,
        samples=whole_number(samples, field="samples", where="confirm", minimum=2),
    )  # fmt: skip


def _relabelled(
    certificate: AuditCertificate, recipe: Mapping[str, Any], target: object, pair: tuple[object, object]
) -> tuple[str, ...]:
    """Whether the claim and the relation are those of the recipe and of the two datasets; nothing where these do not say."""
    described, claimed, stated = recipe.get("target"), recipe.get("claim"), recipe.get("neighbours")
    if "format" not in recipe or claimed not in ("own", "given", "whole"):
        return ()
    if isinstance(described, dict) and {"algorithm", "transcripts", "zoo", "primitive"} & set(described):
        return ()
    claim = {"own": None, "given": certificate.claim.loss, "whole": certificate.claim}[claimed]
    try:
        known = claims_about(
            target, claim, pair, at=decode_distance(recipe.get("at")), unit=recipe.get("unit"),
            neighbours=None if stated is None else _neighbours(stated),
        )  # fmt: skip
    except InvalidValueError:  # a relation that the datasets contradict, or a unit that they do not have
        return ("relation",)
    if certificate.claim not in [about for about, _ in known]:
        return ("claim",)
    words = [words for about, words in known if about == certificate.claim]
    return () if certificate.relation in words else ("relation",)


def _changed_since(certificate: AuditCertificate, now: Mapping[str, str]) -> tuple[str, ...]:
    """What is pinned otherwise than it is now, the software that every certificate names, and a source that was not pinned."""
    recipe = read_recipe(certificate.recipe)
    before = recipe.get("pinned") or {}
    changed = {name for name in before if before[name] != now.get(name)}
    if "format" in recipe:
        changed |= {f"{name}, which is not pinned" for name in now if name.startswith("source") and name not in before}
    running = dict(software())
    changed |= {name for name, version in certificate.software if running.get(name) != version}
    return tuple(sorted(changed))


def _compared(certificate: AuditCertificate, name: str, old: bool) -> object:
    """A field as replays compare it: of an old witness not its words and code, which were written otherwise."""
    value: object = getattr(certificate, name)
    if isinstance(value, Witness) and old:
        return replace(value, event="", code="", forward=True)
    if name == "note":
        return "; ".join(part for part in certificate.note.split("; ") if part not in (TIME_WAS_UP, NO_TIME))
    return certificate.samples - certificate.pilot_samples if name == "samples" else value


def function_path(certificate: AuditCertificate) -> str | None:
    """The import path of the function that was audited; None where it was something else, or is found by a name."""
    if certificate.target.startswith("zoo:"):
        return None  # found by its name, also in certificates that name the function too
    described = read_recipe(certificate.recipe).get("target")
    return str(described["function"]) if isinstance(described, dict) and "function" in described else None


def _rerun(
    certificate: AuditCertificate,
    target: Sampler | Mechanism | None,
    pair: tuple[object, object] | None,
    density: WhiteBox | None,
    falsifiers: Sequence[str] | None,
    registry: Registry,
    loaded_from: str | None,
) -> list[AuditCertificate]:
    recipe = read_recipe(certificate.recipe)
    # a run that was cut short by time is run again for as many samples as it had
    late = TIME_WAS_UP in certificate.note
    samples = certificate.samples if late and "format" not in recipe else certificate.budget
    stop = certificate.samples - certificate.pilot_samples if late and "format" in recipe else None
    described = recipe.get("target")
    if isinstance(described, dict) and "algorithm" in described and target is None:
        from dpkit.auditing.algorithms.transcripts import rerun_algorithm

        return rerun_algorithm(described, certificate, samples=samples, registry=registry)
    if "recorded" in recipe:
        return [_record_again(certificate, recipe, target, pair, loaded_from)]
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
    stated = recipe.get("neighbours")
    claim: Claim | Loss | None = None if recipe.get("claim") == "own" else certificate.claim
    if recipe.get("claim") == "given" and "format" in recipe:
        claim = certificate.claim.loss
    whole = isinstance(described, dict) and ({"transcripts"} & set(described))
    return audit(
        _target(certificate, described, registry) if target is None else target, claim, None, certificate.confidence, samples,
        certificate.seed, at=decode_distance(recipe.get("at")),
        pairs=_pairs(recipe, certificate) if pair is None else (pair,),
        density=_density(recipe, registry) if density is None else density,
        falsifiers=recipe.get("falsifiers") if falsifiers is None else falsifiers, floating_point=certificate.floating_point,
        checks=None if checks is None else [name for name in checks if isinstance(name, str)],
        name=recipe.get("label") if "format" in recipe else None, registry=registry, stop=stop, unit=recipe.get("unit"),
        growth=_growth(recipe),
        timeout=_timeout(recipe), time=_FOREVER if recipe.get("timed") else None, jobs=2 if recipe.get("processes") else 1,
        neighbours=None if stated is None else _neighbours(stated),
        recipe={"function": loaded_from} if loaded_from is not None else described if whole else None,
    )  # fmt: skip


def _record_again(
    certificate: AuditCertificate,
    recipe: Mapping[str, Any],
    target: Sampler | Mechanism | None,
    pair: tuple[object, object] | None,
    loaded_from: str | None,
) -> AuditCertificate:
    """The same runs with the same answers; primitives of the caller's own are not in a recipe, and must be recorded anew."""
    from dpkit.auditing.recording.record import record

    if target is None:
        target = _target(certificate, recipe.get("target"), default_registry())
    stated, recorded = recipe.get("neighbours"), recipe["recorded"]
    try:
        runs, primitives = int(recorded["runs"]), [str(name) for name in recorded["primitives"]]
    except (KeyError, TypeError, ValueError):
        raise SerialisationError(reason="the recipe does not say what was recorded.") from None
    program: Any = target
    again = record(
        program, certificate.claim if recipe.get("claim") == "whole" else certificate.claim.loss,
        _pairs(recipe, certificate)[0] if pair is None else pair, primitives=primitives, runs=runs, rng=certificate.seed,
        samples=certificate.budget, confidence=certificate.confidence, unit=recipe.get("unit"), name=recipe.get("label"),
        neighbours=None if stated is None else _neighbours(stated),
    ).certificate  # fmt: skip
    return again if loaded_from is None else replace(again, target=loaded_from, digest="")


def _neighbours(text: object) -> Neighbours:
    try:
        return Neighbours(text)
    except ValueError:
        raise SerialisationError(reason="the recipe names no relation of neighbours.") from None


def _growth(recipe: Mapping[str, object]) -> int:
    """How batches grew; certificates of earlier versions do not say: a batch was a tenth of what was before it."""
    growth = recipe.get("growth", 10)
    if not isinstance(growth, int) or growth < 1:
        raise SerialisationError(reason="the recipe says nothing that batches can grow by.")
    return growth


def _timeout(recipe: Mapping[str, object]) -> float | None:
    limit = recipe.get("timeout")
    return limit if isinstance(limit, float) else None


def _target(certificate: AuditCertificate, described: object, registry: Registry) -> Sampler | Mechanism:
    if isinstance(described, dict) and "mechanism" in described:
        return made_mechanism(described, registry)
    raise InvalidValueError(
        field="target",
        found=certificate.target,
        allowed="what was audited: the certificate names it, and nothing installed makes it by that name",
        where="replay",
        fix="Pass target=..., on the command line --target module:function, --command or --http.",
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
            fix="Pass pair=(d1, d2), on the command line --pair or --data.",
        ) from None
    return ((one, two),)
