"""`dpkit audit replay, confirm, sign, verify, keygen`: what is done with certificates that were written before."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpkit.cli.audit_target import audited, program_options, read_pair

if TYPE_CHECKING:
    from dpkit.auditing.certificates.certificate import AuditCertificate

_IDENTITY = ("target", "claim", "relation", "note", "source", "digest", "hypothesis", "no such certificate")
"""Differences that no randomness explains."""

_file = click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
_target = click.option("--target", help="module:callable, where the certificate does not lead to it.")
_pair = click.option("--pair", "pair_text", help="The two datasets as JSON, where the certificate does not hold them.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@_file
@_target
@_pair
@program_options
@_json
def replay(
    certificate: str,
    target: str | None,
    pair_text: str | None,
    command: str | None,
    http: str | None,
    data: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Run CERTIFICATE again from its seed. Exit codes: 0 confirmed, 1 not confirmed, 2 wrong input or tampered.

    Mechanisms and algorithms of installed plugins, entries of the zoo, ledgers and traces are found by the certificate alone.
    A function is imported by the path that the certificate names: replay only certificates whose function you would run.
    Where a refuted target has randomness of its own, so that its numbers never come again, its event is counted on fresh draws.

    Example: dpkit audit replay certificate.json
    """
    from dpkit.auditing.certificates.replay import confirm as count_again
    from dpkit.auditing.certificates.replay import function_path
    from dpkit.auditing.certificates.replay import replay as rerun

    lines, document, good = [], [], True
    pair = read_pair(pair_text, data, paths=command is not None)
    for one in _read(certificate):
        path = None if command or http else target or function_path(one)
        loaded = audited(path, command, http)
        result = rerun(one, loaded, pair, loaded_from=path)  # type: ignore[arg-type]
        confirmed, how = result.confirmed, "the same numbers"
        verdict = "confirmed" if confirmed else f"NOT confirmed ({', '.join(result.differences)})"
        if not confirmed and one.refuted and one.witness.code and not set(result.differences) & set(_IDENTITY):
            fresh = count_again(one, loaded, pair, loaded_from=path)  # type: ignore[arg-type]
            confirmed, how, verdict = fresh.confirmed, "fresh draws", str(fresh)
        good = good and confirmed
        told = f"; changed since: {', '.join(result.drifted)}" if result.drifted and "changed since" not in verdict else ""
        lines.append(f"{verdict}: {one.verdict}, {one.target}, {one.hypothesis}{told}")
        document.append({"confirmed": confirmed, "differences": result.differences, "by": how, "drifted": result.drifted})
    click.echo(json.dumps(document, indent=2) if as_json else "\n".join(lines))
    sys.exit(0 if good else 1)


@click.command()
@_file
@_target
@_pair
@program_options
@click.option("--confidence", default=0.999, show_default=True, help="With which fresh draws alone must break the claim.")
@click.option("--samples", default=200_000, show_default=True, help="The most fresh draws, of both datasets together.")
@click.option("--seed", type=int, help="Of the fresh draws; drawn when not given.")
@_json
def confirm(
    certificate: str,
    target: str | None,
    pair_text: str | None,
    command: str | None,
    http: str | None,
    data: tuple[str, str] | None,
    confidence: float,
    samples: int,
    seed: int | None,
    as_json: bool,
) -> None:
    """Count the events of the refuted claims of CERTIFICATE on fresh draws. Exit codes: 0 all confirmed, 1 not, 2 wrong input.

    Nothing of the first audit has to be believed: the event is code, it was fixed before the draws, and a target may have
    randomness of its own. Every draw is a call of its own.

    Example: dpkit audit confirm certificate.json
    """
    from dpkit.auditing.certificates.replay import confirm as count_again
    from dpkit.auditing.certificates.replay import function_path

    refuted = [one for one in _read(certificate) if one.refuted]
    if not refuted:
        raise click.UsageError(f"{certificate} holds no refuted claim: what is not refuted has no event to confirm.")
    found = []
    pair = read_pair(pair_text, data, paths=command is not None)
    for one in refuted:
        path = None if command or http else target or function_path(one)
        loaded = audited(path, command, http)
        options = {"confidence": confidence, "samples": samples, "rng": seed, "loaded_from": path}
        found.append(count_again(one, loaded, pair, **options))  # type: ignore[arg-type]
    if as_json:
        rows = [
            {"target": one.target, "confirmed": each.confirmed, "hits": each.hits, "trials": each.trials, "seed": each.seed,
             "epsilon_lower": each.epsilon_lower, "delta": each.delta, "drifted": each.drifted,
             "contradicted": each.contradicted}
            for one, each in zip(refuted, found, strict=True)
        ]  # fmt: skip
        click.echo(json.dumps(rows, indent=2))
    else:
        click.echo("\n".join(f"{each}: {one.target}" for one, each in zip(refuted, found, strict=True)))
    sys.exit(0 if all(each.confirmed for each in found) else 1)


@click.command()
@_file
@click.option("--key", required=True, help="The public key: a PEM file, or its 64 hex digits.")
@_json
def verify(certificate: str, key: str, as_json: bool) -> None:
    """Check that CERTIFICATE is unchanged and signed by the owner of a key. Exit codes: 0 it is, 1 not, 2 wrong input.

    Example: dpkit audit verify certificate.json --key auditor.key.pub
    """
    from dpkit.auditing.certificates.signing import is_signed_by

    read = _read(certificate)
    good = [is_signed_by(one, key) for one in read]
    if as_json:
        click.echo(json.dumps([{"target": one.target, "signed": ok} for one, ok in zip(read, good, strict=True)], indent=2))
    else:
        lines = (f"{'signed' if ok else 'NOT signed by this key'}: {one.target}" for one, ok in zip(read, good, strict=True))
        click.echo("\n".join(lines))
    sys.exit(0 if good and all(good) else 1)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def keygen(file: str, as_json: bool) -> None:
    """Make a key for signing certificates: FILE, which nobody else can read, and FILE.pub, which everybody may.

    Example: dpkit audit keygen auditor.key
    """
    from dpkit.auditing.certificates.signing import make_key

    public = make_key(file)
    document = {"dpkit": 1, "wrote": [file, f"{file}.pub"], "public_key": public}
    click.echo(json.dumps(document) if as_json else f"wrote {file} and {file}.pub; public key {public}")


def _read(path: str) -> list[AuditCertificate]:
    from dpkit.auditing.certificates.certificate import AuditCertificate
    from dpkit.errors import SerialisationError
    from dpkit.pricing.serialise import strict_json

    try:
        document = strict_json(Path(path).read_bytes())
    except SerialisationError:
        raise click.UsageError(f"{path} is not JSON: a certificate is what `dpkit audit --json` printed.") from None
    texts = document["certificates"] if isinstance(document, dict) and "certificates" in document else [document]
    if not isinstance(texts, list):
        raise click.UsageError(f"{path} holds no list of certificates.")
    return [AuditCertificate.from_json(json.dumps(text)) for text in texts]


VERBS = (replay, confirm, verify, keygen)
