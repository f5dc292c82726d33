"""Auditors of plugins: each is asked once a claim and pair, at its share of the error probability, on a stream of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpkit.auditing.betting.bets import OutputEvent
from dpkit.auditing.betting.campaign import Finding
from dpkit.auditing.subject import Subject
from dpkit.contracts.auditor import Auditor, Evidence

_STREAM = 0xA0D17
"""Keeps the auditors' streams apart from those that the campaign of the same subject spawns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """Who was asked, the first finding that refutes, and what went wrong."""

    asked: tuple[str, ...] = ()
    refuting: Finding | None = None
    notes: tuple[str, ...] = ()


def opinions(
    subject: Subject, auditors: Sequence[Auditor], *, alpha: float, samples: int, seed: np.random.SeedSequence
) -> Opinion:
    """Ask until one refutes. One that fails is left out with a note: its share is lost, and the audit stays valid."""
    asked, notes = [], []
    for place, auditor in enumerate(auditors):
        share = alpha / len(auditors)
        entropy = [_STREAM, place, *seed.generate_state(4).tolist()]
        target = subject.sampler if subject.mechanism is None else subject.mechanism
        try:
            found = auditor.falsify(
                target, subject.claim, subject.pair, samples=samples, alpha=share, rng=np.random.default_rng(entropy)
            )
        except Exception as error:  # noqa: BLE001 - a third party's code may raise anything; the others go on
            notes.append(f"the auditor {auditor.name} raised {type(error).__name__}")
            continue
        if found is None:
            continue
        if not isinstance(found, Evidence):
            notes.append(f"the auditor {auditor.name} returned a {type(found).__name__}, not an Evidence")
            continue
        asked.append(auditor.name)
        if found.log_e_value >= -math.log(share):
            return Opinion(asked=tuple(asked), refuting=_finding(auditor, found), notes=tuple(notes))
    return Opinion(asked=tuple(asked), notes=tuple(notes))


def _finding(auditor: Auditor, found: Evidence) -> Finding:
    return Finding(
        falsifier=auditor.name,
        verdict="refuted",
        log_e=found.log_e_value,
        samples=found.samples,
        event=OutputEvent(words=found.words, code=found.code),
        note="by an auditor of a plugin",
    )
