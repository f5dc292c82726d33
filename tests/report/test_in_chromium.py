"""The report in a browser: it is drawn without a word in the console, and fits a phone and a sheet of paper."""

import random
import shutil
import subprocess

import pytest

import dpkit
from dpkit.report.html import report_html

pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.fixture
def page(tmp_path):
    draw = random.Random(1)
    rows = "\n".join(f"{draw.gauss(50, 9):.1f},{draw.choice('ab')}" for _ in range(800))
    (tmp_path / "p.csv").write_text(f"x,kind\n{rows}\n")
    dpkit.Ledger.create(tmp_path / "p.ledger", budget=dpkit.ApproxDP(epsilon=9.0, delta=1e-6), dataset="p").close()
    (tmp_path / "a.yaml").write_text(
        """dpkit: 1
data: {source: p.csv, rows: 800, columns: {x: [0, 100], kind: {levels: [a, b, c]}}}
budget: {epsilon: 3, delta: 1e-6, ledger: p.ledger}
steps:
  - {id: mean, run: mean, by: [kind], with: {column: x}}
  - {id: kinds, run: histogram, with: {column: kind}}
  - {id: bins, run: histogram, by: kind, with: {column: x, edges: [0, 50, 100]}}
  - {id: middle, run: quantiles, with: {column: x, probabilities: [0.25, 0.5, 0.75]}}
"""
    )
    path = tmp_path / "page.html"
    path.write_text(report_html(dpkit.load(tmp_path / "a.yaml").plan().run()), encoding="utf-8")
    return path


def test_the_page_has_its_gauge_its_tables_and_who_wrote_it(page):
    text = page.read_text()
    assert 'id="budget"' in text
    assert "more runs like this one" in text or "more run like this one" in text
    assert "written by" in text
    assert text.count('class="soft" x=') == 3 + 6  # bars of the histograms
    assert "<h4>mean, all together</h4>" in text
    for head in (">kind</th>", ">cell</th>", ">probability</th>", ">lower</th>"):
        assert head in text


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium")
def test_a_browser_draws_it_on_a_phone_and_on_paper(page, tmp_path):
    def browser(*options):
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", *options]
        return subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=False)

    picture, sheet = tmp_path / "phone.png", tmp_path / "page.pdf"
    browser(f"--screenshot={picture}", "--window-size=390,2400", "--hide-scrollbars")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    browser(f"--print-to-pdf={sheet}", "--no-pdf-header-footer")
    assert sheet.read_bytes()[:4] == b"%PDF"
    assert 1 <= sheet.read_bytes().count(b"/Type /Page\n") <= 6
