"""`audit`: try to break a claim, cheapest falsifier first, and return a certificate for each hypothesis tested."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dpkit.auditing.betting.bets import OutputEvent
from dpkit.auditing.betting.campaign import GROWTH, Budget, Finding, Watch, investigate
from dpkit.auditing.betting.processes import Process
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.recipe import Recipe
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import NUMBERS, Drawing, NotABatch, PairOutputs, Sampler
from dpkit.auditing.independence import UNFINISHED, SingleCalls, find_dependence, pilot_size
from dpkit.auditing.plan_audit import AuditPlan, plan_audit
from dpkit.auditing.search.pairs import TRIES, PairGenerator
from dpkit.auditing.successive import ADVICE
from dpkit.auditing.targets.many_processes import ManyProcesses
from dpkit.auditing.targets.one_release import as_sampler
from dpkit.contracts.auditor import Evidence
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.special import Array
from dpkit.privacy.checks import whole_number
from dpkit.privacy.claims import Claim
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

NO_TIME = "whether outputs of one call are independent was not checked, for want of time"
DOUBTED = "outputs of one call depend on each other, or are others than those of single calls: drawn one a call"
_LAW_SAMPLES, _FLOAT_SAMPLES = 4_000, 40_000
_BOUND_SHARE, _LAW_SHARE, _FLOAT_SHARE, _AUDITOR_SHARE = 0.1, 0.3, 0.1, 0.2
_SINGLE_SHARE = 0.1
"""Of a function's error probability, for beginning anew by single calls where a batch of outputs is none."""
_AUDITOR_STREAM, _INDEPENDENCE_STREAM = 0xA0D17, 0x1DE9
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
    neighbours: Neighbours | None = None,
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
    timeout: float | None = None,
    unit: str | None = None,
    stop: int | None = None,
    growth: int = GROWTH,
    jobs: int = 1,
) -> list[AuditCertificate]:
    """Try to refute a claim about a function `fn(dataset, n, rng)` that returns n outputs, or about a mechanism.

    A function needs a claim (any loss) and a pair of neighbouring datasets. A mechanism is audited on what it claims
    `at` a distance, at pairs found there. `density` declares the law of a function's outputs, which makes it a white box.
    `samples` (both sides together, for each campaign) and `time` (seconds, for all) are budgets; an audit stops as soon as the
    claim is refuted. `floating_point` also tests what rounding decides, with a certificate of its own; it is on for mechanisms
    that do not assume real arithmetic. `falsifiers` restricts which are used, by name, and `checks` which of those that draw no
    samples; `name` is put before what certificates call it.

    `neighbours` states the relation, and `unit` the column of people; where it is not stated, the rows of the pair tell, and
    the certificate says which it was. Outputs of one call are first held against those of single calls: where they depend on
    each other, every output is drawn by a call of its own.

    With probability at least `confidence`, no true claim is refuted and every `epsilon_lower` is below the truth, over all
    claims, pairs, directions, falsifiers and looks: Ville's inequality for averages of e-processes within a campaign, a split
    of the error probability over campaigns and bounds. `rng` is a seed or a generator that one is drawn from; the certificate
    holds the seed, and `replay` reruns it. `registry` brings the auditors and neighbour pairs of plugins: what is installed,
    where it is not given. `search` draws pairs of neighbours (a function of a generator, a list, or a hypothesis strategy that
    dpkit.testing wrapped): of `tries` pairs the one at which the claim looks worst, made simple, is audited on fresh samples.
    Mechanisms that take any number are searched at extremes without being asked. `recipe` says how a replay makes the target
    again, where the target itself does not tell. `stop` ends after that number of samples of the budget, as time once did.
    `growth`: each batch is one in this number of the samples before it; a replay takes that of its certificate.
    A function of one release, `fn(data)` or `fn(data, rng)`, is called once for every output. `jobs` processes draw the outputs
    of a function; what they draw does not depend on how many there are.

    Whatever a function does is an output: an exception, None, a text, a table, another shape or dtype. Where a batch of n is
    not n outputs of one form, every output is drawn by a call of its own. With `timeout` (seconds a call) it is so from the
    start, and a call that takes longer is an output too; choose it far from what calls usually take.
    """
    deadline = None if time is None else clock.monotonic() + time
    crew = _crew(target, jobs)
    plan = plan_audit(
        target if crew is None else crew, claim, pair, confidence, samples, rng, at=at, neighbours=neighbours, pairs=pairs,
        density=density, falsifiers=falsifiers, floating_point=floating_point, name=name, recipe=recipe, search=search,
        tries=tries, unit=unit, stop=stop, growth=growth, deadline=deadline, watch=watch, checks=checks,
        timeout=timeout, registry=default_registry() if registry is None else registry,
    )  # fmt: skip
    try:
        return _Audit(plan=plan, deadline=deadline, watch=watch).run()
    finally:
        if crew is not None:
            crew.close()


def _crew(target: object, jobs: int) -> ManyProcesses | None:
    """The processes that draw the outputs of a function; None where one is enough, or a target has its own."""
    if whole_number(jobs, field="jobs", where="audit", minimum=1) == 1:
        return None
    if isinstance(target, Mechanism) or not callable(target):
        raise InvalidValueError(field="jobs", found=jobs, allowed="1, for what is no function", where="audit")
    fn = as_sampler(target)
    assert callable(fn)
    return ManyProcesses(fn, jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Audit:
    plan: AuditPlan
    deadline: float | None
    watch: Watch | None

    def run(self) -> list[AuditCertificate]:
        plan, looked, warning = _independent(self.plan, self.deadline)
        samples = max(2, plan.samples - looked) if plan.stop is None else plan.stop
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
            found = self._sample(law, laws, alpha * law_share, 0.0, min(samples, _LAW_SAMPLES), law_seed)
            drawn = looked + sum(source.drawn for source in sources)
            certificates.append(plan.certify(law, found, hypothesis="declared law", level=alpha * law_share, pilots=drawn))
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
                own = self._try_claim(subject, level, bound_level, samples, seed)
                note = "; ".join(part for part in (own.note, warning, *notes) if part)
                found = replace(own, tried=(*asked, *(own.tried or (own.falsifier,))), note=note)
            certificates.append(plan.certify(subject, found, hypothesis="real arithmetic", level=level, pilots=looked))
            if found.verdict == "refuted":
                broken.add(id(subject.claim))
        if plan.floating_point:
            level = alpha * float_share
            rounded = [falsifier.make(law) for falsifier in plan.at("rounding")]
            bounding = level * _BOUND_SHARE
            found = self._sample(law, rounded, level - bounding, bounding, min(samples, _FLOAT_SAMPLES), next(seeds))
            level -= bounding
            certificates.append(plan.certify(law, found, hypothesis="floating point", level=level, pilots=looked))
        return certificates

    def _try_claim(
        self, subject: ClaimAtPair, alpha: float, bound_alpha: float, samples: int, seed: np.random.SeedSequence
    ) -> Finding:
        tried: list[str] = []
        for falsifier in self.plan.at("exact"):
            found: Finding | None = falsifier.make(subject)
            if found is not None:
                tried.append(found.falsifier)
                if found.verdict == "refuted":
                    return found
        if not self._processes(subject):
            return Finding(falsifier=tried[-1] if tried else "none", verdict="inconclusive", tried=tuple(tried))
        sampled = self._sample_any(subject, alpha, bound_alpha, samples, seed)
        return replace(sampled, tried=(*tried, *sampled.tried))

    def _processes(self, subject: ClaimAtPair) -> list[Process]:
        processes: list[Process] = []
        if subject.density is not None:
            processes += [falsifier.make(subject) for falsifier in self.plan.at("density")]
        if not processes or self.plan.falsifiers is not None:
            processes += [falsifier.make(subject) for falsifier in self.plan.at("samples")]
        return processes

    def _sample_any(
        self, subject: ClaimAtPair, alpha: float, bound_alpha: float, samples: int, seed: np.random.SeedSequence
    ) -> Finding:
        """Batches first, where the outputs are numbers; where a batch is none, begin anew, by one call an output.

        A function's batch that raises is worth nothing: wealth that stops there is a supermartingale still, since it can but
        lose. The second start has a share of the error probability of its own. It is also made where outputs of one call are
        not to be believed: they depend on each other, or they refute the claim and fresh outputs of single calls do not.
        """
        plan = self.plan
        if subject.mechanism is not None or subject.density is not None:
            return self._sample(subject, self._processes(subject), alpha, bound_alpha, samples, seed)
        share, spent, earlier = 1.0, 0, None
        if plan.timeout is None:
            try:
                first = 1.0 - _SINGLE_SHARE
                batches = Drawing(any_outcome=True)
                found = self._sample(
                    subject, self._processes(subject), first * alpha, first * bound_alpha, samples, seed, batches
                )
                spent = found.samples + found.bound_samples
                if not self._doubted(subject, found) or found.samples > samples - spent:
                    return found
                share, earlier, subject = _SINGLE_SHARE, found, replace(subject, pilot=None)
            except NotABatch as ended:
                share, spent = _SINGLE_SHARE, ended.drawn
        singly = Drawing(any_outcome=True, one_by_one=True, timeout=plan.timeout)
        anew, left = seed.spawn(1)[0], max(samples - spent, 2)
        found = self._sample(subject, self._processes(subject), share * alpha, share * bound_alpha, left, anew, singly)
        if earlier is None:
            return replace(found, samples=found.samples + spent)
        if found.verdict != "refuted" and found.samples < earlier.samples:  # time was up: they tell less
            return replace(earlier, bound_samples=earlier.bound_samples + found.samples + found.bound_samples)
        note = "; ".join(part for part in (DOUBTED, found.note) if part)
        return replace(found, samples=found.samples + spent, note=note)

    def _doubted(self, subject: ClaimAtPair, found: Finding) -> bool:
        """Whether what was found by outputs of one call may come from their dependence, and single calls can tell."""
        if getattr(subject.sampler, "independent", False):
            return False
        if found.verdict == "inconclusive":
            return ADVICE in found.note
        bound = found.bound
        confirmed = bound is not None and any(
            bound.epsilon > point.epsilon and bound.delta >= point.delta for point in subject.points
        )
        return found.verdict == "refuted" and not confirmed

    def _sample(
        self,
        subject: ClaimAtPair,
        processes: Sequence[Process],
        alpha: float,
        bound_alpha: float,
        samples: int,
        seed: np.random.SeedSequence,
        drawing: Drawing = NUMBERS,
    ) -> Finding:
        budget = Budget(samples=samples, deadline=self.deadline, growth=self.plan.growth)
        source = drawing.source(subject.sampler, subject.pair, seed)
        return investigate(subject, processes, source, alpha=alpha, bound_alpha=bound_alpha, budget=budget, watch=self.watch)


def _independent(plan: AuditPlan, deadline: float | None) -> tuple[AuditPlan, int, str]:
    """The plan, with outputs drawn one a call where those of one call depend on each other; the samples that took; why."""
    subject = plan.subjects[0]
    if getattr(subject.sampler, "independent", False):
        return plan, 0, ""
    size = pilot_size(plan.samples)
    if not size:
        return plan, 0, "whether outputs of one call are independent was not checked, for want of samples"
    stream = np.random.SeedSequence([plan.seed, _INDEPENDENCE_STREAM])
    began = clock.monotonic()
    until = None if deadline is None else began + 0.1 * (deadline - began)
    found, drawn, outputs = find_dependence(subject.sampler, subject.pair, size, stream, until=until)
    if found == UNFINISHED:
        return plan, drawn, NO_TIME
    if not found:
        if outputs is not None and deadline is None and plan.stop is None:  # else a replay might learn from other samples
            plan = replace(plan, subjects=tuple(_after_pilot(one, subject.pair, outputs) for one in plan.subjects))
        return plan, drawn, ""
    singly = SingleCalls(subject.sampler)
    return (
        replace(plan, subjects=tuple(replace(one, sampler=singly) for one in plan.subjects)),
        drawn,
        f"{found}: drawn one a call",
    )


def _after_pilot(subject: ClaimAtPair, pair: tuple[object, object], outputs: tuple[Array, Array]) -> ClaimAtPair:
    """The subject, with the outputs that were drawn at its pair before."""
    return replace(subject, pilot=outputs) if subject.pair is pair else subject


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
