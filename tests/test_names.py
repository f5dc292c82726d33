"""A stranger finds the right file from the listing: no name stands for several things."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for folder in (ROOT / "dpkit", *(ROOT / "plugins").glob("*/dpkit_*")) for path in folder.rglob("*.py"))
PAGES = sorted(path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.name != "CHANGELOG.md")


def test_no_three_folders_share_the_name_of_a_file():
    folders = defaultdict(list)
    for path in SOURCES:
        if path.name not in ("__init__.py", "__main__.py"):
            folders[path.name].append(path.parent.relative_to(ROOT).as_posix())
    assert not {name: where for name, where in folders.items() if len(where) > 2}


def test_no_two_public_classes_share_a_name():
    places = defaultdict(list)
    for path in SOURCES:
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            places[name].append(path.relative_to(ROOT).as_posix())
    assert not {name: where for name, where in places.items() if len(where) > 1}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_that_a_page_names_is_there(page):
    named = re.findall(
        r"(?<![\w/.-])((?:dpkit|tests|plugins|examples)/[\w./-]*\.(?:py|html|svg|md|yaml))", page.read_text("utf-8")
    )
    assert not [name for name in named if not (ROOT / name).exists()]
