"""Where results may go. Nothing is replaced that dpkit did not write, nothing that an analysis reads is an output, and a
file is there as a whole or not at all.
"""

from __future__ import annotations

import fnmatch
import glob
import itertools
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import escape

from dpkit.errors import OutputError
from dpkit.release.ledger.sqlite_file import COMPANIONS

if TYPE_CHECKING:
    from dpkit.analysis.reading.spec import Spec

_HTML = rb'\A<!doctype html>\s*<html lang="en"><head>(?:<meta [^<>]*>)*<title>'
_SARIF = rb'\A\{\s*"\$schema": "https://json\.schemastore\.org/sarif-2\.1\.0\.json",\s*"version": "2\.1\.0",\s*"runs": \[\s*\{'
KINDS: Mapping[str, bytes] = {
    "report": _HTML + rb"[^<]*: a private analysis of ",
    "result": rb'\A\{\s*"dpkit-result": [0-9]',
    "trace": rb'\A\{\s*"accountant": "[^"]*",\s*"dpkit": "[^"]*",\s*"dpkit-trace": [0-9]',
    "audit of an analysis": rb'\A\{\s*"dpkit-analysis-audit": [0-9]',
    "audit page": _HTML + rb"dpkit audit: ",
    "audit badge": rb"\A<svg [^<>]*><title>dpkit audit: ",
    "JUnit file": rb'\A(?:<\?xml[^<>]*\?>\s*)?<testsuite name="dpkit audit"',
    "SARIF file": _SARIF + rb'\s*"tool": \{\s*"driver": \{\s*"name": "dpkit audit"',
    "picture": rb"\A<svg [^<>]*><title>[^<]*</title><style>\nsvg text \{ font: 11\.5px",
    "page of ledgers": _HTML + rb"dpkit ledger: ",
    "export of a ledger": rb'\A\{"(?:dpkit-ledger-head":[0-9]|body":"\{)',
    "disclosure": rb"\A# dpkit disclosure of ",
    "disclosure page": rb"\A<!-- dpkit disclosure page -->",
    "label": rb"\A<!-- dpkit label -->",
    "analysis": rb"\A(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\r?\n)*dpkit: *[0-9]",  # after comments alone
}
"""How a file of dpkit's begins, by its kind, as a regular expression: what this version writes, and what earlier ones wrote."""

_BEGINNING = 1 << 16


def kind_of_text(beginning: bytes) -> str | None:
    """Which kind of dpkit's files begins like this; None where none does."""
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, beginning)), None)


def kind_of_file(path: Path) -> str | None:
    """Which kind of dpkit's files this is; None where it is somebody else's."""
    with path.open("rb") as file:
        return kind_of_text(file.read(_BEGINNING))


def check_replaceable(path: Path, kind: str) -> None:
    """Refuse a path where something stands that dpkit did not write as this kind of file."""
    reason = occupied(path, kind)
    if reason is not None:
        raise OutputError(path=path, reason=reason, fix="Name another file, or move that one away.")


def occupied(path: Path, kind: str) -> str | None:
    """Why this path cannot become a file of this kind: what stands there; None where nothing does, or an earlier one."""
    try:
        if not os.path.lexists(path) or (path.is_symlink() and not path.exists()):
            return None
        if path.is_dir():
            return "it is a folder."
        if not path.is_file():
            return "it is not a regular file."
        found = kind_of_file(path)
    except OSError as error:
        return f"{error.strerror or type(error).__name__}."
    except ValueError:
        return "it is not the name of a file."
    if found == kind:
        return None
    there = "dpkit did not write it" if found is None else f"it is dpkit's {found}"
    return f"it is there already, and {there}."


def outputs_of(spec: Spec, *, simulated: bool = False, folder: Path | None = None) -> dict[str, Path]:
    """What a run writes, by kind, named after the analysis; a report may have a name of its own."""
    where, prefix = spec.report.parent if folder is None else folder, "simulation-" if simulated else ""
    named = {kind: where / f"{prefix}{spec.path.stem}-{kind}.json" for kind in ("result", "trace")}
    return {"report": where / f"{prefix}{spec.report.name}", **named}


def free_outputs(spec: Spec, run: str, outputs: Mapping[str, Path], *, simulated: bool = False) -> dict[str, Path]:
    """Where the outputs of a run go: to their places, or to the next numbers where other runs have written theirs.

    What another analysis or another run wrote is never replaced; what this very run wrote may be, since it may have been
    interrupted. A simulation replaces earlier ones of the same analysis.
    """
    found = dict(outputs)
    if "report" in found and _is_of_another_analysis(found["report"], spec):
        found["report"] = found["report"].with_name(f"{spec.path.stem}-{found['report'].name}")
    for number in itertools.count(1):
        places = {kind: _numbered(path, number) for kind, path in found.items()}
        own = is_of_run(places["result"], run)
        free = all(not os.path.lexists(path) or own or is_of_run(path, run) for path in places.values())
        if free or (simulated and number == 1):
            return places
    raise AssertionError


def is_of_run(path: Path, run: str) -> bool:
    """Whether a result or a report is that of this run."""
    marks = f'"run": {json.dumps(run)}', f"\nrun {escape(run)}\n"
    with suppress(OSError):
        text = path.read_bytes()
        return kind_of_text(text[:_BEGINNING]) in ("result", "report") and any(mark.encode() in text for mark in marks)
    return False


def _is_of_another_analysis(report: Path, spec: Spec) -> bool:
    title = f"<title>{escape(spec.path.stem)}: a private analysis of "
    with suppress(OSError), report.open("rb") as file:
        return title.encode() not in file.read(_BEGINNING)
    return False


def _numbered(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")


def objection(spec: Spec, path: Path, kind: str) -> str | None:
    """Why this must not be an output of an analysis; None where it may."""
    read = next((what for what, other in inputs_of(spec) if is_same_file(path, other)), None)
    if read is not None:
        return f"it is {read}."
    if spec.data.source_parameters is None and any(_matches(path, pattern) for pattern in _patterns(spec)):
        return "the pattern of `data.source` takes it for data."
    return occupied(path, kind)


def check_outputs(spec: Spec, outputs: Mapping[str, Path]) -> None:
    """Refuse, before anything is charged, outputs that would replace what dpkit did not write, or that are one file."""
    for kind, path in outputs.items():
        reason = objection(spec, path, kind)
        if reason is not None:
            raise OutputError(path=path, reason=reason, fix="Name another place: `report: out/report.html`.")
    places = [os.path.realpath(path) for path in outputs.values()]
    for kind, path in outputs.items():
        if places.count(os.path.realpath(path)) > 1:
            raise OutputError(path=path, reason=f"several results would be written there, the {kind} among them.")


def inputs_of(spec: Spec) -> Iterator[tuple[str, Path]]:
    """Every file that an analysis reads or charges, with what it is. Of a plugin's source: what its parameters name."""
    yield "the analysis itself", spec.path
    if isinstance(spec.budget.ledger, Path):
        yield "the ledger", spec.budget.ledger
        for ending in COMPANIONS:
            yield "a companion of the ledger", spec.budget.ledger.with_name(spec.budget.ledger.name + ending)
    yield from (("a public table that is joined", file) for file in spec.data.joined)
    for given in spec.data.like or ():
        found = glob.iglob(given, recursive=True) if glob.has_magic(given) else ()
        yield from (("the table that stands in for the data", Path(one)) for one in (given, *found))
    if spec.data.source_parameters is None:
        for pattern in _patterns(spec):
            yield "the data", Path(pattern)
            if glob.has_magic(pattern):
                yield from (("the data", Path(found)) for found in glob.iglob(pattern, recursive=True))
        return
    folder = spec.path.absolute().parent
    for value in spec.data.source_parameters.values():
        for text in value if isinstance(value, tuple | list) else (value,):
            if isinstance(text, str) and text.strip() and "\0" not in text:
                yield from (("the data", folder / text), ("the data", Path(text)))


def _patterns(spec: Spec) -> tuple[str, ...]:
    return (spec.data.source,) if isinstance(spec.data.source, str) else spec.data.source


def _matches(path: Path, pattern: str) -> bool:
    """Whether a file of this name would be found by a glob, once it is there."""
    if not glob.has_magic(pattern) or os.path.exists(pattern):
        return False
    parts, wanted = Path(os.path.abspath(path)).parts, Path(os.path.abspath(pattern)).parts
    if "**" in wanted:
        return fnmatch.fnmatchcase("/".join(parts), "/".join(part for part in wanted if part != "**")) or fnmatch.fnmatchcase(
            "/".join(parts), "/".join(wanted)
        )
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths are one file, by name, by a link of any kind, or once it is there."""
    try:
        if os.path.realpath(one) == os.path.realpath(other):
            return True
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def write_output(path: Path, text: str) -> None:
    """Write one of dpkit's files, in place of nothing or of an earlier one of its kind."""
    kind = kind_of_text(text[:_BEGINNING].encode("utf-8", "replace"))
    assert kind is not None, "a file of dpkit's says what it is"
    check_replaceable(path, kind)
    write_whole(path, text)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all; `OutputError` where it cannot be written."""
    try:
        content = text.encode("utf-8")
    except ValueError as error:
        raise OutputError(path=path, reason=f"{type(error).__name__}.") from None
    _write(path, content)


def _write(path: Path, content: bytes) -> None:
    temporary = None
    try:
        mode = path.stat().st_mode & 0o777 if path.is_file() else 0o644
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".dpkit-", delete=False) as file:
            temporary = file.name
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise OutputError(path=path, reason=f"{error.strerror or type(error).__name__}.") from None
    except ValueError as error:
        raise OutputError(path=path, reason=f"{type(error).__name__}.") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def write_beside(spec: Spec, path: Path, content: bytes) -> Path:
    """Write a table where nothing is, under the next number where something else is; where it is itself, it stays."""
    for number in itertools.count(1):
        place = _numbered(path, number)
        if not os.path.lexists(place):
            break
        with suppress(OSError):
            if place.is_file() and place.read_bytes() == content:
                return place
    reason = objection(spec, place, "table")
    if reason is not None:
        raise OutputError(path=place, reason=reason, fix="Name another folder.")
    _write(place, content)
    return place


def check_writable(path: Path) -> None:
    """Refuse a place for results before anything is spent on them."""
    try:
        if path.is_dir():  # which also says that a name is too long
            raise OutputError(path=path, reason="it is a folder.", fix="Name a file: `report: out/report.html`.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".dpkit-"):
            pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise OutputError(path=path, reason=f"{reason or type(error).__name__}.") from None
