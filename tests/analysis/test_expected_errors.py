"""What the foretold errors of a plan rest on: what is declared, or rows that stand in for the data."""

import json

import numpy as np
import pytest

import dpkit
from dpkit.analysis.rehearsal import expected_errors
from dpkit.errors import SourceError
from dpkit.report.html import report_html


class Silent:
    pass


class Declared:
    def accuracy(self, noise, confidence):
        return {"fine": 2.0 * noise, "unknown": float("inf"), "nothing": None, "true": True}

    def rests_on(self):
        return "guesses."


class Trying(Declared):
    def accuracy_like(self, noise, confidence, rows):
        if np.isnan(rows).any():
            raise dpkit.InvalidValueError(field="like", found="holes", allowed="none", where="trying")
        return {"mean": noise * float(rows[:, 0].mean()), "confidence": confidence}


@pytest.fixture
def step(loaded, monkeypatch):
    def made(algorithm):
        found = loaded().steps[0]
        object.__setattr__(found, "algorithm", algorithm)
        return found

    return made


class Rows:
    name, rows = "public.csv", 40

    def __init__(self, *rows):
        self.found = np.array(rows)

    def codes(self, schema):
        return self.found


def test_errors_and_what_they_rest_on(step):
    rows = Rows([10.0, 0.0], [20.0, 1.0])
    assert expected_errors(step(Silent()), 1.5, rows) == ({}, "")
    assert expected_errors(step(Declared()), 1.5, None) == ({"fine": 3.0}, "guesses.")
    unused = "what is declared: `total` does not try rows, so public.csv is not used. guesses."
    assert expected_errors(step(Declared()), 1.5, rows) == ({"fine": 3.0}, unused)
    assert expected_errors(step(Trying()), 1.5, None) == ({"fine": 3.0}, "guesses.")
    said = "rows drawn from public.csv, which has 40: right where the data are like it."
    assert expected_errors(step(Trying()), 2.0, rows) == ({"mean": 30.0, "confidence": 0.95}, said)
    with pytest.raises(SourceError, match=r"Cannot read public.csv: it cannot stand in .* step 'ages'.*got 'holes'"):
        expected_errors(step(Trying()), 1.0, Rows([np.nan, 0.0]))


def test_a_plan_says_what_its_errors_rest_on(loaded, folder):
    """Of steps that can try rows; others foretell from declarations, and say nothing of the stand-in."""
    lines = "\n".join(f"{30 + n % 7},{'fm'[n % 2]}" for n in range(60))
    (folder / "public.csv").write_text(f"age,sex\n{lines}\n", encoding="utf-8")
    spec = loaded()
    algorithm = type("Both", (Trying, type(spec.steps[0].algorithm)), {})
    made = algorithm(**{name: getattr(spec.steps[0].algorithm, name) for name in ("setting", "column", "passes")})
    object.__setattr__(spec.steps[0], "algorithm", made)
    plain, like = spec.plan(), spec.plan(like=folder / "public.csv")
    assert "rests on    ages: guesses." in str(plain)
    said = "rows drawn from public.csv, which has 60: right where the data are like it."
    assert f"rests on    ages: {said}" in str(like)
    assert [step["expected_error_rests_on"] for step in json.loads(json.dumps(like.as_json()))["steps"]] == [said]
    assert like.steps[0].errors["mean"] == pytest.approx(like.steps[0].noise * np.mean([30 + n % 7 for n in range(60)]))
    assert (like.epsilon, like.steps[0].noise) == (plain.epsilon, plain.steps[0].noise)
    assert said in report_html(like.simulate())
    assert said in like._repr_html_()
