"""Reading YAML: places are kept, words mean what YAML 1.2 says, and whatever is not an analysis is one message."""

import time

import pytest

from dpkit.analysis.reading.read_yaml import LARGEST_FILE, parse_yaml, plain, read_yaml
from dpkit.errors import SpecError


def read(text):
    return parse_yaml(text.encode() if isinstance(text, str) else text, file="a.yaml")


def refused(text):
    with pytest.raises(SpecError) as caught:
        read(text)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1e-6", 1e-6),
        ("1E6", 1e6),
        (".5", 0.5),
        ("-3", -3),
        ("yes", "yes"),
        ("NO", "NO"),
        ("on", "on"),
        ("true", True),
        ("'true'", "true"),
        ('"1e-6"', "1e-6"),
        ("~", None),
        ("2013-01-01", "2013-01-01"),
        ("1:30", "1:30"),
        ("!!str 5", "5"),
        ("010", 10),
    ],
)
def test_words_mean_what_yaml_1_2_says(written, meant):
    value = plain(read(f"a: {written}"))["a"]
    assert value == meant
    assert type(value) is type(meant)


def test_every_node_knows_its_place():
    node = read("a: 1\nb:\n  - x\n  - {c: 2}\n")
    assert (node.keys["b"].line, node.keys["b"].column) == (2, 1)
    item = node.entries["b"].items[1]
    assert (item.place.line, item.place.column) == (4, 5)
    assert item.entries["c"].place.column == 9


def test_anchors_and_merge_keys_are_fine():
    text = "base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nlist: [*b]\n"
    assert plain(read(text)) == {"base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}, "list": [{"x": 1, "y": 2}]}


def test_a_key_that_is_there_twice_is_refused_with_both_places():
    problem = refused("a: 1\nb: 2\na: 3\n")
    assert (problem.line, problem.column) == (3, 1)
    assert "line 1" in problem.found


def test_an_alias_bomb_is_refused_quickly():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    start = time.process_time()
    assert "aliases unfold" in refused("\n".join(lines)).found
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize("text", ["a: &a [*a]", "[" * 3000, "a: " + "{b: " * 60 + "1" + "}" * 60])
def test_what_is_too_deep_is_refused(text):
    assert "deep" in refused(text).found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("# nothing\n", "empty"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("a: [1\n", "not YAML"),
        ("a:\n\t- 1\n", "not YAML"),
        ("a: !!python/object/apply:os.system ['true']", "tag"),
        ("a: !secret x", "tag"),
        ("a: !!python/name:os.system x", "not YAML|tag"),
        ("? [1, 2]\n: 3\n", "key"),
        ("a: \x00", "characters"),
        (b"a: 1\nb: caf\xe9\n", "not UTF-8"),
        ("<<: 3\n", "merges"),
    ],
)
def test_whatever_is_not_plain_yaml_is_one_message(text, said):
    import re

    problem = refused(text)
    assert re.search(said, problem.found)
    assert str(problem).startswith("a.yaml:")


def test_the_place_of_a_wrong_byte_is_named():
    problem = refused(b"a: 1\nb: caf\xe9\n")
    assert (problem.line, problem.column) == (2, 7)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_usual_encodings_are_read(encoding):
    assert plain(read("a: é\n".encode(encoding))) == {"a": "é"}


def test_a_large_file_is_refused_before_it_is_parsed():
    assert "1 MB" in refused(b"#" * (LARGEST_FILE + 1)).found
    assert "more than" in refused("[" + "1," * 200_000 + "]").found


def test_a_file_that_is_missing_or_a_folder_is_one_message(tmp_path):
    for path, said in ((tmp_path / "no.yaml", "no such file"), (tmp_path, "folder")):
        with pytest.raises(SpecError, match=said):
            read_yaml(path)
