"""`record`: run a program on one dataset, give the same noisy answers on its neighbour, and say what still differs.

Whatever a program releases must be a function of what its primitives answered. So with the same answers it must go the same way
and return the same; between the values that it asks about, the primitives must lose no more than is claimed. Two runs tell, not
thousands. What a primitive draws inside is trusted, or audited by samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpkit.accounting import account
from dpkit.auditing.audit import audit
from dpkit.auditing.betting.bets import OutputEvent
from dpkit.auditing.betting.campaign import Finding
from dpkit.auditing.betting.profile import points_of
from dpkit.auditing.certificates.certificate import AuditCertificate, Verdict
from dpkit.auditing.certificates.recipe import read_recipe, written_recipe
from dpkit.auditing.draw_outputs import copied
from dpkit.auditing.plan_audit import plan_audit, seed_of
from dpkit.auditing.recording.differences import ADDITIVE, differences, in_short, same_result, shown_number
from dpkit.auditing.recording.losses import loss_of
from dpkit.auditing.recording.primitives import Primitive, RecordingGenerator, known_primitives, taped
from dpkit.auditing.recording.shown_answers import shown_answers
from dpkit.auditing.recording.tape import Call, Diverged, Tape
from dpkit.auditing.targets.one_release import ReleasePerCall, as_sampler
from dpkit.errors import DpkitError, InvalidValueError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.rounding import in_full
from dpkit.privacy.checks import whole_number
from dpkit.privacy.claims import Claim
from dpkit.privacy.events import Compose, Event
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

_SLACK = 1e-6
_SECONDS = 20.0
"""For the audit by samples of a function whose result may hide what its calls answered."""
_AUDITED, _LEADS = 3, 3
"""Different primitives that are audited, where that is asked for; leads that a note names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What two runs with the same answers came to: `findings` in words, the transcript's price, and the certificate.

    `leads` differ too, and prove nothing: random numbers that the recorder cannot follow may make up for them.
    """

    findings: tuple[str, ...]
    leads: tuple[str, ...] = ()
    epsilon: float
    """What the recorded calls lose together at the delta of the claim, if primitives are what they say."""
    calls: int
    certificate: AuditCertificate
    primitives: tuple[AuditCertificate, ...] = ()
    sampled: tuple[AuditCertificate, ...] = ()
    """The audit of the function itself, where its calls cost too much and its result does not show their answers."""

    @property
    def certificates(self) -> tuple[AuditCertificate, ...]:
        """The certificate of the runs, then those by samples: of the function, and of the primitives that were audited."""
        return self.certificate, *self.sampled, *self.primitives

    @property
    def refuted(self) -> bool:
        """Whether the claim, or that of a primitive, is refuted."""
        return any(one.refuted for one in self.certificates)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.certificates))


def record(
    fn: Callable[..., object],
    claim: Loss | Claim,
    pair: tuple[object, object],
    *,
    primitives: Sequence[str | Primitive] | None = None,
    runs: int = 3,
    audited: bool = False,
    samples: int = 20_000,
    confidence: float = 0.999,
    rng: np.random.Generator | int | None = None,
    neighbours: Neighbours | None = None,
    unit: str | None = None,
    name: str | None = None,
) -> Recording:
    """Record the calls of primitives on one dataset, replay their answers on the other, in both directions, `runs` times.

    `primitives` are those to wrap: `numpy.random`, `random`, `secrets`, `opendp.measurements`, `diffprivlib.mechanisms`, or a
    `Primitive` for any callable; all that are installed where not given. Found are: control flow that differs; inputs further
    apart than the declared sensitivity; parameters of noise that depend on the data; one draw that is added to two values; a
    result that depends on the data past the primitives; and calls that together cost more than is claimed. With `audited`, what
    primitives draw is audited too, by `samples` at the values that they were asked about; otherwise they are trusted. Noise
    that becomes a plain number before it is added, random numbers that are no noise (a coin), and what is drawn outside of the
    primitives cannot be followed: what differs after them is a lead, and the certificate is inconclusive.
    """
    seed = seed_of(rng)
    chosen = known_primitives() if primitives is None else tuple(primitives)
    findings: dict[str, bool] = {}
    worst, calls, kept, raised = 0.0, 0, _TwoRuns(Tape(), pair, [None, None], 0), ""
    opaque: dict[str, None] = {}
    hidden = False
    sampler: Any = as_sampler(fn)
    plan = plan_audit(
        sampler, claim, pair, confidence, samples, seed, at=None, neighbours=neighbours, pairs=(), density=None,
        falsifiers=["black box"], floating_point=False, registry=default_registry(), name=name, unit=unit,
    )  # fmt: skip
    named = [one if isinstance(one, str) else one.path for one in chosen]
    plan = replace(plan, recipe=written_recipe({**read_recipe(plan.recipe), "recorded": {"runs": runs, "primitives": named}}))
    subject = plan.subjects[0]
    point = min(points_of(subject.claim.loss), key=lambda one: one.delta)
    for turn in range(2 * whole_number(runs, field="runs", where="record", minimum=1)):
        order = pair if turn % 2 == 0 else pair[::-1]
        tape, outcomes, diverged = _run(fn, order, chosen, np.random.SeedSequence([seed, turn // 2]))
        found = differences(tape, outcomes, diverged, point)
        if all(isinstance(outcome, BaseException) for outcome in outcomes):
            raised = type(outcomes[0]).__name__
        for one in found:
            findings[one.words] = findings.get(one.words, False) or one.certain
        calls = max(calls, len(tape.calls))
        cost = _cost(tape.calls, subject.claim.loss, point.delta)
        if cost > worst or not kept.tape.calls:
            worst, kept = max(cost, worst), _TwoRuns(tape, order, outcomes, turn // 2)
        opaque |= dict.fromkeys(call.name for call in tape.calls if call.opaque)
        hidden = hidden or any(call.escaped and call.family in ADDITIVE for call in tape.calls)
    allowed, overspent = point.epsilon * (1.0 + _SLACK), ""
    if worst > allowed:
        overspent = _overspent(kept.tape, worst, point.epsilon, point.delta)
        shown = shown_answers(kept.tape, kept.outcomes[0], lambda tape: _again(fn, kept, chosen, seed, tape))
        findings[overspent] = _cost(shown, subject.claim.loss, point.delta) > allowed
    again = 2 * runs if findings else 0
    elsewhere = any(not _repeats(fn, pair[turn % 2], chosen, [seed, turn // 2]) for turn in range(again))
    proved = tuple(one for one, certain in findings.items() if certain and not elsewhere)
    leads = tuple(one for one in findings if one not in proved)
    words = "; ".join(proved)
    verdict: Verdict = "refuted" if proved else "inconclusive" if leads or hidden or raised or not calls else "not refuted"
    note = f"{2 * runs} pairs of runs, at most {calls} calls of primitives"
    note += f"; they lose epsilon = {shown_number(worst)} together, if they are what they say"
    if elsewhere:
        note += (
            "; with the same answers one dataset alone gives other results, too: something random is drawn that is not "
            "recorded. Name it by `primitives`, or audit by samples"
        )
    elif hidden or (leads and opaque):
        note += (
            f"; random numbers, or noise that became a plain number, cannot be followed ({', '.join(opaque)}): audit by samples"
        )
    sampled: tuple[AuditCertificate, ...] = ()
    if leads and not proved and not elsewhere and (overspent in leads or not opaque):
        sampled = tuple(
            audit(sampler, claim, pair, confidence, samples, seed, neighbours=neighbours, unit=unit, name=name, time=_SECONDS)
        )
        note += "; whether the result tells of it is not known, so the function was audited by samples, too"
    if leads:
        note += f"; a lead and no proof: {'; '.join(leads[:_LEADS])}"
    elif raised:
        note += f"; both runs raised {raised}: call the function by itself to see why"
    elif not calls:
        note += "; no primitive was called: name those that it draws noise with"
    event = OutputEvent(words=words, code="") if words else None
    made = plan.certify(
        subject,
        Finding(
            falsifier="record and replay",
            verdict=verdict,
            log_e=math.inf if proved else 0.0,
            samples=4 * runs,
            event=event,
            note=note,
        ),
        hypothesis="records",
        level=1.0,
        pilots=2 * again,
    )
    inner = _audit_primitives(kept.tape, samples, confidence, seed) if audited else ()
    return Recording(
        findings=proved, leads=leads, epsilon=worst, calls=calls, certificate=made, primitives=inner, sampled=sampled
    )


def _run(
    fn: Callable[..., object],
    pair: Sequence[object],
    chosen: Sequence[str | Primitive],
    seed: np.random.SeedSequence,
    tape: Tape | None = None,
) -> tuple[Tape, list[object], str]:
    """Both runs: the tape, what they came to, and how the second left the way of the first."""
    tape, outcomes, diverged = Tape() if tape is None else tape, [], ""
    sampler: Any = as_sampler(fn)
    for dataset in pair:
        generator: Any = RecordingGenerator(np.random.default_rng(seed), tape)
        with taped(tape, chosen, fn):
            try:
                found = sampler(copied(dataset), 1, generator)
                outcomes.append(found[0] if len(found) == 1 else found)
            except Diverged as error:
                diverged = error.words
                outcomes.append(None)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if isinstance(error, InvalidValueError) and error.where == "record":
                    raise
                outcomes.append(error)
        if not tape.replaying:
            tape.rewind()
    return tape, outcomes, diverged


@dataclass(frozen=True, slots=True)
class _TwoRuns:
    """Two runs with the same answers, on these datasets in this order, and the seed of their generator."""

    tape: Tape
    order: tuple[object, object]
    outcomes: list[object]
    turn: int


def _again(fn: Callable[..., object], run: _TwoRuns, chosen: Sequence[str | Primitive], seed: int, tape: Tape) -> object:
    """What the first of these runs comes to with the answers of another tape."""
    return _run(fn, run.order[:1], chosen, np.random.SeedSequence([seed, run.turn]), tape)[1][0]


def _repeats(fn: Callable[..., object], dataset: object, chosen: Sequence[str | Primitive], seed: list[int]) -> bool:
    """Whether the same answers to the same dataset give the same result: then all that is random is on the tape."""
    tape, outcomes, diverged = _run(fn, (dataset, dataset), chosen, np.random.SeedSequence(seed))
    return not diverged and not tape.unasked and same_result(*outcomes)


def _cost(calls: Sequence[Call], loss: Loss, delta: float) -> float:
    """Epsilon of calls together at the delta of the claim: what they lose between the two runs."""
    events: list[Event] = []
    for call in calls:
        if call.other_parameters is None:
            continue
        lost = loss_of(call)
        if lost is None:
            return math.inf
        events += lost
    if not events:
        return 0.0
    accountant = "pure" if isinstance(loss, PureDP) or delta == 0.0 else "best"
    try:
        return float(account(Compose(events=tuple(events)), accountant).epsilon(delta=delta))
    except DpkitError:
        return math.inf


def _overspent(tape: Tape, cost: float, epsilon: float, delta: float) -> str:
    spending = sum(loss_of(call) != [] for call in tape.calls if call.other_parameters is not None)
    at = f" at delta = {in_full(delta)}" if delta else ""
    return f"{spending} calls of primitives lose epsilon = {shown_number(cost)} together{at}, and {in_full(epsilon)} is claimed"


def _audit_primitives(tape: Tape, samples: int, confidence: float, seed: int) -> tuple[AuditCertificate, ...]:
    """Audits of what primitives answer, at the values that they were asked about, against what they declare there."""
    found: list[AuditCertificate] = []
    asked = [call for call in tape.calls if call.again is not None and call.other_parameters is not None and loss_of(call)]
    distinct = list({(call.name, repr(call.parameters)): call for call in asked}.values())[:_AUDITED]
    for call in distinct:
        events = loss_of(call) or []
        delta = max((getattr(event, "delta", 0.0) for event in events), default=0.0)
        epsilon = sum(getattr(event, "epsilon", getattr(event, "ratio", 0.0)) for event in events)
        loss: Loss = ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)
        drawn: Any = ReleasePerCall(call.again)  # type: ignore[arg-type]
        said = f"{call.name}({', '.join(f'{key}={in_short(value)}' for key, value in call.parameters.items())})"
        level = 1.0 - (1.0 - confidence) / len(distinct)
        found += audit(drawn, loss, (call.value, call.other_value), level, samples, seed, recipe={"primitive": said})
    return tuple(found)
