"""`dpkit ledger copy`, `approve` and `write-off`: what stewards do with a ledger."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from dpkit.cli.ledger_summary import JSON_OPTION, budget_of, ledger_summary, opened_ledger

if TYPE_CHECKING:
    from dpkit.auditing.algorithms.audit_analysis import AnalysisAudit

AUDITS_OPTION = click.option(
    "--audits",
    multiple=True,
    type=click.Path(exists=True),
    help="Audits to show with the runs of their analyses: NAME-audit.json files of `dpkit audit NAME.yaml`, or their folder.",
)


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--yes", is_flag=True, help="Do it; without this, only what it would do is shown.")
@JSON_OPTION
def copy(source: str, target: str, yes: bool, as_json: bool) -> None:
    """Move a ledger to another place, a file or a database, and close the old one for good.

    The chain is verified first and afterwards. Both can never be charged: the old one ends before the new one begins. If it is
    interrupted in between, say the same again.

    Example: dpkit ledger copy flights.ledger 'postgresql://db.example/budgets?dataset=flights' --yes
    """
    from dpkit.release.ledger.move import copy_ledger

    if not yes:
        with opened_ledger(source) as old:
            click.echo(
                f"{old.path} has {old.head().seq + 1} entries. Copied, it is closed for good: repeat with --yes.", err=True
            )
            click.echo(ledger_summary(old, as_json=as_json))
        return
    with copy_ledger(source, target) as moved:
        click.echo(ledger_summary(moved, as_json=as_json))


@click.command()
@click.argument("paths", metavar="LEDGER...", nargs=-1, required=True)
@click.option("--to", required=True, type=click.Path(dir_okay=False, writable=True), help="The HTML file to write.")
@AUDITS_OPTION
@JSON_OPTION
def page(paths: tuple[str, ...], to: str, audits: tuple[str, ...], as_json: bool) -> None:
    """A page of one ledger or several: spent, held and left, the runs, and what everything released tells of a person.

    It is one file that needs no network and holds no released value. `dpkit serve` shows the same page as it is now.

    Example: dpkit ledger page flights.ledger --to flights.html
    """
    from contextlib import ExitStack
    from pathlib import Path

    from dpkit.analysis.outputs import check_replaceable, write_output
    from dpkit.report.found_audits import audits_of
    from dpkit.report.ledger_page import ledger_page

    check_replaceable(Path(to), "page of ledgers")
    known = audits_of(audits)
    with ExitStack() as stack:
        text = ledger_page([stack.enter_context(opened_ledger(path)) for path in paths], audits=known)
    write_output(Path(to), text)
    click.echo(json.dumps({"dpkit": 1, "wrote": to}) if as_json else f"wrote {to}")


@click.command()
@click.argument("path", metavar="LEDGER")
@click.argument("run")
@click.option("--analysis", type=click.Path(dir_okay=False), help="The analysis of the run: its plan is shown, and audited.")
@click.option("--yes", is_flag=True, help="Approve it; without this, only what would be approved is shown.")
@JSON_OPTION
@click.pass_context
def approve(context: click.Context, path: str, run: str, analysis: str | None, yes: bool, as_json: bool) -> None:
    """Let a run charge, on a ledger that asks for it (`create --approve`). By somebody else than who reserved it.

    Shows who asks, from which machine, with which versions, and what it costs. With --analysis, a file that is not what the run
    reserved is refused, its plan is shown, and every claim that it relies on is audited: a refuted one is not approved.

    Example: dpkit ledger approve flights.ledger survey-3f2a --analysis survey.yaml --yes
    """
    from dpkit.pricing.serialise import dump
    from dpkit.release.ledger.steward import approve as write_approval
    from dpkit.release.ledger.steward import request_of
    from dpkit.report.ledger_page import reserved_text

    with opened_ledger(path) as found:
        request = request_of(found, run)
        document: dict[str, object] = {
            "dpkit": 1,
            "run": run,
            "who": request.who,
            "when": request.when,
            "machine": request.machine,
            "versions": request.versions,
            "analysis": request.analysis,
            "price": None if request.price is None else json.loads(dump(request.price)),
            "event": request.event,
            "approved": found.is_approved(run),
        }
        lines = [
            f"run       {run}, reserved by {request.who} on {request.when[:19]}"
            + f" from {request.machine or 'an unknown machine'}",
            f"versions  {', '.join(f'{name} {version}' for name, version in request.versions.items()) or 'unknown'}",
            f"analysis  {request.analysis or 'none stated'}",
            f"price     {request.price if request.price is not None else 'it pays as it goes: no plan'}",
            f"reserved  {reserved_text(request.event, found.registry) or 'nothing'}",
        ]
        refuted, certificates = False, None
        if analysis is not None:
            shown, audit = _plan_and_audit(analysis, request.analysis, found.path)
            refuted, certificates = audit.refuted, [one.digest for one in audit.certificates]
            lines += ["", shown, "", str(audit)]
            document |= {"plan": shown, "audit": str(audit)}
        else:
            lines.append("audit     none: --analysis FILE shows its plan and audits it before you approve")
        if yes and not refuted:
            write_approval(found, run, certificates=certificates)
            document["approved"] = True
        if as_json:
            click.echo(json.dumps(document, indent=2))
        else:
            click.echo("\n".join(lines))
            waits = "NOT APPROVED, a claim is refuted" if refuted else "not approved yet: repeat with --yes"
            click.echo(f"{run}: {'approved' if document['approved'] else waits}.")
    context.exit(1 if refuted else 0)


def _plan_and_audit(analysis: str, reserved: str, ledger: object) -> tuple[str, AnalysisAudit]:
    """The plan of the analysis that a run reserved, as text, and its audit."""
    from dpkit.analysis.plan import make_plan
    from dpkit.analysis.reading.load import load
    from dpkit.auditing.algorithms.audit_analysis import audit_plan
    from dpkit.errors import LedgerDisagreementError

    spec = load(analysis)
    if spec.fingerprint != reserved:
        fix = "Nothing was approved. Give the file that the run was made from."
        raise LedgerDisagreementError(path=ledger, field="analysis", ledger=reserved[:12], given=spec.fingerprint[:12], fix=fix)
    plan = make_plan(spec)
    return str(plan), audit_plan(plan, samples=20_000)


@click.command(name="write-off")
@click.argument("path", metavar="LEDGER")
@click.option("--since", metavar="DIGEST", required=True, help="The digest that a result has kept, and this ledger lacks.")
@click.option("--epsilon", type=float, help="How much to count as spent (alone: pure; with --delta: approximate).")
@click.option("--delta", type=float)
@click.option("--rho", type=float, help="Instead of epsilon: a zCDP loss.")
@click.option("--yes", is_flag=True, help="Do it; without this, nothing is written.")
@JSON_OPTION
def write_off(
    path: str, since: str, epsilon: float | None, delta: float | None, rho: float | None, yes: bool, as_json: bool
) -> None:
    """Count as spent what a lost ledger had charged, after an older copy was put in its place. It is never given back.

    `dpkit run` refuses a ledger that lacks the digest of a result beside it, and names that digest.

    It may be more than is left: it was spent, and then nothing more is granted.

    Example: dpkit ledger write-off flights.ledger --since 6dfd1363600a... --rho 0.02 --yes
    """
    from dpkit.privacy.events import ApproxEvent, PureEvent, ZCDPEvent
    from dpkit.privacy.losses import ZCDP, ApproxDP, PureDP
    from dpkit.release.ledger.steward import write_off as count

    loss, _ = budget_of(epsilon, delta, rho, None)
    with opened_ledger(path) as found:
        if yes:
            if isinstance(loss, ZCDP):
                count(found, ZCDPEvent(rho=loss.rho), since=since)
            elif isinstance(loss, ApproxDP):
                count(found, ApproxEvent(epsilon=loss.epsilon, delta=loss.delta), since=since)
            elif isinstance(loss, PureDP):
                count(found, PureEvent(epsilon=loss.epsilon), since=since)
        else:
            click.echo(f"{loss} would be counted as spent, for good: repeat with --yes.", err=True)
        click.echo(ledger_summary(found, as_json=as_json))
