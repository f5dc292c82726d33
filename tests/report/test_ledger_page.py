"""The page of ledgers: what it says, that names cannot break it, and how a real browser shows it."""

import html
import json
import re
import shutil
import subprocess

import pytest

from dpkit import ApproxDP, Gaussian, GaussianEvent, Ledger, PureDP, PureEvent, Repeat, l2
from dpkit.auditing.audit import audit
from dpkit.release.ledger.steward import approve, write_off
from dpkit.report.found_audits import FoundAudit
from dpkit.report.ledger_page import content_policy, ledger_page

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>&amp;'
SECRET = 4815162342.25


@pytest.fixture
def ledgers(tmp_path):
    made = Ledger.create(tmp_path / "l", budget=ApproxDP(epsilon=3, delta=1e-6), dataset=HOSTILE, approval=False, who=HOSTILE)
    for number in range(3):
        event, run = GaussianEvent(ratio=0.05 + 0.03 * number), f"run {number} {HOSTILE if number else ''}"
        made.reserve(run, Repeat(event=event, times=3), analysis=f"digest {number}")
        made.released(made.charge(run, event, key=HOSTILE), SECRET)
        if number < 2:
            made.close_run(run)
    other = Ledger.create(tmp_path / "m", budget=PureDP(epsilon=1.0), accountant="pure", dataset="pure one")
    yield made, other
    made.close()
    other.close()


def test_it_says_what_the_ledger_says(ledgers):
    page = ledger_page(ledgers[:1])
    for words in (
        "run 0",
        "digest 2",
        "12 entries, all as they were written",
        "any attack on what was released",
        "The bar shows",
    ):
        assert words in page
    assert page.count("<tr><td>run ") == 3
    assert "more runs like the last one" in page


def test_a_run_has_its_sentence_its_plan_and_its_certificates(ledgers):
    certificates = tuple(audit(Gaussian(scale=2.0), samples=2000, rng=3, at=l2(1.0)))
    audits = {
        "digest 0": FoundAudit(analysis="digest 0", certificates=certificates, queries=(HOSTILE,)),
        "digest 1": FoundAudit(analysis="digest 1", faults=(HOSTILE,)),
    }
    page = ledger_page(ledgers[:1], audits=audits)
    assert page.count("What is released is (epsilon = ") == 3
    assert "3 x gaussian(ratio=0.05)" in page
    assert certificates[0].digest in page
    assert page.count("Audited: nothing that it relies on was refuted.") == 1
    assert page.count("REFUTED: something that this run relies on is false.") == 1
    assert page.count("No audit of this analysis was given.") == 1
    assert "<script>alert" not in page


def test_spent_held_and_budget_are_drawn_over_time(ledgers):
    page = ledger_page(ledgers[:1])
    for series in ("spent and held", ">budget<", "the gap to the budget"):
        assert series in page


def test_an_approval_says_by_whom_and_after_which_audit(tmp_path):
    place = tmp_path / "a"
    with Ledger.create(place, budget=ApproxDP(epsilon=3, delta=1e-6), dataset="d", approval=True, who="ann") as ledger:
        for run in ("one", "two"):
            ledger.reserve(run, GaussianEvent(ratio=0.05))
    with Ledger.open(place, who="bob") as ledger:
        approve(ledger, "one", certificates=["sha256:00"])
        approve(ledger, "two")
        page = ledger_page([ledger])
    assert page.count("after an audit that refuted nothing") == 1
    assert page.count("without an audit") == 1


def test_no_released_value_is_on_it_and_no_name_breaks_it(ledgers):
    page = ledger_page(ledgers)
    assert "4815162342" not in page
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("<script>") == 1


def test_an_empty_ledger_has_a_page(ledgers):
    page = ledger_page(ledgers[1:])
    assert "No run yet." in page
    assert "pure one" in page


def test_a_ledger_that_does_not_verify_says_so(ledgers, tmp_path):
    from laws.ledger_laws import tamper

    tamper(tmp_path / "l", "UPDATE entries SET value = '[1.0]' WHERE value IS NOT NULL")
    assert "does not verify" in ledger_page(ledgers[:1])


def test_what_was_written_off_is_part_of_what_was_told(tmp_path):
    def power_of(ledger):
        return float(re.search(r"at most ([0-9.]+)% of the time", ledger_page([ledger])).group(1))

    with Ledger.create(tmp_path / "w", budget=ApproxDP(epsilon=3, delta=1e-6), dataset="d") as ledger:
        ledger.reserve("run")
        ledger.charge("run", GaussianEvent(ratio=0.05), key="0")
        before = power_of(ledger)
        write_off(ledger, GaussianEvent(ratio=0.4), since="f" * 64)
        assert power_of(ledger) > before + 2.0
        assert [entry.kind for entry in ledger.entries() if entry.is_paid] == ["charge", "write-off"]


def test_pay_as_you_go_and_pure_losses_are_shown(ledgers):
    ledger = ledgers[1]
    ledger.reserve("free")
    ledger.charge("free", PureEvent(epsilon=0.25), key="0")
    page = ledger_page([ledger])
    assert "pays as it goes" in page
    assert "epsilon 0.25" in page


HARNESS = """<!doctype html><meta charset="utf-8"/><iframe id="frame" width="{width}" height="900" srcdoc="{page}"></iframe>
<script>
document.getElementById("frame").onload = event => {{
  const inner = event.target.contentDocument, root = inner.documentElement, out = {{}};
  out.overflow = root.scrollWidth - root.clientWidth;
  out.requests = event.target.contentWindow.performance.getEntriesByType("resource").length;
  const body = inner.querySelector("table.runs").tBodies[0];
  const names = () => [...body.rows].filter(row => !row.hidden).map(row => row.cells[0].textContent.slice(0, 5));
  const search = inner.querySelector("input");
  out.hidden = search.hidden;
  search.value = "RUN 1"; search.dispatchEvent(new Event("input"));
  out.found = names();
  search.value = ""; search.dispatchEvent(new Event("input"));
  const button = inner.querySelectorAll("table.runs th button")[4];
  button.focus(); button.click();
  out.up = names(); button.click(); out.down = names();
  out.focused = inner.activeElement === button;
  document.title = JSON.stringify(out);
}};
</script>"""


@pytest.mark.parametrize("width", [1200, 320])
def test_a_browser_sorts_and_searches_it_without_error_or_request(ledgers, tmp_path, width):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium here: the page was not looked at in a browser")
    # the inner page keeps its own policy; the frame is of the same origin, so that it can be looked into
    harness = tmp_path / "harness.html"
    harness.write_text(HARNESS.format(width=width, page=html.escape(ledger_page(ledgers), quote=True)), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", harness.as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert not re.findall(r"CONSOLE.*", run.stderr)
    found = json.loads(html.unescape(re.search(r"<title>(\{.*?\})</title>", run.stdout).group(1)))
    assert found == {
        "overflow": 0,
        "requests": 0,
        "hidden": False,
        "found": ["run 1"],
        "up": ["run 0", "run 1", "run 2"],
        "down": ["run 2", "run 1", "run 0"],
        "focused": True,
    }


def test_the_policy_allows_its_own_script_alone():
    assert "script-src 'sha256-" in content_policy()
    assert "unsafe-inline'; script" in content_policy()
