"""A run is short to follow: what `dpkit run` of one mean passes stays within a bar, which only falls."""

from __future__ import annotations

from pathlib import Path

from tracing.trace_run import ROOT, trace_run, tracing

from dpkit.numerics.rounding import next_up, percent_up

MOST_FILES = 91
MOST_FUNCTIONS = 622


def test_a_run_of_one_mean_passes_few_files_and_functions(tmp_path: Path) -> None:
    trace = trace_run(tmp_path)
    assert len(trace.files) <= MOST_FILES, trace.by_folder()
    assert len(trace.functions) <= MOST_FUNCTIONS, trace.by_folder()
    assert {"cli/run.py", "release/driver.py", "release/ledger/ledger.py"} <= trace.files
    assert all((ROOT / file).is_file() for file in trace.files)


def test_the_trace_counts_a_function_once_and_no_import() -> None:
    with tracing() as trace:
        next_up(1.0)
        next_up(2.0)
        exec(compile("percent_up(0.5)", "imported.py", "exec"), {"percent_up": percent_up})  # as a module that is imported
    assert trace.functions == {("numerics/rounding.py", "next_up")}
