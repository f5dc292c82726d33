"""Nothing is replaced that dpkit did not write; nothing that an analysis reads is an output; results stay in their folder."""

import json
import os
import re
from pathlib import Path

import pytest

from dpkit.analysis.outputs import KINDS, check_writable, kind_of_file, write_output, write_whole
from dpkit.errors import OutputError, SpecError
from dpkit.report.html import report_html, write_report

FOREIGN = "somebody else's work"


def refusal(loaded, report, *changes, **options):
    with pytest.raises(SpecError) as caught:
        loaded(("report: out/report.html", f"report: {report}"), *changes, **options)
    (problem,) = caught.value.problems
    assert (problem.path, problem.line, problem.column) == ("report", 17 + sum(new.count("\n") for _, new in changes), 9)
    return str(problem)


@pytest.mark.parametrize("report", ["people.csv", "./people.csv", "out/../people.csv", "link.html", "hard.html"])
def test_the_data_is_no_place_for_a_report(loaded, folder, report):
    (folder / "link.html").symlink_to(folder / "people.csv")
    os.link(folder / "people.csv", folder / "hard.html")
    assert "it is the data" in refusal(loaded, report)


@pytest.mark.parametrize("ending", ["", "-wal", "-journal", "-shm"])
def test_the_ledger_and_its_companions_are_no_place_for_a_report(loaded, ending):
    budget = ("  accountant: zcdp", "  accountant: zcdp\n  ledger: people.ledger")
    assert "the ledger" in refusal(loaded, f"people.ledger{ending}", budget)


def test_a_ledger_beside_the_report_is_no_result(loaded):
    budget = ("  accountant: zcdp", "  accountant: zcdp\n  ledger: out/analysis-trace.json")
    assert "it is the ledger" in refusal(loaded, "out/report.html", budget)


def test_the_analysis_and_the_other_results_are_no_place_for_a_report(loaded):
    assert "the analysis itself" in refusal(loaded, "analysis.yaml")
    assert "beside the report" in refusal(loaded, "out/analysis-result.json")


@pytest.mark.parametrize("source", ["'*.csv'", "'**/*.csv'", "[people.csv, 'p*.csv']"])
def test_what_a_pattern_takes_for_data_is_no_place_for_a_report(loaded, source):
    assert "takes it for data" in refusal(loaded, "part2.csv", ("source: people.csv", f"source: {source}"))


def test_a_file_that_dpkit_did_not_write_is_kept(loaded, folder):
    (folder / "out").mkdir()
    for name in ("report.html", "analysis-result.json", "analysis-trace.json"):
        path = folder / "out" / name
        path.write_text(FOREIGN)
        assert "dpkit did not write it" in refusal(loaded, "out/report.html")
        assert path.read_text() == FOREIGN
        path.unlink()


@pytest.mark.parametrize("report", ["../report.html", "out/../../report.html", "linked/report.html", "{tmp}/report.html"])
def test_results_stay_in_the_folder_unless_somebody_says_otherwise(loaded, folder, tmp_path_factory, installed, report):
    from dpkit.analysis.reading.load import load

    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (folder / "linked").symlink_to(elsewhere, target_is_directory=True)
    assert "--outside" in refusal(loaded, report.replace("{tmp}", str(elsewhere)))
    assert load(folder / "analysis.yaml", installed=installed, outside=True).outside


def test_every_file_that_dpkit_writes_is_replaced_by_its_like_alone(loaded, folder):
    result = loaded().plan().simulate()
    for _ in range(2):
        written = [*result.write(folder / "out"), write_report(result, folder / "out" / "report.html")]
    assert [kind_of_file(path) for path in written] == ["result", "trace", "report"]
    for path in written:
        for other in written:
            if other != path:
                with pytest.raises(OutputError, match="it is dpkit's"):
                    write_output(path, other.read_text(encoding="utf-8"))
    for place in ("people.csv", "analysis.yaml"):
        before = (folder / place).read_bytes()
        with pytest.raises(OutputError):
            write_report(result, folder / place)
        assert (folder / place).read_bytes() == before


def test_files_of_earlier_versions_may_be_replaced(loaded):
    result = loaded().plan().simulate()
    page = report_html(result).replace(f'<meta name="generator" content="dpkit {_version()}"/>', "")
    assert "generator" not in page[:500]
    assert re.search(KINDS["report"], page.encode())


def _version():
    from dpkit._version import __version__

    return __version__


def test_what_is_no_regular_file_is_kept(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    text = json.dumps({"dpkit-result": 1})
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(OutputError):
            write_output(path, text)


def test_a_name_that_is_too_long_is_refused_before_anything_is_spent(tmp_path):
    with pytest.raises(OutputError):
        check_writable(tmp_path / f"{'a' * 300}.html")


def test_a_file_keeps_its_mode_and_a_failed_write_leaves_nothing(tmp_path):
    path = tmp_path / "result.json"
    write_whole(path, "old")
    path.chmod(0o600)
    write_whole(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputError):
        write_whole(path, "\ud800")
    assert [item.name for item in tmp_path.iterdir()] == ["result.json"]
    assert path.read_text() == "new"


MUTANTS = {
    "files are told apart by their names": ("is_same_file", lambda one, other: one == other),
    "whatever is there is replaced": ("occupied", lambda path, kind: None),
    "any file of dpkit's will do": ("kind_of_file", lambda path: "report"),
}


def lost(loaded, folder):
    """What a run would replace of what is not its own."""
    places = ("hard.html", "mine.html", "out/../people.csv")
    os.link(folder / "people.csv", folder / "hard.html")
    (folder / "mine.html").write_text(FOREIGN)
    taken = []
    for place in places:
        try:
            loaded(("report: out/report.html", f"report: {place}"))
        except SpecError:
            continue
        taken.append(place)
    return taken


def test_nothing_is_lost(loaded, folder):
    assert lost(loaded, folder) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_check_that_looks_away_is_caught(loaded, folder, monkeypatch, name):
    from dpkit.analysis import outputs

    function, mutant = MUTANTS[name]
    monkeypatch.setattr(outputs, function, mutant)
    if name.startswith("files"):
        monkeypatch.setattr(outputs, "occupied", lambda path, kind: None)  # the second net would catch it, too
        assert "hard.html" in lost(loaded, folder)
    else:
        assert lost(loaded, folder) == ["mine.html"]
