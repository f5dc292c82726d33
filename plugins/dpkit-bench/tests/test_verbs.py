"""`dpkit bench` prints tables and JSON, writes its section of a page, and answers mistakes with a message."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import dpkit_bench
import pytest
from click.testing import CliRunner
from dpkit_bench.passes import PassRow
from dpkit_bench.plots import picture_of
from dpkit_bench.tables import Section
from dpkit_bench.verbs import MEASUREMENTS

from dpkit.cli import main

README = Path(__file__).parent.parent / "README.md"
QUICK = ["bench", "noise", "--draws", "2000", "--peer-draws", "10", "--repeats", "1"]


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_it_prints_a_row_for_each_sampler_and_peer():
    result = run(*QUICK)
    assert result.exit_code == 0
    assert result.output.count("| numpy |") == 2
    assert result.output.count("| opendp |") == 8


def test_it_prints_json_with_a_version():
    document = json.loads(run(*QUICK, "--json").output)
    assert document["dpkit"] == 1
    assert {row["peer"] for row in document["rows"]} - {"diffprivlib"} == {"numpy", "opendp"}
    for row in document["rows"]:
        assert row["ratio"] == pytest.approx(row["ours_per_second"] / row["peer_per_second"])


def test_it_replaces_its_section_of_a_page_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- bench:noise -->\nold\n<!-- /bench:noise -->\nbelow\n", encoding="utf-8")
    assert run(*QUICK, "--into", str(page)).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("above\n<!-- bench:noise -->\n| what |")
    assert text.endswith("\n<!-- /bench:noise -->\nbelow\n")
    assert "old" not in text


def test_a_page_without_marks_is_a_mistake_and_not_a_traceback(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing here\n", encoding="utf-8")
    result = run(*QUICK, "--into", str(page))
    assert result.exit_code == 2
    assert "bench:noise" in result.output
    assert page.read_text(encoding="utf-8") == "nothing here\n"


def test_a_page_without_marks_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- /bench:noise -->\n<!-- bench:noise -->\n", encoding="utf-8")
    monkeypatch.setattr("dpkit_bench.noise.measure_noise", lambda **sizes: pytest.fail("measured"))
    result = run(*QUICK, "--into", str(page))
    assert result.exit_code == 2, result.output
    assert "bench:noise" in result.output


def test_what_was_left_out_stands_on_the_page(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- bench:noise -->\n<!-- /bench:noise -->\n", encoding="utf-8")
    monkeypatch.setattr("dpkit_bench.noise.measure_noise", lambda **sizes: ([], ("a peer is left out: it is not here.",)))
    assert run(*QUICK, "--into", str(page)).exit_code == 0
    assert "*a peer is left out: it is not here.*" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_nothing_is_measured_on_no_rows_and_in_no_runs(name):
    for option, size in MEASUREMENTS[name][1].items():
        if size.quick:
            result = run("bench", name, "--quick", f"--{option.replace('_', '-')}", "0")
            assert result.exit_code == 2, (option, result.output)
            assert "Invalid value" in result.output


def test_pictures_name_every_ratio_in_full_and_say_which_way_is_better():
    fields = {"rows": 10, "columns": 10, "seconds": 1.0, "beside_seconds": 1.0, "ratio": 1.0, "spread": 0.0, "bar": None}
    rows = [
        PassRow(name="gradient pass, by numpy", beside=beside, **fields)
        for beside in ("streaming the features once", "plain numpy over the whole array")
    ]
    shown = picture_of([Section(name="passes", rows=rows, table="")])
    for row in rows:
        assert f"gradient pass, by numpy, d = 10: {row.beside}</text>" in shown
    assert "passes: time of dpkit over the other&#39;s (less is better)</text>" in shown
    many = picture_of([Section(name="passes", rows=rows * 30, table="")])
    assert "the first 40 of 60" in many


@pytest.mark.slow
def test_all_of_it_runs_quickly_and_says_so_on_the_page(tmp_path):
    page, picture = tmp_path / "page.md", tmp_path / "all.svg"
    names = ["accounting", "imports", "noise", "passes", "fit", "ledger", "growth"]
    page.write_text("\n".join(f"<!-- bench:{name} -->\n<!-- /bench:{name} -->" for name in names), encoding="utf-8")
    result = run("bench", "all", "--quick", "--json", "--into", str(page), "--plot", str(picture))
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert {row["peer"] for row in document["rows"] if "peer" in row} >= {"numpy", "bare SQLite", "sufficient statistics"}
    assert {row["axis"] for row in document["rows"] if "axis" in row} == {"compositions", "rows", "columns", "partitions"}
    assert any("cluster" in note for note in document["notes"])
    text = page.read_text(encoding="utf-8")
    assert text.count("Measured with --quick") == len(names)  # the audit has its place on another page
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert len(root.findall("{http://www.w3.org/2000/svg}svg")) >= 5


def test_every_size_is_an_option_with_a_quick_one():
    for name, (_, sizes) in MEASUREMENTS.items():
        text = " ".join(run("bench", name, "--help").output.split())
        for option, size in sizes.items():
            assert f"--{option.replace('_', '-')} " in text
            assert size.quick <= size.full


@pytest.mark.parametrize("name", [*MEASUREMENTS, "all"])
def test_every_verb_has_an_example_and_json_and_stands_in_the_readme(name):
    text = run("bench", name, "--help").output
    assert "--json" in text
    assert f"Example: dpkit bench {name}" in text
    assert f"| `dpkit bench {name}` |" in README.read_text(encoding="utf-8")


def test_the_plugin_brings_the_verb_and_says_what_the_verb_says():
    (command,) = dpkit_bench.dpkit_commands()
    verb = command.load()
    assert (command.name, verb.name) == ("bench", "bench")
    assert verb.help.startswith(command.doc)


def test_loading_the_plugin_loads_no_benchmark():
    loaded = "[name for name in sys.modules if name.startswith('dpkit_bench.')]"
    code = f"import sys, dpkit_bench\ndpkit_bench.dpkit_commands()\nprint({loaded})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_ledger_has_a_row_for_each_durability():
    result = run("bench", "ledger", "--charges", "40", "--processes", "2", "--repeats", "1", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.output)["rows"]
    assert [row["name"].split("=")[1] for row in rows] == ["NORMAL", "FULL", "NORMAL", "FULL"]
    assert all(row["ours_per_second"] > 0 for row in rows)


def test_a_picture_replaces_nothing_else(tmp_path):
    page = tmp_path / "people.csv"
    page.write_text("age\n1\n", encoding="utf-8")
    assert run("bench", "noise", "--quick", "--plot", str(page)).exit_code == 2
    assert page.read_text(encoding="utf-8") == "age\n1\n"
