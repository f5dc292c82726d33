"""What `dpkit audit` writes: text or JSON to the terminal, and files for CI systems and for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dpkit.auditing.certificate import AuditCertificate


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where certificates go."""

    as_json: bool
    junit: str | None
    sarif: str | None
    html: str | None

    def write(self, found: Sequence[AuditCertificate], *, text: bool = True) -> None:
        """Everything that was asked for; `text=False` where the lines were printed one by one."""
        if self.as_json:
            click.echo(json.dumps({"certificates": [json.loads(one.to_json()) for one in found]}, indent=2))
        elif text:
            click.echo("\n\n".join(str(one) for one in found))
        self.files(found)

    def files(self, found: Sequence[AuditCertificate]) -> None:
        """The files that were asked for, and nothing on the screen."""
        from dpkit.auditing.formats import as_junit, as_sarif
        from dpkit.auditing.html import as_html

        for path, form in ((self.junit, as_junit), (self.sarif, as_sarif), (self.html, as_html)):
            if path is not None:
                Path(path).write_text(form(found), encoding="utf-8")
