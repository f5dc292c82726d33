"""`dpkit serve`: the page of ledgers, as they are now, in a browser."""

from __future__ import annotations

import click

from dpkit.cli.ledger_steward import AUDITS_OPTION


@click.command()
@click.argument("ledgers", metavar="LEDGER...", nargs=-1, required=True)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where to listen; by default, this machine alone is served."
)
@click.option("--port", default=8765, show_default=True, type=click.IntRange(1, 65535))
@AUDITS_OPTION
def serve(ledgers: tuple[str, ...], host: str, port: int, audits: tuple[str, ...]) -> None:
    """Show ledgers in a browser: budgets, runs, what everything released tells. Read-only.

    It asks nobody for a password. Behind another host than this machine, put it behind a server that does.

    Example: dpkit serve flights.ledger births.ledger
    """
    from dpkit.cli.ledger_summary import opened_ledger
    from dpkit.report.found_audits import audits_of
    from dpkit.report.serve_ledgers import serve_ledgers

    for place in ledgers:
        opened_ledger(place).close()  # what is wrong is said now, not to the first reader
    audits_of(audits)
    shown = "localhost" if host == "127.0.0.1" else host
    click.echo(f"http://{shown}:{port}/ (Ctrl-C ends it)", err=True)
    serve_ledgers(ledgers, host=host, port=port, audits=audits)
