"""`audit`: try to break a claim, cheapest falsifier first, and return a certificate for each hypothesis tested."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpkit.auditing.betting.bets import OutputEvent
from dpkit.auditing.betting.campaign import Budget, Finding, Watch, investigate
from dpkit.auditing.betting.processes import Process
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.recipe import Recipe
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import PairOutputs, Sampler
from dpkit.auditing.plan_audit import AuditPlan, plan_audit
from dpkit.auditing.search.pairs import TRIES, PairGenerator
from dpkit.contracts.auditor import Evidence
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.hooks.manager import default_registry
from dpkit.privacy.claims import Claim
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Distance, Neighbours

_LAW_SAMPLES, _FLOAT_SAMPLES = 4_000, 40_000
_BOUND_SHARE, _LAW_SHARE, _FLOAT_SHARE, _AUDITOR_SHARE = 0.1, 0.3, 0.1, 0.2
_AUDITOR_STREAM = 0xA0D17
"""Keeps the streams of plugins' auditors apart from those that the campaign of the same subject spawns."""


def audit(
    target: Sampler | Mechanism,
    claim: Loss | Claim | None = None,
    pair: tuple[object, object] | None = None,
    confidence: float = 0.999,
    samples: int = 200_000,
    rng: np.random.Generator | int | None = None,
    *,
    at: Distance | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    pairs: Sequence[tuple[object, object]] = (),
    density: WhiteBox | None = None,
    falsifiers: Sequence[str] | None = None,
    floating_point: bool | None = None,
    time: float | None = None,
    checks: Sequence[str] | None = None,
    watch: Watch | None = None,
    name: str | None = None,
    registry: Registry | None = None,
    recipe: Recipe | None = None,
    search: PairGenerator | Iterable[tuple[object, object]] | None = None,
    tries: int = TRIES,
) -> list[AuditCertificate]:
    """Try to refute a claim about a function `fn(dataset, n, rng)` that returns n outputs, or about a mechanism.

    A function needs a claim (any loss) and a pair of neighbouring datasets. A mechanism is audited on what it claims
    `at` a distance, at pairs found there. `density` declares the law of a function's outputs, which makes it a white box.
    `samples` (both sides together, for each campaign) and `time` (seconds, for all) are budgets; an audit stops as soon as the
    claim is refuted. `floating_point` also tests what rounding decides, with a certificate of its own; it is on for mechanisms
    that do not assume real arithmetic. `falsifiers` restricts which are used, by name, and `checks` which of those that draw no
    samples; `name` is what certificates call it.

    With probability at least `confidence`, no true claim is refuted and every `epsilon_lower` is below the truth, over all
    claims, pairs, directions, falsifiers and looks: Ville's inequality for averages of e-processes within a campaign, a split
    of the error probability over campaigns and bounds. `rng` is a seed or a generator that one is drawn from; the certificate
    holds the seed, and `replay` reruns it. `registry` brings the auditors and neighbour pairs of plugins: what is installed,
    where it is not given. `search` draws pairs of neighbours (a function of a generator, a list, or a hypothesis strategy that
    dpkit.testing wrapped): of `tries` pairs the one at which the claim looks worst, made simple, is audited on fresh samples.
    Mechanisms that take any number are searched at extremes without being asked. `recipe` says how a replay makes the target
    again, where the target itself does not tell.
    """
    plan = plan_audit(
        target, claim, pair, confidence, samples, rng, at=at, neighbours=neighbours, pairs=pairs, density=density,
        falsifiers=falsifiers, floating_point=floating_point, name=name, recipe=recipe, search=search, tries=tries,
        checks=checks, registry=default_registry() if registry is None else registry,
    )  # fmt: skip
    return _Audit(plan=plan, deadline=None if time is None else clock.monotonic() + time, watch=watch).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Audit:
    plan: AuditPlan
    deadline: float | None
    watch: Watch | None

    def run(self) -> list[AuditCertificate]:
        plan = self.plan
        alpha = 1.0 - plan.confidence
        seeds = iter(np.random.SeedSequence(plan.seed).spawn(2 + 2 * len(plan.subjects)))
        certificates: list[AuditCertificate] = []
        law, law_share = plan.subjects[0], 0.0
        law_seed = next(seeds)
        sources = [PairOutputs(law.sampler, law.pair, next(seeds))] if plan.at("law") else []
        made = [falsifier.make(law, *sources) for falsifier in plan.at("law")]
        laws: list[Process] = [process for process in made if process is not None]
        if laws:
            law_share = _LAW_SHARE
            found = self._sample(law, laws, alpha * law_share, 0.0, min(plan.samples, _LAW_SAMPLES), law_seed)
            certificates.append(plan.certify(law, found, hypothesis="declared law", level=alpha * law_share))
            if found.verdict == "refuted":
                return certificates  # what was proved of another law says nothing about this one
        float_share = _FLOAT_SHARE if plan.floating_point else 0.0
        auditor_share = _AUDITOR_SHARE if plan.auditors else 0.0
        share = (1.0 - law_share - float_share - _BOUND_SHARE - auditor_share) / len(plan.subjects)
        bound_level = alpha * _BOUND_SHARE / len(plan.subjects)
        foreign = alpha * auditor_share / len(plan.subjects)
        broken: set[int] = set()
        for subject in plan.subjects:
            seed = next(seeds)
            if id(subject.claim) in broken:
                continue  # the claim fell at another pair
            asked, notes, refuting = _ask_auditors(subject, plan, foreign, seed)
            if refuting is not None:
                found, level = replace(refuting, tried=asked), foreign / len(plan.auditors)
            else:
                level = alpha * share
                own = self._try_claim(subject, level, bound_level, seed)
                note = "; ".join(part for part in (own.note, *notes) if part)
                found = replace(own, tried=(*asked, *(own.tried or (own.falsifier,))), note=note)
            certificates.append(plan.certify(subject, found, hypothesis="real arithmetic", level=level))
            if found.verdict == "refuted":
                broken.add(id(subject.claim))
        if plan.floating_point:
            level = alpha * float_share
            rounded = [falsifier.make(law) for falsifier in plan.at("rounding")]
            found = self._sample(law, rounded, level, 0.0, min(plan.samples, _FLOAT_SAMPLES), next(seeds))
            certificates.append(plan.certify(law, found, hypothesis="floating point", level=level))
        return certificates

    def _try_claim(self, subject: ClaimAtPair, alpha: float, bound_alpha: float, seed: np.random.SeedSequence) -> Finding:
        tried: list[str] = []
        for falsifier in self.plan.at("exact"):
            found: Finding | None = falsifier.make(subject)
            if found is not None:
                tried.append(found.falsifier)
                if found.verdict == "refuted":
                    return found
        processes: list[Process] = []
        if subject.density is not None:
            processes += [falsifier.make(subject) for falsifier in self.plan.at("density")]
        if not processes or self.plan.falsifiers is not None:
            processes += [falsifier.make(subject) for falsifier in self.plan.at("samples")]
        if not processes:
            return Finding(falsifier=tried[-1] if tried else "none", verdict="inconclusive", tried=tuple(tried))
        sampled = self._sample(subject, processes, alpha, bound_alpha, self.plan.samples, seed)
        return replace(sampled, tried=(*tried, *sampled.tried))

    def _sample(
        self,
        subject: ClaimAtPair,
        processes: Sequence[Process],
        alpha: float,
        bound_alpha: float,
        samples: int,
        seed: np.random.SeedSequence,
    ) -> Finding:
        budget = Budget(samples=samples, deadline=self.deadline)
        return investigate(subject, processes, alpha=alpha, bound_alpha=bound_alpha, budget=budget, seed=seed, watch=self.watch)


def _ask_auditors(
    subject: ClaimAtPair, plan: AuditPlan, alpha: float, seed: np.random.SeedSequence
) -> tuple[tuple[str, ...], list[str], Finding | None]:
    """Ask the auditors of plugins until one refutes: who was asked, what went wrong, and the finding that refutes.

    Each is asked at its share of alpha, on a stream of its own. One that fails is left out with a note: its share is lost, and
    the audit stays valid.
    """
    asked: list[str] = []
    notes: list[str] = []
    for place, auditor in enumerate(plan.auditors):
        share = alpha / len(plan.auditors)
        stream = np.random.default_rng([_AUDITOR_STREAM, place, *seed.generate_state(4).tolist()])
        target = subject.sampler if subject.mechanism is None else subject.mechanism
        try:
            found = auditor.falsify(target, subject.claim, subject.pair, samples=plan.samples, alpha=share, rng=stream)
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
            refuting = Finding(
                falsifier=auditor.name,
                verdict="refuted",
                log_e=found.log_e_value,
                samples=found.samples,
                event=OutputEvent(words=found.words, code=found.code),
                note="by an auditor of a plugin",
            )
            return tuple(asked), notes, refuting
    return tuple(asked), notes, None
