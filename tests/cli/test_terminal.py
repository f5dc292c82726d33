"""Nothing that a file holds is obeyed by a terminal: it is shown."""

import io
import sys

import pytest
from click.testing import CliRunner

from dpkit.cli import main
from dpkit.cli.terminal import VisibleStream, visible_streams
from dpkit.errors import visible

EVIL = "\x1b[31mred\x1b]0;title\x07\r\u202egnp\u2066\x9b2J\u200b"
YAML = """\
dpkit: 1
data:
  source: "people.csv"
  name: "people{evil}"
  columns:
    "age{evil}": [0, 100]
    city: {{levels: ["a{evil}", b]}}
budget: {{epsilon: 1.0, delta: 1e-6, accountant: zcdp}}
steps:
  - {{id: ages, run: mean, with: {{column: "age{evil}"}}}}
  - {{id: cities, run: histogram, with: {{column: city}}}}
"""
pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")


def said(*arguments):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert visible(done.output) == done.output
    return done.output


def test_no_verb_writes_an_escape(tmp_path):
    escaped = EVIL.encode("unicode_escape").decode().replace("\\x07", "\\a")
    path = tmp_path / f"an{EVIL.replace('/', '')}alysis.yaml"
    (tmp_path / "people.csv").write_text(f"age{EVIL},city\n3,b\n", encoding="utf-8", newline="")
    path.write_text(YAML.format(evil=escaped), encoding="utf-8")
    for verb in ("check", "plan", "explain", "compare"):
        assert said(verb, path)
    assert "red" in said("run", path, "--simulate")
    path.write_text(YAML.format(evil=escaped).replace("[0, 100]", "[0, zero]"), encoding="utf-8")
    assert "zero" in said("check", path)
    said("audit", f"no{EVIL}:thing", "--epsilon", "1")
    said(f"no{EVIL}")
    said("ledger", "show", tmp_path / f"no{EVIL}")
    said("init", tmp_path / f"no{EVIL}.csv", "--to", tmp_path / f"new{EVIL}.yaml")


def test_a_stream_without_unicode_gets_escapes():
    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    VisibleStream(raw).write("ε\x1b")
    raw.flush()
    assert raw.buffer.getvalue() == b"\\u03b5\\x1b"
    assert not hasattr(VisibleStream(raw), "buffer")  # by which click would go around it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", io.StringIO())
        with visible_streams():
            sys.stderr.write("\r")
        assert sys.stderr.getvalue() == "\\r"
