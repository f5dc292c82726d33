"""Entry points read from folders are those that the library finds; what is no plain folder is left to the library."""

import importlib
import sys
import zipfile
from importlib.machinery import PathFinder
from importlib.metadata import MetadataPathFinder

import pytest

from dpkit.hooks import entry_points
from dpkit.hooks.entry_points import Distribution, PluginPoint, _NotPlainError, _of_folders, _of_the_library, plugin_points


@pytest.fixture(autouse=True)
def no_finders_of_others(monkeypatch):
    """Some packages that other tests import put one there: `importlib_metadata` does, and takes that of the library away."""
    plain = [finder for finder in sys.meta_path if finder is PathFinder or not hasattr(finder, "find_distributions")]
    monkeypatch.setattr(sys, "meta_path", plain)
    monkeypatch.setattr(PathFinder, "find_distributions", MetadataPathFinder.find_distributions, raising=False)


def shown(points):
    return sorted(map(repr, points))


def test_both_ways_find_the_same_in_this_environment():
    assert shown(_of_folders()) == shown(_of_the_library())
    assert {"irls", "stats"} <= {point.name for point in plugin_points()}


def test_both_ways_read_metadata_alike(install, tmp_path):
    install("fine", "", requires=["dpkit>=0.1", "numpy>=1; extra == 'more'"], version="3.4.post1")
    (tmp_path / "dpkit_other-1.dist-info").mkdir()
    (tmp_path / "dpkit_other-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: dpkit-other\nSummary: two\n lines: of it\nVersion: 1\n\nName: not this\n",
        encoding="utf-8",
    )
    (tmp_path / "dpkit_other-1.dist-info" / "entry_points.txt").write_text(
        "# a remark\n[console_scripts]\nother = other:main\n\n[dpkit]\n; = no\nsecond=dpkit_other.deep : found.attribute\n",
        encoding="utf-8",
    )
    importlib.invalidate_caches()
    found = list(_of_folders())
    assert shown(found) == shown(_of_the_library())
    assert Distribution(name="dpkit-other", version="1", requires=(), location=str(tmp_path)) in [p.distribution for p in found]
    assert any(p.distribution.requires == ("dpkit>=0.1", "numpy>=1; extra == 'more'") for p in found)


def test_of_two_distributions_with_one_name_the_first_on_the_path_is_meant(install, tmp_path, monkeypatch):
    install("twin", "", version="2")
    behind = tmp_path / "behind" / "Dpkit.Twin-1.dist-info"
    behind.mkdir(parents=True)
    (behind / "METADATA").write_text("Name: dpkit-twin\nVersion: 1\n", encoding="utf-8")
    (behind / "entry_points.txt").write_text("[dpkit]\ntwin = dpkit_twin\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(behind.parent), str(tmp_path / "nowhere")])
    importlib.invalidate_caches()
    assert [point.distribution.version for point in _of_folders() if point.name == "twin"] == ["2"]
    assert shown(_of_folders()) == shown(_of_the_library())


def test_an_archive_on_the_path_is_left_to_the_library(tmp_path, monkeypatch):
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("dpkit_packed-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: dpkit-packed\nVersion: 1\n")
        file.writestr("dpkit_packed-1.dist-info/entry_points.txt", "[dpkit]\npacked = dpkit_packed\n")
    monkeypatch.syspath_prepend(str(archive))
    importlib.invalidate_caches()
    with pytest.raises(_NotPlainError):
        list(_of_folders())
    assert "packed" in {point.name for point in plugin_points()}


@pytest.mark.parametrize("unreadable", ["no sign\n", "Name: only\n", ""])
def test_metadata_that_is_not_plain_is_left_to_the_library(unreadable, install, tmp_path, monkeypatch):
    install("odd", "")
    next(tmp_path.glob("*.dist-info")).joinpath("METADATA").write_text(unreadable, encoding="utf-8")
    importlib.invalidate_caches()
    asked = []
    monkeypatch.setattr(entry_points, "_of_the_library", lambda: asked.append(True) or [])
    assert plugin_points() == []
    assert asked == [True]


@pytest.mark.parametrize("broken", [b"[dpkit]\nno sign\n", b"\xff\xfe[dpkit]"])
def test_one_distribution_that_cannot_be_read_is_left_out_and_the_others_are_found(broken, install, tmp_path):
    install("odd", "")
    before = {point.name for point in plugin_points()}
    next(tmp_path.glob("*.dist-info")).joinpath("entry_points.txt").write_bytes(broken)
    importlib.invalidate_caches()
    found = plugin_points()
    (left_out,) = [point for point in found if point.distribution.name == "dpkit-odd"]
    assert {point.name for point in found} - {left_out.name} == before - {"odd"}
    assert all(point.distribution.version for point in found if point is not left_out)
    with pytest.raises(ValueError, match="cannot be read"):
        left_out.load()


def test_a_finder_with_distributions_of_its_own_is_asked(monkeypatch):
    class Finder:
        def find_spec(self, name, path, target=None):
            return None

        def find_distributions(self, context):
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    with pytest.raises(_NotPlainError):
        list(_of_folders())
    assert shown(plugin_points()) == shown(_of_the_library())


def test_a_point_loads_a_module_or_what_is_in_it():
    def point(value):
        return PluginPoint(name="one", value=value, distribution=Distribution(name="", version="", requires=(), location=""))

    assert point("dpkit.hooks").load() is sys.modules["dpkit.hooks"]
    assert point("dpkit.hooks.entry_points:PluginPoint.load [extra]").load() is PluginPoint.load
    with pytest.raises(ValueError, match="names no module"):
        point("not a module").load()
