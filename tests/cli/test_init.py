"""`dpkit init` reads names only and leaves bounds to the analyst."""

import json

from cli.invoking import changed, run


def test_init_reads_names_only_and_leaves_bounds_to_the_analyst(analysis, tmp_path):
    path = tmp_path / "new.yaml"
    (tmp_path / "odd.csv").write_text('age,"no, really",yes\n41.7093817261,2,3\n', encoding="utf-8")
    run("init", tmp_path / "odd.csv", "--header", "--to", path, "--epsilon", "2")
    text = path.read_text()
    assert "# age: [LOWER, UPPER]" in text
    assert '# "no, really": [LOWER, UPPER]' in text
    assert '# "yes": [LOWER, UPPER]' in text
    assert "41.7" not in text
    complaints = run("check", path, code=2)
    assert "data.columns" in complaints
    assert "2 problems" in complaints
    changed(path, ("# age: [LOWER, UPPER]", "age: [0, 100]"), ("run: NAME", "run: total"), ("with: {}", "with: {column: age}"))
    run("plan", path)
    assert "already" in run("init", "--to", path, code=2)
    document = json.loads(run("init", tmp_path / "odd.csv", "--header", "--to", path, "--force", "--json", "--person", "yes"))
    assert document["columns"] == ["age", "no, really", "yes"]
