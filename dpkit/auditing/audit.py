"""`audit`: try to break a claim, cheapest falsifier first, and return a certificate for each hypothesis tested."""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpkit.auditing.arguments import AuditPlan, planned
from dpkit.auditing.betting.campaign import Budget, Finding, Watch, investigate
from dpkit.auditing.betting.processes import Process
from dpkit.auditing.certificates.certificate import Arithmetic, AuditCertificate
from dpkit.auditing.certificates.recipe import Recipe
from dpkit.auditing.certificates.writing import written
from dpkit.auditing.falsifiers.of_plugins import Opinion, opinions
from dpkit.auditing.outputs import Sampler, Source
from dpkit.auditing.search.pair_search import TRIES, PairGenerator
from dpkit.auditing.subject import Subject
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.hooks.manager import default_registry
from dpkit.privacy.claims import Claim
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Distance, Neighbours

_LAW_SAMPLES, _FLOAT_SAMPLES = 4_000, 40_000
_BOUND_SHARE, _LAW_SHARE, _FLOAT_SHARE, _AUDITOR_SHARE = 0.1, 0.3, 0.1, 0.2


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
    plan = planned(
        target, claim, pair, confidence, samples, rng, at=at, neighbours=neighbours, pairs=pairs, density=density,
        falsifiers=falsifiers, floating_point=floating_point, name=name, recipe=recipe, search=search, tries=tries,
        checks=checks,
        registry=default_registry() if registry is None else registry,
    )  # fmt: skip
    deadline = None if time is None else clock.monotonic() + time
    return _Audit(plan=plan, deadline=deadline, watch=watch).run()


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
        source = Source(law.sampler, law.pair, next(seeds)) if plan.at("law") else None
        made = [falsifier.make(law, source) for falsifier in plan.at("law")]
        laws: list[Process] = [process for process in made if process is not None]
        if laws:
            law_share = _LAW_SHARE
            found = self._sampled(law, laws, alpha * law_share, 0.0, min(plan.samples, _LAW_SAMPLES), law_seed)
            certificates.append(self._written(law, found, "declared law", alpha * law_share))
            if found.verdict == "refuted":
                return certificates  # what was proved of another law says nothing about this one
        float_share = _FLOAT_SHARE if plan.floating_point else 0.0
        auditor_share = _AUDITOR_SHARE if plan.auditors else 0.0
        share = (1.0 - law_share - float_share - _BOUND_SHARE - auditor_share) / len(plan.subjects)
        foreign = alpha * auditor_share / len(plan.subjects)
        broken: set[int] = set()
        for subject in plan.subjects:
            seed = next(seeds)
            if id(subject.claim) in broken:
                continue  # the claim fell at another pair
            opinion = opinions(subject, plan.auditors, alpha=foreign, samples=plan.samples, seed=seed)
            if opinion.refuting is not None:
                found, level = opinion.refuting, foreign / len(plan.auditors)
            else:
                found, level = (
                    self._claim(subject, alpha * share, alpha * _BOUND_SHARE / len(plan.subjects), seed),
                    alpha * share,
                )
            certificates.append(self._written(subject, _with(found, opinion), "real arithmetic", level))
            if found.verdict == "refuted":
                broken.add(id(subject.claim))
        if plan.floating_point:
            level = alpha * float_share
            rounded = [falsifier.make(law) for falsifier in plan.at("rounding")]
            found = self._sampled(law, rounded, level, 0.0, min(plan.samples, _FLOAT_SAMPLES), next(seeds))
            certificates.append(self._written(law, found, "floating point", level))
        return certificates

    def _claim(self, subject: Subject, alpha: float, bound_alpha: float, seed: np.random.SeedSequence) -> Finding:
        tried: list[str] = []
        found: Finding | None
        for falsifier in self.plan.at("exact"):
            found = falsifier.make(subject)
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
        found = self._sampled(subject, processes, alpha, bound_alpha, self.plan.samples, seed)
        return found if not tried else replace(found, tried=(*tried, *found.tried))

    def _sampled(
        self,
        subject: Subject,
        processes: Sequence[Process],
        alpha: float,
        bound_alpha: float,
        samples: int,
        seed: np.random.SeedSequence,
    ) -> Finding:
        budget = Budget(samples=samples, deadline=self.deadline)
        return investigate(subject, processes, alpha=alpha, bound_alpha=bound_alpha, budget=budget, seed=seed, watch=self.watch)

    def _written(self, subject: Subject, found: Finding, hypothesis: Arithmetic, level: float) -> AuditCertificate:
        return written(self.plan, subject, found, hypothesis=hypothesis, level=level)


def _with(found: Finding, opinion: Opinion) -> Finding:
    """The finding, with the auditors of plugins that were asked before and what went wrong with them."""
    if found is opinion.refuting:
        return replace(found, tried=opinion.asked)
    note = "; ".join(part for part in (found.note, *opinion.notes) if part)
    return replace(found, tried=(*opinion.asked, *(found.tried or (found.falsifier,))), note=note)
