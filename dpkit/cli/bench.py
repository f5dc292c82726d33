"""`dpkit bench`: speed and tightness beside peers."""

from __future__ import annotations

import click


@click.group()
def bench() -> None:
    """Measure dpkit beside its peers, all in one run. Ratios are what counts; seconds are of this machine.

    Example: dpkit bench noise --json
    """


@bench.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--into", type=click.Path(exists=True, dir_okay=False), help="Also replace the noise section of this Markdown page."
)
@click.option("--draws", default=1_000_000, show_default=True, help="Samples of dpkit and numpy in one run.")
@click.option("--repeats", default=7, show_default=True, help="Runs, of which the median is reported.")
def noise(as_json: bool, into: str | None, draws: int, repeats: int) -> None:
    """Exact noise beside numpy's inexact samplers and OpenDP's (where it is installed).

    Example: dpkit bench noise --into docs/benchmarks.md
    """
    from dpkit.bench.noise import measure_noise
    from dpkit.bench.tables import as_json_text, as_markdown, replace_section

    rows = measure_noise(draws=draws, opendp_draws=max(1, draws // 100), repeats=repeats)
    click.echo(as_json_text(rows) if as_json else as_markdown(rows))
    if into is not None:
        replace_section(into, "noise", as_markdown(rows))


@bench.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False),
    help="Also replace the accounting and imports sections of this page.",
)
@click.option("--repeats", default=5, show_default=True, help="Runs, of which the median is reported.")
def accounting(as_json: bool, into: str | None, repeats: int) -> None:
    """`pld` beside dp-accounting on the public workloads, at the same tightness or better; and how long importing takes.

    Example: dpkit bench accounting --into docs/benchmarks.md
    """
    from dpkit.bench.accounting import as_markdown, measure_accounting
    from dpkit.bench.importing import imports_as_markdown, measure_imports
    from dpkit.bench.tables import as_json_text, replace_section

    imports = measure_imports(repeats=repeats)
    rows = measure_accounting(repeats=repeats)
    tables = {"accounting": as_markdown(rows), "imports": imports_as_markdown(imports)}
    click.echo(as_json_text([*rows, *imports]) if as_json else "\n\n".join(tables.values()))
    for name, table in tables.items() if into is not None else ():
        replace_section(str(into), name, table)


@bench.command("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--into", type=click.Path(exists=True, dir_okay=False), help="Also replace the ledger section of this Markdown page."
)
@click.option("--charges", default=4000, show_default=True, help="Charges in one run, by all processes together.")
@click.option("--processes", default=8, show_default=True, help="Processes that charge one ledger at the same time.")
@click.option("--repeats", default=5, show_default=True, help="Runs, of which the median is reported.")
def ledger_speed(as_json: bool, into: str | None, charges: int, processes: int, repeats: int) -> None:
    """Charges a second against one ledger, beside bare locked inserts into SQLite.

    Example: dpkit bench ledger --into docs/benchmarks.md
    """
    from dpkit.bench.ledger import measure_ledger
    from dpkit.bench.tables import as_json_text, as_markdown, replace_section

    rows = measure_ledger(charges=charges, processes=processes, repeats=repeats)
    click.echo(as_json_text(rows) if as_json else as_markdown(rows))
    if into is not None:
        replace_section(into, "ledger", as_markdown(rows))


@bench.command(name="audit")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--into", type=click.Path(exists=True, dir_okay=False), help="Also replace the audit sections of this Markdown page."
)
@click.option("--seeds", default=20, show_default=True, help="Runs of each entry of the zoo.")
@click.option("--first-seed", default=0, show_default=True, help="The first of them.")
@click.option("--null-samples", default=2_000, show_default=True, help="Samples for each run of a right entry.")
@click.option("--peers", is_flag=True, help="Also measure what DP-Sniper and DP-Auditorium need on the same pairs.")
@click.option("--entry", "names", multiple=True, help="Only this entry of the zoo; may be repeated.")
def bench_audit(
    as_json: bool, into: str | None, seeds: int, first_seed: int, null_samples: int, peers: bool, names: tuple[str, ...]
) -> None:
    """Samples that the audit needs to refute each broken entry of the zoo, and false alarms on the right ones.

    Example: dpkit bench audit --peers --first-seed 91000 --into docs/benchmarks.md
    """
    from dpkit.auditing.zoo import ZOO, entry_named
    from dpkit.bench.audit import as_markdown, measure_audit
    from dpkit.bench.audit_versus import measure_peers, versus_as_markdown
    from dpkit.bench.tables import as_json_text, replace_section

    entries = [entry_named(name) for name in names] if names else list(ZOO)
    rows = measure_audit(seeds=seeds, first_seed=first_seed, null_samples=null_samples, entries=entries)
    versus = measure_peers(rows, seeds=seeds, first_seed=first_seed) if peers else []
    tables = {"audit": as_markdown(rows)} | ({"audit peers": versus_as_markdown(versus)} if peers else {})
    click.echo(as_json_text([*rows, *versus]) if as_json else "\n\n".join(tables.values()))
    if into is not None:
        for name, table in tables.items():
            replace_section(into, name, table)


@bench.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--into", type=click.Path(exists=True, dir_okay=False), help="Also replace the passes section of this Markdown page."
)
@click.option("--rows", default=10_000_000, show_default=True, help="Rows of the largest table, which has 11 columns.")
@click.option("--repeats", default=7, show_default=True, help="Runs, of which the median is reported.")
def passes(as_json: bool, into: str | None, rows: int, repeats: int) -> None:
    """Passes over the data beside reading it once and beside plain numpy, and a private fit beside the same without privacy.

    Needs the plugin dpkit-irls, whose passes it times. Example: dpkit bench passes --rows 1000000
    """
    from dpkit.bench.passes import as_markdown, measure_passes
    from dpkit.bench.tables import as_json_text, replace_section

    found = measure_passes(rows=rows, repeats=repeats)
    click.echo(as_json_text(found) if as_json else as_markdown(found))
    if into is not None:
        replace_section(into, "passes", as_markdown(found))
