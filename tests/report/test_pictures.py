"""Pictures escape every name, take whatever numbers come, and have axes that can be read."""

import re

import pytest
from report.balance import Balance

from dpkit.report.pictures import bars, curves, intervals, stacked

EVIL = "<script>alert(1)</script>"
NASTY = f"""'\"{EVIL}{{{{ 7919 * 7919 }}}}{{% for %}}</style></title><b onload=x>"""


@pytest.mark.parametrize("draw", [
    lambda: bars([(NASTY, 1.0)], title=NASTY, unit=NASTY, headed=True, shown=lambda value: NASTY),
    lambda: bars([("short<b>", 1.0)], title=NASTY),
    lambda: intervals([("<b>\"'", 1.0, 0.0, 2.0)], title=NASTY),
    lambda: curves([("<b>", [(0.0, 1.0), (1.0, 2.0)]), (NASTY, [(0.0, 1.0)])], title=NASTY, across=NASTY, up=NASTY),
    lambda: stacked([bars([("<b>", 1.0)], title=NASTY)], title=NASTY),
])  # fmt: skip
def test_pictures_escape_every_name(draw):
    shown = draw()
    parser = Balance()
    parser.feed(shown)
    assert parser.open == parser.links == []
    assert parser.tags <= {"svg", "title", "style", "text", "line", "rect", "circle", "polyline"}
    assert "{{ 7919 * 7919 }}" in shown
    assert "62710561" not in shown


def test_pictures_take_whatever_numbers_come():
    odd = [("a", float("inf")), ("b", float("nan")), ("c", 0.0)]
    assert str(bars(odd, title="t")).startswith("<svg")
    assert str(intervals([("a", float("nan"), 0.0, 1.0)], title="t")) == ""
    assert str(intervals([("a", 1.0, 1.0, 1.0)], title="t")).startswith("<svg")
    assert str(curves([("a", [])], title="t", across="x", up="y")) == ""
    assert "nan" not in str(curves([("a", [(0.0, 0.0)])], title="t", across="x", up="y"))


@pytest.mark.parametrize(("value", "error"), [(50.0171, 0.00124), (499.552, 0.0124), (1e6 + 0.5, 1e-3), (0.1, 5.0)])
def test_no_two_marks_of_an_axis_look_the_same(value, error):
    marks = re.findall(r'text-anchor="middle">(.*?)</text>', intervals([("a", value, value - error, value + error)], title="t"))
    assert len(marks) > 1
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-7.3, 6.9), (1e-9, 2e-9), (5.0, 5.0), (-1e300, 1e300), (0.0, 0.0)])
def test_axes_have_few_and_round_numbers(low, high):
    from dpkit.report.pictures import _round_numbers

    marks = _round_numbers(low, high, most=6)
    assert 1 <= len(marks) <= 6
    assert marks[0] <= low + 1e-9 * abs(low)
    assert marks[-1] >= high - 1e-9 * abs(high)
    assert all(float(f"{mark:.2g}") == pytest.approx(mark, rel=1e-9) or high - low < abs(high) / 10 for mark in marks)


PLACED = re.compile(r'<text x="([-\d.]+)" y="[-\d.]+" text-anchor="(\w+)">(.*?)</text>')


@pytest.mark.parametrize("name", ["a", "Female, Never Married", "Craft, 4 years of college or more"])
@pytest.mark.parametrize("upper", [9.0, 144_852.0, 1.49e9])
def test_names_and_marks_stay_whole_and_within_the_picture(name, upper):
    drawn = intervals([(name, upper / 2, 0.0, upper)], title="t")
    placed = {words: (float(x), anchor) for x, anchor, words in PLACED.findall(drawn)}
    assert name in placed
    for words, (x, anchor) in placed.items():
        reach = 5.9 * len(words)  # of letters of 11.5 px, measured in Chromium
        start, stop = (x - reach, x) if anchor == "end" else (x - reach / 2, x + reach / 2)
        assert -reach * 0.05 <= start, (words, x)
        assert stop <= 440.0, (words, x)
