"""Every question of the cookbook is asked, and its answer is what the page says."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import dpkit

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
HEAD = re.search(r"```text\n(dpkit: 1\n.*?)```", PAGE, flags=re.DOTALL)[1]
QUESTIONS = re.findall(
    r"^## \d+\. (.*?)\n\n```yaml\n(.*?)```\n\nWithout noise: ([^|]*?)\. Off by at most: ([\d.]+)\.(?: |$)",
    PAGE,
    flags=re.DOTALL | re.MULTILINE,
)


def test_there_are_twelve_questions():
    assert len(QUESTIONS) == PAGE.count("\n## ") == 12


@pytest.mark.parametrize(("question", "step", "truth", "error"), QUESTIONS, ids=[question[0] for question in QUESTIONS])
def test_the_answer_is_what_the_page_says(tmp_path, question, step, truth, error):
    shutil.copy(ROOT / "examples" / "flights" / "flights.csv", tmp_path)
    (tmp_path / "analysis.yaml").write_text(HEAD + step, encoding="utf-8")
    plan = dpkit.load(tmp_path / "analysis.yaml").plan()
    found = numbers_of(plan.run()[plan.steps[0].id])
    expected = [float(text) for text in truth.split(",")]
    assert len(found) == len(expected), question
    # four times what 95 of 100 runs keep to: beyond seven deviations of the noise
    assert np.max(np.abs(np.subtract(found, expected))) <= 4.0 * float(error), question


def numbers_of(answer):
    """The estimates of an answer, in order."""
    if hasattr(answer, "coefficients"):
        return list(answer.coefficients)
    document = answer.to_dict()
    if "rows" in document:
        place = document["columns"].index("estimate")
        return [row[place] for row in document["rows"]]
    return list(document["estimates"]) if "estimates" in document else [document["estimate"]]
