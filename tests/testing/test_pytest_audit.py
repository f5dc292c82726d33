"""The pytest plugin: a false claim fails a test, a true one passes, by options of the call and of the marker."""

import subprocess
import sys
import textwrap

import pytest

CONFTEST = 'pytest_plugins = ["dpkit.testing.pytest_audit"]\n'
TESTS = """
import pytest

import dpkit


def fn(value, n, rng):
    return value + rng.laplace(scale=0.5, size=n)


def test_true(dp_audit):
    found = dp_audit(fn, dpkit.PureDP(epsilon=2.0), (0.0, 1.0), samples=400)
    assert found[0].confidence == 1.0 - 1e-9
    assert found[0].budget == 400


@pytest.mark.audit(confidence=0.99, samples=4_000, rng=5)
def test_false(dp_audit):
    dp_audit(fn, dpkit.PureDP(epsilon=1.0), (0.0, 1.0))


@pytest.mark.audit(refuted=True)
def test_false_and_known_to_be(dp_audit):
    (one,) = dp_audit(fn, claim=dpkit.PureDP(epsilon=1.0), pair=(0.0, 1.0))
    assert one.refuted


def test_true_and_thought_to_be_false(dp_audit):
    dp_audit(fn, dpkit.PureDP(epsilon=2.0), (0.0, 1.0), samples=100, refuted=True)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(textwrap.dedent(TESTS), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--strict-markers", "-rA", "-p", "no:cacheprovider", "--rootdir", folder, folder]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("test_true", "PASSED"),
        ("test_false", "FAILED"),
        ("test_false_and_known_to_be", "PASSED"),
        ("test_true_and_thought_to_be_false", "FAILED"),
    ],
)
def test_the_outcome_is_that_of_the_audit(report, name, outcome):
    assert any(line.startswith(outcome) and line.split(" - ")[0].endswith(f"::{name}") for line in report.splitlines()), report


def test_a_failure_shows_the_certificate(report):
    assert "REFUTED: test_it:fn" in report
    assert "lower bound epsilon >=" in report
    assert "confidence  0.99 over the whole audit; seed 5" in report
