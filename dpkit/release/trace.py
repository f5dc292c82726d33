"""The trace of a run as JSON: everything that is needed to price it again and to audit it, and no value but released ones."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpkit._version import __version__
from dpkit.pricing.serialise import dump
from dpkit.privacy.events import Event, as_event
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.curator import Released
from dpkit.release.ledger.entries import value_text

VERSION = 1


def trace_json(releases: Sequence[Released], *, plan: Event, neighbours: Neighbours, accountant: str) -> str:
    """The plan, the relation, the accountant, and each release with its event, noise and values."""
    body = {
        "dpkit-trace": VERSION,
        "dpkit": __version__,
        "neighbours": str(neighbours),
        "accountant": accountant,
        "plan": json.loads(dump(plan)),
        "simulation": any(release.simulation for release in releases),
        "releases": [
            {
                "key": release.key,
                "queries": list(release.queries),
                "mechanisms": list(release.mechanisms),
                "event": json.loads(dump(release.event)),
                "values": [json.loads(value_text(value)) for value in release.values],
            }
            for release in releases
        ],
    }
    return json.dumps(body, indent=2, sort_keys=True)


def charged_event(releases: Sequence[Released]) -> Event:
    """Everything that was charged, composed."""
    return as_event([release.event for release in releases])
