"""tests/ mirrors dpkit/: the tests of `dpkit/x/y.py` are in `tests/x/test_y.py`, for most modules."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
MIRRORED = 190  # it only rises; those without are protocols, tables of names, and what the tests of another module run through


def with_and_without(package, tests):
    """Modules that have tests at their mirror, and those that have none there. A file without a test is no mirror."""
    found = {True: [], False: []}
    for module in sorted(package.rglob("*.py")):
        where = module.relative_to(package)
        if where.name != "__init__.py":
            mirror = tests / where.parent / f"test_{where.name}"
            found[mirror.exists() and "def test_" in mirror.read_text(encoding="utf-8")].append(where.as_posix())
    return found[True], found[False]


def test_most_modules_have_their_tests_at_their_mirror():
    mirrored, others = with_and_without(ROOT / "dpkit", ROOT / "tests")
    assert len(mirrored) >= MIRRORED, f"{len(mirrored)} modules have their tests at their mirror. Without: {', '.join(others)}"


def test_an_empty_file_is_no_mirror(tmp_path):
    for name in ("dpkit/x/__init__.py", "dpkit/x/one.py", "dpkit/x/two.py", "dpkit/x/three.py", "tests/x/test_two.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "tests/x/test_one.py").write_text("def test_it():\n    assert True\n", encoding="utf-8")
    assert with_and_without(tmp_path / "dpkit", tmp_path / "tests") == (["x/one.py"], ["x/three.py", "x/two.py"])
