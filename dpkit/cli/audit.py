"""`dpkit audit`: a target or the zoo, certificates as text, JSON, JUnit, SARIF or HTML, and their replay."""

from __future__ import annotations

import json
import secrets
import sys
import time as clock
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dpkit.cli.audit_output import Output
from dpkit.cli.audit_record import record
from dpkit.cli.audit_target import (
    audited,
    check_unused,
    claim_of,
    claim_options,
    in_options,
    pair_options,
    read_pair,
    target_options,
)
from dpkit.cli.certificate_verbs import VERBS
from dpkit.cli.errors import outside_option
from dpkit.cli.progress import audit_watch, price_plan, progress_bar

if TYPE_CHECKING:
    from dpkit.auditing.certificates.certificate import AuditCertificate
    from dpkit.hooks.manager import Installed
    from dpkit.privacy.losses import Loss

_SUBJECTS = 2
"""At how many typical parameters a mechanism of a plugin is audited."""


class _Targets(click.Group):
    """`audit replay CERT` is a verb of its own; anything else is a target."""

    unnamed = "run"
    """The verb that nobody types: its options are those of the group."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [self.unnamed, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Those of `audit TARGET`, which is no verb of its own, and then the verbs."""
        verb = self.commands[self.unnamed]
        click.Command.format_options(verb, click.Context(verb, parent=ctx), formatter)
        self.format_commands(ctx, formatter)


@click.group(cls=_Targets, name="audit")
def audit_group() -> None:
    """Try to refute a claim, and write a certificate of the result.

    \b
    dpkit audit --zoo                                        the self-test
    dpkit audit "Laplace(scale=1.0)" --at "l1(1.0)"          a mechanism of dpkit
    dpkit audit module:function --epsilon 1 --pair "[0.0, 1.0]"
    dpkit audit notebook.ipynb:release --epsilon 1 --data with.csv without.csv
    dpkit audit --command "./prog {data}" --epsilon 1 --pair "[[1], [1, 2]]"
    dpkit audit analysis.yaml --data A.csv B.csv             and all of it on two neighbouring files
    dpkit audit analysis.yaml                                what an analysis relies on, at its own parameters
    dpkit audit hello                                        every mechanism of a plugin, at typical parameters
    dpkit audit flights.ledger                               a ledger, or the trace of a run
    dpkit audit scores members.csv others.csv --epsilon 2    canaries of one training run
    dpkit audit record module:function --epsilon 1 --pair "[[1], [1, 2]]"   what the same noisy answers do not explain
    dpkit audit replay certificate.json                      the same numbers again, from the seed
    dpkit audit confirm certificate.json                     the event again, on fresh draws
    dpkit audit keygen my.key                                a key, for --sign and `dpkit audit verify`

    Exit codes: 0 not refuted, 1 refuted, 2 wrong input. Of --zoo: 0 all as known, 1 otherwise.
    The confidence is that of one call, whatever it tries; with --zoo it is that of each entry, not of all together.
    """


@audit_group.command(hidden=True)
@click.argument("target", required=False)
@click.option(
    "--zoo",
    is_flag=True,
    help=(
        "Audit every entry of the zoo, those of plugins too: broken ones must fall, right ones must stand. "
        "The confidence is then that of each entry, not of all together."
    ),
)
@click.option("--at", help='The distance of neighbouring values, such as "l1(1.0)".')
@claim_options
@click.option("--family", type=click.Choice(["gaussian"]), help="Test (epsilon, delta) by the whole curve of this noise.")
@click.option("--rate", type=float, default=1.0, help="With --family: each release is on a Poisson sample of this rate.")
@click.option("--steps", type=int, default=1, help="With --family: how many releases there are.")
@target_options
@click.option("--pair", "pair_text", help='Two neighbouring datasets as JSON, such as "[0.0, 1.0]".')
@click.option(
    "--confidence", default=0.999, show_default=True, help="Of the whole audit, family-wise; with --zoo, of each entry."
)
@click.option("--samples", default=200_000, show_default=True, help="Budget of samples, both sides together.")
@click.option("--time", "seconds", type=float, help="Budget of seconds, for everything that is audited.")
@click.option("--timeout", type=float, help="Seconds a call may take: a function that takes longer has that as its outcome.")
@click.option("--seed", type=int, help="Makes the run repeatable; drawn and recorded when not given.")
@click.option("--floating-point", is_flag=True, help="Also test what only rounding decides.")
@click.option("--json", "as_json", is_flag=True, help="Print the certificates as JSON.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write a JUnit file.")
@click.option("--sarif", type=click.Path(dir_okay=False), help="Also write a SARIF file.")
@click.option("--sign", type=click.Path(exists=True, dir_okay=False), help="Sign the certificates with the key in this file.")
@click.option(
    "--badge", type=click.Path(dir_okay=False), help="Also write a badge, an SVG picture, for a page about the target."
)
@click.option("--html", type=click.Path(dir_okay=False), help="Also write a page for people.")
@outside_option
def run(
    target: str | None,
    zoo: bool,
    at: str | None,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    mu: float | None,
    family: str | None,
    rate: float,
    steps: int,
    pair_text: str | None,
    confidence: float,
    samples: int,
    seconds: float | None,
    timeout: float | None,
    seed: int | None,
    floating_point: bool,
    as_json: bool,
    junit: str | None,
    sarif: str | None,
    html: str | None,
    sign: str | None,
    badge: str | None,
    outside: bool,
    command: str | None,
    http: str | None,
    data: tuple[str, str] | None,
    jobs: int,
    **pairs: Any,
) -> None:
    """Audit TARGET: module:callable, module:mechanism, a mechanism of dpkit as Python writes it, a plugin, or a file.

    Example: dpkit audit "Laplace(scale=1.0)" --at "l1(1.0)"
    """
    output = Output(as_json=as_json, junit=junit, sarif=sarif, html=html, badge=badge, key=sign)
    if sum((zoo, target is not None, command is not None, http is not None)) != 1:
        raise click.UsageError("Give one of a target, --zoo, --command and --http.")
    output.check()
    if target is not None and target.endswith((".yaml", ".yml")):
        check_unused("an analysis", "--data")
        sys.exit(_analysis(target, confidence, samples, seconds, seed, output, outside=outside, files=data))
    if zoo:
        check_unused("the zoo")
        sys.exit(_zoo(confidence, samples, seconds, 0 if seed is None else seed, output))
    from dpkit.auditing.audit import audit as run_audit
    from dpkit.auditing.certificates.recipe import distance_of
    from dpkit.errors import DpkitError, InvalidValueError

    if target is not None and Path(target).is_file():
        from dpkit.auditing.falsifiers.runs_and_ledgers import audit_file

        check_unused("a file of records")
        output.write([recorded := audit_file(target)])
        sys.exit(1 if recorded.refuted else 0)
    if target is not None and target.replace("-", "_").isidentifier():
        from dpkit.hooks.manager import installed_plugins

        installed = installed_plugins()
        if any(plugin.name == target for plugin in installed.plugins):
            check_unused("a plugin")
            chosen = secrets.randbits(32) if seed is None else seed
            sys.exit(_plugin(installed, target, confidence, samples, seconds, chosen, output))
    called = target or command or http or ""
    try:
        with progress_bar(called, quiet=as_json) as bar:
            found = run_audit(
                audited(target, command, http, jobs=jobs, timeout=timeout),  # type: ignore[arg-type]
                claim_of(epsilon, delta, rho, mu) if family is None else _family_claim(epsilon, delta, rate, steps),
                read_pair(pair_text, data, paths=command is not None),
                confidence,
                samples,
                seed,
                at=None if at is None else distance_of(at),
                floating_point=True if floating_point else None,
                time=seconds,
                timeout=timeout if target else None,
                watch=audit_watch(bar, called, 0, 1, samples=samples, seconds=seconds),
                recipe={"function": target} if target and ":" in target else None,
                jobs=jobs if target else 1,
                **pair_options(**pairs),
            )
    except InvalidValueError as error:
        raise in_options(error) from None
    except (DpkitError, click.ClickException):
        raise
    except Exception as error:  # noqa: BLE001 - somebody else's function may raise anything
        # exit code 1 says "refuted": a function that fails is wrong input, and its message may hold data
        raise click.UsageError(f"{called} raised {type(error).__name__}; call it by itself to see why.") from None
    output.write(found)
    sys.exit(1 if any(one.refuted for one in found) else 0)


@audit_group.command()
@click.argument("members", type=click.Path(exists=True, dir_okay=False))
@click.argument("others", type=click.Path(exists=True, dir_okay=False))
@click.option("--epsilon", type=float, help="Claim epsilon-DP, or (epsilon, delta)-DP with --delta.")
@click.option("--delta", type=float, default=0.0, help="See --epsilon.")
@click.option("--mu", type=float, help="Claim mu-GDP.")
@click.option("--family", type=click.Choice(["any", "gaussian"]), help="Test (epsilon, delta) by the curve of Gaussian noise.")
@click.option("--confidence", default=0.999, show_default=True, help="Over all guesses that are tried.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def scores(
    members: str,
    others: str,
    epsilon: float | None,
    delta: float,
    mu: float | None,
    family: Literal["any", "gaussian"] | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Test a claim by one training: scores of the canaries in it (MEMBERS) and of the OTHERS, one number a line.

    Every canary must have been put in by a fair coin of its own. Exit codes: 0 not refuted, 1 refuted, 2 wrong input.

    Example: dpkit audit scores members.csv others.csv --epsilon 2 --delta 1e-5
    """
    from dpkit.auditing.canaries.audit_scores import audit_scores

    claim = claim_of(epsilon, delta, None, mu)
    if claim is None:
        raise click.UsageError("Give the claim: --epsilon (and --delta), or --mu.")
    found = audit_scores(_scores(members), _scores(others), claim=claim, confidence=confidence, family=family)
    click.echo(found.to_json() if as_json else str(found))
    sys.exit(1 if found.refuted else 0)


def _scores(path: str) -> list[float]:
    """Numbers of a file, one a line; a first line that is none is a heading."""
    found: list[float] = []
    for place, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines()):
        try:
            found.append(float(line))
        except ValueError:
            if place and line.strip():
                raise click.UsageError(f"Line {place + 1} of {path} is not one number.") from None
    return found


def _failure(error: BaseException) -> str:
    """What an entry did, by types alone: where it gave nothing but exceptions, which, not that the audit refused them."""
    from dpkit.errors import InvalidValueError

    if isinstance(error, InvalidValueError) and (error.where, error.field) == ("audit", "target"):
        return str(error.found)
    return f"raised {type(error).__name__}"


def _zoo(confidence: float, samples: int, seconds: float | None, seed: int, output: Output) -> int:
    from dpkit.auditing.zoo import whole_zoo

    found, wrong, entries = [], 0, whole_zoo()
    deadline = None if seconds is None else clock.monotonic() + seconds
    with progress_bar("the zoo", quiet=output.as_json) as bar:
        for place, entry in enumerate(entries):
            budget = samples if entry.broken else min(samples, 20_000)
            head = f"{entry.plugin:8} {entry.name:26} {entry.truth:7}"
            watch = audit_watch(bar, entry.name, place, len(entries), samples=budget)
            share = None if deadline is None else max(0.0, deadline - clock.monotonic()) / (len(entries) - place)
            try:
                certificate = entry.audit(confidence=confidence, samples=budget, rng=seed, time=share, watch=watch)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's sampler may raise anything; the others go on
                wrong += 1
                line = f"{'FAILED':13} {head} {_failure(error)}"
            else:
                found.append(certificate)
                as_known = certificate.refuted == entry.broken
                wrong += not as_known
                mark = "as known" if as_known else "NOT AS KNOWN"
                line = f"{mark:13} {head} {certificate.verdict:12} {certificate.samples:>8} samples"
            with nullcontext() if bar is None else bar.paused():
                if line.startswith("FAILED") or not output.as_json:
                    click.echo(line, err=output.as_json)
    output.write(found, text=False)
    return 1 if wrong else 0


def _plugin(
    installed: Installed, name: str, confidence: float, samples: int, seconds: float | None, seed: int, output: Output
) -> int:
    """Every mechanism of a plugin, at typical parameters; the error probability and the time are split over them."""
    from dpkit.errors import PluginError
    from dpkit.testing.audit_laws import audit_subject
    from dpkit.testing.mechanism_cases import MechanismCase

    plugin = next(one for one in installed.plugins if one.name == name)
    if not plugin.healthy:
        raise PluginError(plugin=name, reason=" ".join(plugin.problems))
    registry = installed.registry
    cases = [MechanismCase(factory=registry.mechanism(made), registry=registry) for made in plugin.adds.get("mechanisms", ())]
    if not cases:
        raise PluginError(plugin=name, reason="it adds no mechanism to audit.")
    todo = [(case, subject) for case in cases for subject in case.subjects(_SUBJECTS)[:_SUBJECTS]]
    found: list[AuditCertificate] = []
    with progress_bar(name, quiet=output.as_json) as bar:
        for place, (case, subject) in enumerate(todo):
            found += audit_subject(
                case,
                subject,
                confidence=1.0 - (1.0 - confidence) / len(todo),
                samples=samples,
                seed=seed + 1_000 * place,
                time=None if seconds is None else seconds / len(todo),
                watch=audit_watch(bar, case.factory.name, place, len(todo), samples=samples),
            )
    output.write(found)
    return 1 if any(one.refuted for one in found) else 0


def _analysis(
    file: str,
    confidence: float,
    samples: int,
    seconds: float | None,
    seed: int | None,
    output: Output,
    *,
    outside: bool,
    files: tuple[str, str] | None,
) -> int:
    from dpkit.analysis.outputs import check_outputs
    from dpkit.analysis.reading.load import load
    from dpkit.analysis.run_plan import check_writable
    from dpkit.auditing.algorithms.audit_analysis import audit_plan
    from dpkit.report.html import AUDIT_KIND, audit_place, write_audit

    spec = load(file, outside=outside)
    check_outputs(spec, {"report": spec.report, AUDIT_KIND: audit_place(spec), **output.paths})
    plan = price_plan(spec, quiet=output.as_json)
    check_writable(plan.spec.report)
    with progress_bar(file, quiet=output.as_json) as bar:
        watch = partial(audit_watch, bar, samples=samples)
        level = confidence if files is None else 1.0 - (1.0 - confidence) / 2.0  # half for the parts, half for the whole
        deadline = None if seconds is None else clock.monotonic() + seconds
        of_parts = seconds if files is None or seconds is None else 0.5 * seconds
        found = audit_plan(plan, confidence=level, samples=samples, seed=seed, time=of_parts, watch=watch)
        if files is not None:
            from dpkit.auditing.algorithms.end_to_end import audit_end_to_end

            runs = audit_watch(bar, "end to end", 0, 1, samples=samples)
            left = None if deadline is None else max(0.0, deadline - clock.monotonic())
            whole = audit_end_to_end(plan, files, confidence=level, samples=samples, seed=seed, time=left, watch=runs)
            found = replace(found, certificates=(*found.certificates, whole))
    written = write_audit(found, plan.spec)
    if output.as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        click.echo("\n".join([str(found), *(f"wrote {path}" for path in written)]))
    output.files(list(found.certificates))
    return 1 if found.refuted else 0


def _family_claim(epsilon: float | None, delta: float, rate: float, steps: int) -> Loss:
    from dpkit.auditing.noise_family import gaussian_claim

    if epsilon is None or not delta:
        raise click.UsageError("--family needs --epsilon and --delta: the pair that the noise is claimed to keep.")
    return gaussian_claim(epsilon=epsilon, delta=delta, rate=rate, steps=steps)


for _verb in (*VERBS, record):
    audit_group.add_command(_verb)
