"""The report: one page that loads nothing, runs nothing, escapes everything, and shows released values alone."""

import html
import importlib.util
import json
import math
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from report.balance import Balance

from dpkit.analysis.reading.load import load
from dpkit.analysis.showing.html import render
from dpkit.hooks.manager import load_plugins
from dpkit.report.html import coefficients_figures, errors_figures, report_html, write_report

ROOT = Path(__file__).parents[2]
LITTLE = Path(__file__).parent.parent / "analysis" / "little.py"
CANARY = "41.7093817261"
EVIL = "<script>alert(1)</script>"
YAML = f"""\
dpkit: 1
data:
  source: people.csv
  name: "{EVIL}"
  columns:
    "{EVIL}": [0, 100]
budget: {{epsilon: 1.0, delta: 1e-6, accountant: zcdp}}
steps:
  - id: first
    run: total
    with: {{column: "{EVIL}", passes: 4}}
  - id: a-step-with-a-rather-long-name-that-must-not-overflow-a-narrow-screen
    run: total
    share: 2
    with: {{column: "{EVIL}"}}
"""
SECTIONS = [
    "The guarantee",
    "Results",
    "Noise against signal",
    "Where epsilon went",
    "Privacy profile",
    "Trade-off curve",
    "Convergence",
    "What this relies on",
    "Audit",
    "Plugins and versions",
    "How to reproduce",
]


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analysis")
    spec = importlib.util.spec_from_file_location("little_plugin_of_reports", LITTLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (folder / "people.csv").write_text(f"{EVIL}\n30\n{CANARY}\n", encoding="utf-8")
    (folder / "analysis.yaml").write_text(YAML, encoding="utf-8")
    return load(folder / "analysis.yaml", installed=load_plugins(discover=False, extra={"little": module})).plan()


@pytest.fixture(scope="module")
def result(plan):
    return plan.run()


@pytest.fixture(scope="module")
def page(result):
    return report_html(result)


def test_every_section_is_there(page):
    found = [html.unescape(title) for title in re.findall(r"<h2>(.*?)</h2>", page)]
    assert found == SECTIONS
    assert page.count("<svg") >= 6


def test_the_page_is_well_formed_and_neither_loads_nor_runs_anything(page):
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert parser.links == []
    assert not parser.tags & {"script", "link", "img", "iframe", "object", "embed", "form"}
    assert set(re.findall(r"https?://[^\"<\s]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page
    assert len(page) < 200_000


def test_everything_is_escaped(page, result):
    assert EVIL not in page
    assert html.escape(EVIL) in page
    assert EVIL not in result._repr_html_()
    assert EVIL not in result.plan._repr_html_()


NASTY = f"""'\"{EVIL}{{{{ 7919 * 7919 }}}}{{% for %}}</style></title><b onload=x>"""


@dataclass
class Said:
    """An answer of an algorithm, with a name that is hostile wherever a name can be."""

    estimate: float = 1.0
    error: float = 2.0
    coefficients: dict = field(default_factory=lambda: {NASTY: 1.0, "b": 2.0})
    features: str = NASTY


def test_every_word_from_outside_is_escaped_wherever_the_page_shows_it(result):
    """Everything that a step, an outcome, a claim, a certificate or a plugin can say is hostile at once."""
    plan = result.plan
    steps = tuple(
        replace(step, id=NASTY, run=NASTY, advice=(NASTY,), errors={NASTY: 1.0, "answer": 1.0}) for step in plan.steps
    )
    claims = tuple(replace(claim, assuming=(NASTY,)) for claim in plan.claims)
    line = replace(plan.explanation.lines[0], rule=NASTY, conversion=NASTY, event=NASTY)
    explained = replace(plan.explanation, because=NASTY, lines=(line,))
    outcome = replace(next(iter(result.outcomes.values())), result=Said())
    hostile = replace(
        result,
        plan=replace(plan, steps=steps, claims=claims, explanation=explained),
        outcomes={NASTY: outcome},
        run=NASTY,
        earlier=NASTY,
        digest=NASTY,
    )
    for shown in (report_html(hostile), hostile._repr_html_(), hostile.plan._repr_html_()):
        parser = Balance()
        parser.feed(shown)
        assert parser.open == parser.links == []
        assert not parser.tags & {"script", "b"}
        assert "{{ 7919 * 7919 }}" in shown
        assert shown.count(html.escape(EVIL)) > 3


def test_an_audit_is_escaped_too():
    one = SimpleNamespace(
        target=NASTY, verdict=NASTY, hypothesis=NASTY, samples=1000, epsilon_lower=0.1, delta=0.0, power=math.nan
    )
    found = SimpleNamespace(note="", is_refuted=False, certificates=[one], queries=[NASTY], wrong=(), faults=[NASTY])
    for audit in (found, SimpleNamespace(note=NASTY)):
        shown = render("analysis/showing/pieces.html", "audit", found=audit)
        parser = Balance()
        parser.feed(shown)
        assert parser.open == parser.links == []
        assert not parser.tags & {"script", "b"}
        assert html.escape(EVIL) in shown


TEMPLATES = sorted(path for ending in ("html", "svg") for path in (ROOT / "dpkit").rglob(f"*.{ending}"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_passes_a_value_by_the_escape(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe\b|autoescape|Markup", text)
    unquoted = re.sub(r'"[^"]*"', "", re.sub(r"\{%.*?%\}", "", text, flags=re.DOTALL))
    for tag in re.findall(r"<[a-z][^<>]*>", unquoted):
        assert "{{" not in tag, f"a value stands in {tag} without quotes around it"


def test_templates_are_in_the_wheel():
    assert {path.name for path in TEMPLATES} >= {"notebook.html", "pieces.html", "report.html", "pictures.svg"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["dpkit"]}  # with every file in it
    tracked = subprocess.run(["git", "check-ignore", *map(str, TEMPLATES)], cwd=ROOT, capture_output=True, text=True)
    assert tracked.stdout == "", "hatch leaves out what git ignores"


def test_no_cell_is_in_it(page):
    assert CANARY not in page


def test_it_works_in_light_dark_print_and_on_a_phone(page):
    for piece in ("prefers-color-scheme: dark", "@media print", "width=device-width", "max-width: 34rem"):
        assert piece in page


def test_simulations_are_stamped(plan):
    assert "SIMULATION" in report_html(plan.simulate())
    assert "SIMULATION" not in report_html(plan.run())


def test_the_report_is_written(result, tmp_path):
    assert write_report(result, tmp_path / "a" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


POINT_ONE_AND_TWO = [(0.804, 1.196), (1.608, 2.392)]


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        ({"coefficients": {"x": 1.0, "y": -2.0}, "standard_errors": {"x": 0.1, "y": 0.2}}, [(0.804, 1.196), (-2.392, -1.608)]),
        ({"coefficients": [1.0, 2.0], "names": ["x", "y"], "intervals": [[0.5, 1.5], [1.0, 3.0]]}, [(0.5, 1.5), (1.0, 3.0)]),
        ({"coefficients": [1.0], "features": ["x"], "intercept": 2.0, "standard_errors": [0.1, 0.2]}, POINT_ONE_AND_TWO),
        ({"coefficients": [1.0], "intercept": 2.0, "standard_errors": [0.1], "intercept_error": 0.2}, POINT_ONE_AND_TWO),
        ({"coefficients": [1.0, 2.0]}, [(1.0, 1.0), (2.0, 2.0)]),
    ],
)  # fmt: skip
def test_coefficients_are_drawn_with_their_intervals(answer, ends):
    from dpkit.analysis.showing.documents import split_coefficients

    found = [one.ends for one in split_coefficients(answer)[0]]
    assert found == [pytest.approx(pair, abs=1e-3) for pair in ends]
    outcome = SimpleNamespace(result=answer)
    [(_, picture)] = coefficients_figures(SimpleNamespace(outcomes={"fit": outcome}))["fit"]
    assert picture.count("<circle") == 2


def test_coefficients_of_unlike_sizes_do_not_share_a_picture():
    outcome = SimpleNamespace(result={"coefficients": {"mile": 0.001, "hour": 1.0, "carrier": 7.0}})
    assert len(coefficients_figures(SimpleNamespace(outcomes={"fit": outcome}))["fit"]) == 2
    assert coefficients_figures(SimpleNamespace(outcomes={"fit": SimpleNamespace(result={"coefficients": "none"})})) == {}


def test_the_reproduction_block_reads_back_as_the_analysis():
    from dpkit.analysis.reading.read_yaml import parse_yaml, plain, written_yaml

    document = {
        "dpkit": 1,
        "texts": ["yes", "1e-6", "true", "0x10", "a: b", "", "null", "~", "1_000", "2024-01-01", "é"],
        "n": 1e-6,
    }
    document["more"] = {"empty": {}, "none": None, "big": 10**20, "half": 0.5, "is": True, "nested": [[1, 2], {"a": [3]}]}
    assert plain(parse_yaml(written_yaml(document).encode(), file="x")) == document


@pytest.mark.parametrize(
    ("answer", "dots"),
    [
        ({"estimate": 3.0, "error": 1.0}, 1),
        ({"estimates": [3.0, 4.0], "cells": ["f", "m"], "error": 1.0}, 2),
        ({"estimates": [3.0, 4.0], "probabilities": [0.5, 0.9], "error": 0.1}, 0),
        ({"total": 3.0}, 1),
        (3.0, 0),
    ],
)
def test_answers_are_drawn_with_their_errors(answer, dots):
    plan = SimpleNamespace(steps=[SimpleNamespace(id="one", errors={"total": 2.0})])
    found = errors_figures(SimpleNamespace(plan=plan, outcomes={"one": SimpleNamespace(result=answer)}))
    assert sum(picture.count("<circle") for _, picture in found.get("one", ())) == dots


def test_the_picture_of_a_step_stands_after_its_own_table(page):
    results = page.split("<h2>Results</h2>")[1].split("</section>")[0]
    for of_step in results.split("<h3>")[1:]:
        marks = re.findall(r"<(table|figure)>", of_step)
        assert marks[:2] == ["table", "figure"]
        name = of_step.split(" (")[0]
        assert f'<figcaption class="soft">{name}: answers' in of_step


HARNESS = """<!doctype html><body><iframe id="frame" style="width:{width}px;height:900px;border:0" srcdoc="{page}"></iframe>
<script>
const errors = [];
window.onerror = message => errors.push(String(message));
document.getElementById("frame").onload = event => {{
  const inner = event.target.contentDocument.documentElement;
  document.title = JSON.stringify({{
    overflow: inner.scrollWidth - inner.clientWidth,
    requests: event.target.contentWindow.performance.getEntriesByType("resource").length,
    page: getComputedStyle(inner.querySelector("body")).backgroundColor,
    headings: inner.querySelectorAll("h2").length, errors: errors.length }});
}};
</script>"""


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True), (320, False)])
def test_a_browser_shows_it_without_overflow_error_or_request(page, tmp_path, width, dark):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium here: the report was not looked at in a browser")
    harness = tmp_path / "harness.html"
    harness.write_text(HARNESS.format(width=width, page=html.escape(page, quote=True)), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    command += ["--virtual-time-budget=5000", "--dump-dom", harness.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", shown).group(1)))
    assert (found.pop("page") == "rgb(18, 22, 29)") is dark
    assert found == {"overflow": 0, "requests": 0, "headings": len(SECTIONS), "errors": 0}


def test_a_choice_is_not_shown_as_a_value_with_noise(tmp_path):
    pytest.importorskip("dpkit_stats")
    (tmp_path / "a.csv").write_text("x\n" + "1\n2\n" * 50, encoding="utf-8")
    steps = "steps: [{id: n, run: count, with: {column: x}}, {id: m, run: median, with: {column: x}}]\n"
    text = "dpkit: 1\ndata: {source: a.csv, columns: {x: [0, 9]}}\nbudget: {epsilon: 1, delta: 1e-6}\n" + steps
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    found = report_html(load(tmp_path / "a.yaml").plan().run())
    section = found[found.index("Noise against signal") : found.index("Where epsilon went")]
    drawn = section[section.index("<figure>") :]
    assert "count" in drawn
    assert "ranks" not in drawn
    assert "ranks" in section
