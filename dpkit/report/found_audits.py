"""Audits of analyses, as `dpkit audit FILE.yaml` has written them: read for the report and for the page of ledgers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpkit.errors import InvalidValueError, SerialisationError
from dpkit.pricing.serialise import strict_json
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.auditing.certificates.certificate import AuditCertificate

AUDIT = "audit.json"
"""The end of the name of the file that an audit of an analysis is written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAudit:
    """What an audit found of an analysis, known by its fingerprint; or the `note` that says why nothing is shown.

    `wrong` are queries that move further than they claim, `faults` are laws that a step breaks, in words.
    """

    note: str = ""
    analysis: str = ""
    certificates: tuple[AuditCertificate, ...] = ()
    queries: tuple[str, ...] = ()
    wrong: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()

    @property
    def is_refuted(self) -> bool:
        """Whether anything that the analysis relies on is false."""
        return bool(self.wrong) or bool(self.faults) or any(one.refuted for one in self.certificates)


def read_audit(path: Path) -> FoundAudit:
    """The audit in a file; a changed certificate is not shown, and `note` says so."""
    from dpkit.auditing.certificates.certificate import AuditCertificate

    try:
        document = strict_json(path.read_bytes())
        return FoundAudit(
            analysis=str(document["analysis"]),
            certificates=tuple(AuditCertificate.from_json(json.dumps(one)) for one in document["certificates"]),
            queries=tuple(map(str, document["queries"])),
            wrong=frozenset(str(one["query"]) for one in document["excesses"]),
            # files of earlier versions have no faults
            faults=tuple(f"{one['subject']}: {one['law']}" for one in document.get("faults", ())),
        )
    except SerialisationError as error:
        return FoundAudit(note=f"{path.name} is not shown: {error}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return FoundAudit(note=f"{path.name} is not shown: it is not the audit of an analysis.")


def audits_of(places: Iterable[str | Path]) -> Mapping[str, FoundAudit]:
    """Audits by the fingerprint of their analysis, from files or from folders in which they are. A refuted one goes first."""
    found: dict[str, FoundAudit] = {}
    for place in map(Path, places):
        files = sorted(place.glob(f"*{AUDIT}")) if place.is_dir() else [place]
        for path in files:
            audit = read_audit(path)
            if audit.note and not place.is_dir():
                allowed = f"audits of analyses, as `dpkit audit ANALYSIS.yaml` writes them ({audit.note})"
                raise InvalidValueError(field="audits", found=path.name, allowed=allowed, where="page of ledgers")
            known = found.get(audit.analysis)
            if not audit.note and (known is None or not known.is_refuted):
                found[audit.analysis] = audit
    return found
