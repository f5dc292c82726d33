"""YAML as nodes that know their line and column. The one file that imports yaml; it makes no objects but plain values.

Words mean what YAML 1.2 says: only `true` and `false` are booleans (`yes`, `no`, `on` and `off` are texts, and Norway stays
Norway), and `1e-6` is a number.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

import yaml

from dpkit.errors import Problem, SpecError
from dpkit.values import dataclass

LARGEST_FILE = 1_000_000
"""Bytes. An analysis is a page of text; something this large is a mistake, often the data itself, and slow to refuse."""

MOST_NODES = 100_000
"""Nodes after aliases are written out, so that a small file cannot unfold into a large one."""

DEEPEST = 40

_OF_DATA = (
    *(".csv", ".tsv", ".parquet", ".pq", ".arrow", ".feather", ".jsonl", ".ndjson", ".xlsx"),
    *(".gz", ".zip", ".zst", ".db", ".sqlite", ".sqlite3", ".duckdb", ".ledger"),
)
_ROOT_KEY = re.compile(
    rb"""^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[ \t{]*+["']?(dpkit|data|budget|steps)["']?[ \t]*:""", re.MULTILINE
)
"""A line that begins with a key of an analysis."""

_TAG = "tag:yaml.org,2002:"
_SCALARS = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
_TAGS = {
    yaml.ScalarNode: frozenset(_TAG + kind for kind in _SCALARS),
    yaml.SequenceNode: frozenset({_TAG + "seq"}),
    yaml.MappingNode: frozenset({_TAG + "map"}),
}

Plain = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """One value. `quoted` when it was written with quotes, or as a block of text; `written` is how it stands in the file."""

    value: Plain
    place: Place
    quoted: bool = False
    written: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """A mapping with text keys; `keys` says where each key stands."""

    entries: Mapping[str, Node]
    keys: Mapping[str, Place]
    place: Place


Node = Scalar | Items | Entries


def read_yaml(path: Path) -> Node:
    """The document of a file; `SpecError` for whatever is not one."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = {FileNotFoundError: "there is no such file", IsADirectoryError: "it is a folder"}.get(type(error))
        raise _broken(str(path), Place(line=1, column=1), reason or f"it cannot be read ({error.strerror})") from None
    if path.suffix.lower() in _OF_DATA or not _looks_like_an_analysis(content):
        allowed = "YAML that begins with `dpkit: 1`; is this the data?"  # which must not be shown
        raise _broken(str(path), Place(line=1, column=1), "it is not an analysis", allowed)
    return parse_yaml(content, file=str(path))


def _looks_like_an_analysis(content: bytes) -> bool:
    """Whether lines begin with `dpkit`, or with two other keys of an analysis. Messages quote what an analysis says, and data
    that was named in its place must not be quoted. An empty file has nothing to show.
    """
    without_zeros = content.replace(b"\0", b"")  # of UTF-16, too
    found = set(_ROOT_KEY.findall(without_zeros))
    return not without_zeros.strip() or b"dpkit" in found or len(found) > 1


def parse_yaml(content: bytes, *, file: str) -> Node:
    """The document of these bytes; `file` is how messages call them."""
    start = Place(line=1, column=1)
    if len(content) > LARGEST_FILE:
        raise _broken(file, start, "the file is larger than 1 MB", "an analysis; is this the data?")
    try:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        place = Place(line=before.count(b"\n") + 1, column=error.start - (before.rfind(b"\n") + 1) + 1)
        allowed = "text in UTF-8; save the file in that encoding"
        raise _broken(file, place, "a byte that is not UTF-8", allowed) from None
    loader = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except RecursionError:
        raise _broken(file, start, f"it is nested more than {DEEPEST} deep") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = start if mark is None else Place(line=mark.line + 1, column=mark.column + 1)
        said = " ".join(part for part in (error.problem, error.context) if part)
        hint = "Indent by spaces; YAML allows no tabs." if "\\t" in said else ""
        raise _broken(file, place, f"this is not YAML: {said}", hint=hint) from None
    except (ValueError, OverflowError):  # PyYAML makes a character of any number
        mark = start if loader is None else Place(line=loader.line + 1, column=loader.column + 1)
        raise _broken(file, mark, "this is not YAML: an escape for a character that there is not") from None
    except yaml.YAMLError:
        raise _broken(file, start, "it holds characters that YAML does not allow", "printable text") from None
    if root is None:
        raise _broken(file, start, "the file is empty", "a mapping that begins with `dpkit: 1`")
    return _Conversion(file).node(root, 0)


def plain(node: Node) -> object:
    """The node as lists, dicts and values."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, value in node.entries.items()}


def place_within(node: Scalar, start: int) -> Place:
    """Where a character of a text stands: quotes, escapes, line ends and indentation are taken into account."""
    text, written = str(node.value), node.written
    style = written[:1] if node.quoted else ""
    at = 1 if style in ("'", '"') else written.find("\n") + 1 if style in ("|", ">") else 0
    for place, character in enumerate(text[: start + 1]):
        if not character.isspace():
            while at < len(written) and written[at] != character:
                at += 1
        if place < start:
            at += 2 if character == style == "'" else 1
    before = written[: min(at, len(written))]
    lines = before.count("\n")
    column = at - (before.rfind("\n") + 1) + 1 if lines else node.place.column + at
    return Place(line=node.place.line + lines, column=column)


def without_end(node: Node) -> Iterator[tuple[Place, float]]:
    """Where numbers stand that are not finite, which no declaration allows."""
    if isinstance(node, Scalar):
        if isinstance(node.value, float) and not math.isfinite(node.value):
            yield node.place, node.value
        return
    for inner in node.items if isinstance(node, Items) else node.entries.values():
        yield from without_end(inner)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Composes nodes and never constructs; stops at too many nodes before they fill the memory."""

    count = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.count += 1
        if self.count > MOST_NODES:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem=f"more than {MOST_NODES} values", problem_mark=mark)
        return super().compose_node(parent, index)


class _Conversion:
    """From yaml's nodes to ours: keys unique and texts, aliases counted as often as they are used, merge keys merged."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._count = 0

    def node(self, node: yaml.Node, depth: int) -> Node:
        place = Place(line=node.start_mark.line + 1, column=node.start_mark.column + 1)
        self._count += 1
        if self._count > MOST_NODES:
            raise _broken(self._file, place, f"aliases unfold into more than {MOST_NODES} values")
        if depth > DEEPEST:
            raise _broken(self._file, place, f"it is nested more than {DEEPEST} deep, or an alias holds itself")
        if node.tag not in _TAGS[type(node)]:
            raise _broken(self._file, place, f"the tag {node.tag!r}", "plain values: dpkit builds no objects from YAML")
        if isinstance(node, yaml.SequenceNode):
            return Items(items=tuple(self.node(item, depth + 1) for item in node.value), place=place)
        if isinstance(node, yaml.MappingNode):
            return self._entries(node, place, depth)
        if _NO_TEXT.search(str(node.value)):  # by escapes YAML can write what is no text
            raise _broken(self._file, place, _NO_CHARACTER, "other texts")
        quoted = node.style is not None
        # with `!!str` before it, PyYAML itself would have taken it for something else
        called_a_text = node.tag == _TAG + "str" and _RESOLVER.resolve(yaml.ScalarNode, node.value, (True, False)) != node.tag
        value = node.value if quoted or called_a_text else resolve(node.value)
        start, end = node.start_mark, node.end_mark
        written = "" if start.buffer is None else start.buffer[start.pointer : end.pointer]
        return Scalar(value=value, place=place, quoted=quoted, written=written)

    def _entries(self, node: yaml.Node, place: Place, depth: int) -> Entries:
        entries: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        merged: dict[str, Node] = {}
        for key_node, value_node in node.value:
            key_place = Place(line=key_node.start_mark.line + 1, column=key_node.start_mark.column + 1)
            if not isinstance(key_node, yaml.ScalarNode):
                raise _broken(self._file, key_place, "a key is a list or a mapping", "texts as keys")
            key = str(key_node.value)
            if _NO_TEXT.search(key):
                raise _broken(self._file, key_place, _NO_CHARACTER, "other texts")
            if key == "<<" and key_node.style is None:
                for other in self._merged(value_node, depth):
                    for name, value in other.entries.items():
                        merged.setdefault(name, value)
                        keys.setdefault(name, other.keys[name])
                continue
            if key in entries:
                found = f"the key {key!r} is there twice; the first is in line {keys[key].line}"
                raise _broken(self._file, key_place, found, "each key once")
            entries[key] = self.node(value_node, depth + 1)
            keys[key] = key_place
        return Entries(entries={**merged, **entries}, keys=keys, place=place)

    def _merged(self, node: yaml.Node, depth: int) -> list[Entries]:
        found = self.node(node, depth + 1)
        several = found.items if isinstance(found, Items) else (found,)
        mappings = [item for item in several if isinstance(item, Entries)]
        if len(mappings) != len(several):
            raise _broken(self._file, found.place, "`<<` merges something else", "an alias of a mapping")
        return mappings


_RESOLVER = yaml.resolver.Resolver()
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""What files, ledgers and other programs cannot hold."""
_NO_CHARACTER = "a character that no text holds: NUL, or half of a surrogate pair"
_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,5})?")
_WORDS: Mapping[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), float("inf")),
    "-.inf": float("-inf"),
}


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Quotes every text that would be read as something else."""


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if resolve(text) == text else '"')


_Dumper.add_representer(str, _quoted)
_Dumper.ignore_aliases = lambda self, data: True


def written_yaml(document: object) -> str:
    """Plain values as YAML that reads back as the same values; small lists and mappings on one line."""
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100))


def resolve(text: str) -> Plain:
    """What an unquoted word means in YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _broken(file: str, place: Place, found: str, allowed: str = "", *, hint: str = "") -> SpecError:
    problem = Problem(file=file, line=place.line, column=place.column, path="", found=found, allowed=allowed, hint=hint)
    return SpecError(problems=[problem])
