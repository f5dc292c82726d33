"""What `dpkit audit` writes: text or JSON to the terminal, and files for CI systems and for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.auditing.certificates.certificate import AuditCertificate


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where certificates go."""

    as_json: bool
    junit: str | None
    sarif: str | None
    html: str | None
    badge: str | None = None
    key: str | None = None

    @property
    def paths(self) -> dict[str, Path]:
        """The files that were asked for, by what they are."""
        asked = {"JUnit file": self.junit, "SARIF file": self.sarif, "audit page": self.html, "audit badge": self.badge}
        return {kind: Path(path) for kind, path in asked.items() if path is not None}

    def check(self) -> None:
        """Refuse, before what may take an hour, a file that dpkit did not write, and one name for two files."""
        from dpkit.analysis.outputs import check_replaceable, check_writable
        from dpkit.errors import OutputError

        for kind, path in self.paths.items():
            check_replaceable(path, kind)
            check_writable(path)
        places = [path.resolve() for path in self.paths.values()]
        if len(set(places)) < len(places):
            raise OutputError(path=places[0], reason="two files are asked for under one name.")

    def write(self, found: Sequence[AuditCertificate], *, text: bool = True) -> None:
        """Everything that was asked for; `text=False` where the lines were printed one by one."""
        if self.key is not None:
            from dpkit.auditing.certificates.signing import sign

            found = [sign(one, self.key) for one in found]
        if self.as_json:
            click.echo(json.dumps({"certificates": [json.loads(one.to_json()) for one in found]}, indent=2))
        elif text:
            click.echo("\n\n".join(str(one) for one in found))
        self.files(found)

    def files(self, found: Sequence[AuditCertificate]) -> None:
        """The files that were asked for, and nothing on the screen."""
        from dpkit.analysis.outputs import write_output
        from dpkit.auditing.certificates.formats import as_badge, as_html, as_junit, as_sarif

        forms = {"JUnit file": as_junit, "SARIF file": as_sarif, "audit page": as_html, "audit badge": as_badge}
        for kind, path in self.paths.items():
            write_output(path, forms[kind](found))
