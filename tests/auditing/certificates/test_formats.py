"""Certificates for machines, and as a page: complete, self-contained, and safe whatever a target calls itself."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import jsonschema

from dpkit import PureDP, audit
from dpkit.auditing.certificates.formats import as_badge, as_html, as_junit, as_sarif
from dpkit.auditing.zoo import entry_named

EVIL = '<script>alert("x")</script>&\'"'


def certificate(scale, **options):
    def fn(value, n, rng):
        return value + rng.laplace(scale=scale, size=n)

    return audit(fn, PureDP(epsilon=1.0), (0.0, 1.0), samples=3_000, rng=1, **options)[0]


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_the_page_says_what_the_certificate_says():
    broken, right = certificate(0.5), certificate(1.0)
    text = read(as_html([broken, right])).text
    assert "1 of 2 hypotheses refuted" in text
    for part in (
        broken.digest,
        broken.witness.event,
        broken.witness.code,
        str(broken.seed),
        right.digest,
        "Not refuted is no proof",
    ):
        assert part in text
    assert broken.to_json() in text


def test_nothing_is_loaded_and_nothing_runs():
    page = as_html([certificate(0.5)])
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page)
    assert "script" not in {tag for tag, _ in read(page).tags}


def test_every_word_from_outside_is_escaped():
    one = certificate(0.5, name=EVIL)
    witness = replace(one.witness, event=EVIL, code=EVIL, pair=(EVIL, EVIL))
    one = replace(one, note=EVIL, falsifier=EVIL, tried=(EVIL,), witness=witness, digest="")
    page = as_html([one])
    assert "<script" not in page
    assert read(page).text.count(EVIL) >= 6


def test_a_page_without_certificates_is_a_page():
    assert "0 of 0" in read(as_html([])).text


def test_ci_systems_get_their_formats():
    bad, good = entry_named("laplace half").audit(rng=1), entry_named("laplace").audit(rng=1, samples=1_000)
    assert '<testsuite name="dpkit audit" tests="2" failures="1"' in as_junit([bad, good])
    assert '"ruleId": "black box"' in as_sarif([bad, good])
    assert '"ruleId"' not in as_sarif([good])


SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name"]}}},
                    "results": {
                        "type": "array",
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"required": ["text"]},
                                "locations": {
                                    "items": {
                                        "additionalProperties": False,
                                        "properties": {
                                            "logicalLocations": {"type": "array"},
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "properties": {"uri": {"type": "string", "pattern": "^[^ \\\\]+$"}}
                                                    },
                                                    "region": {"properties": {"startLine": {"type": "integer", "minimum": 1}}},
                                                },
                                            },
                                        },
                                    }
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The parts of the schema of SARIF 2.1.0 that these files use."""


def test_sarif_points_to_the_line_of_what_was_audited():
    broken = audit(wrong, PureDP(epsilon=1.0), (0.0, 1.0), samples=3_000, rng=1)[0]
    document = json.loads(as_sarif([broken, certificate(1.0)]))
    jsonschema.validate(document, SARIF)
    (result,) = document["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("test_formats.py")
    assert place["region"]["startLine"] == wrong.__code__.co_firstlineno


def wrong(value, n, rng):
    return value + rng.laplace(scale=0.5, size=n)


def test_a_badge_says_the_worst_verdict():
    badge = as_badge([certificate(1.0), certificate(0.5)])
    assert badge.startswith("<svg ")
    assert ">refuted<" in badge
    assert ">not refuted<" in as_badge([certificate(1.0)])
    assert ">inconclusive<" in as_badge([])


def test_a_text_stays_readable_with_long_code_tables_and_files():
    refuted = certificate(0.5)
    witness = replace(refuted.witness, code="lambda y: y >= " + "1" * 5_000, pair=("   a\n0  1", "PosixPath('b c.csv')"))
    said = str(replace(refuted, witness=witness, digest=""))
    assert len(said) < 2_500
    assert "… (5,015 characters; whole in the JSON" in said
    assert "\n                 a\n              0  1\n              against\n              b c.csv\n" in said
