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
from dpkit.auditing.outcomes import canonical
from dpkit.auditing.plan_audit import plan_audit, seed_of
from dpkit.auditing.recording.losses import distances, loss_of, moved, noise_parts
from dpkit.auditing.recording.primitives import Primitive, RecordingGenerator, known_primitives, taped
from dpkit.auditing.recording.tape import Call, Diverged, Tape
from dpkit.auditing.targets.one_release import ReleasePerCall, as_sampler
from dpkit.errors import DpkitError, InvalidValueError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.rounding import format_down, in_full
from dpkit.privacy.checks import whole_number
from dpkit.privacy.claims import Claim
from dpkit.privacy.events import Compose, Event
from dpkit.privacy.losses import ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

_SLACK = 1e-6
_AUDITED = 3
"""Different primitives that are audited, where that is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What two runs with the same answers came to: `findings` in words, the transcript's price, and the certificate."""

    findings: tuple[str, ...]
    epsilon: float
    """What the recorded calls lose together at the delta of the claim, if primitives are what they say."""
    calls: int
    certificate: AuditCertificate
    primitives: tuple[AuditCertificate, ...] = ()

    @property
    def certificates(self) -> tuple[AuditCertificate, ...]:
        """The certificate of the runs, then those of the primitives that were audited."""
        return self.certificate, *self.primitives

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
    that becomes a plain number before it is added cannot be followed: then a result that differs is inconclusive, and says so.
    """
    seed = seed_of(rng)
    chosen = known_primitives() if primitives is None else tuple(primitives)
    findings: dict[str, None] = {}
    worst, calls, blind, kept, raised = 0.0, 0, False, Tape(), ""
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
        found, unseen = _differences(tape, outcomes, diverged)
        blind = blind or unseen
        if all(isinstance(outcome, Exception) for outcome in outcomes):
            raised = type(outcomes[0]).__name__
        findings |= dict.fromkeys(found)
        calls = max(calls, len(tape.calls))
        cost = _cost(tape, subject.claim.loss, point.delta)
        if cost > worst or not kept.calls:
            worst, kept = max(cost, worst), tape
    if worst > point.epsilon * (1.0 + _SLACK):
        findings[_overspent(kept, worst, point.epsilon, point.delta)] = None
    words = "; ".join(findings)
    verdict: Verdict = "refuted" if findings else "inconclusive" if blind or raised or not calls else "not refuted"
    note = f"{2 * runs} pairs of runs, at most {calls} calls of primitives"
    note += f"; they lose epsilon = {_shown(worst)} together, if they are what they say"
    if blind:
        note += (
            "; noise became something that cannot be followed, such as a plain number, and the results differ: audit by samples"
        )
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
            log_e=math.inf if findings else 0.0,
            samples=4 * runs,
            event=event,
            note=note,
        ),
        hypothesis="records",
        level=1.0,
    )
    inner = _audit_primitives(kept, samples, confidence, seed) if audited else ()
    return Recording(findings=tuple(findings), epsilon=worst, calls=calls, certificate=made, primitives=inner)


def _run(
    fn: Callable[..., object], pair: tuple[object, object], chosen: Sequence[str | Primitive], seed: np.random.SeedSequence
) -> tuple[Tape, list[object], str]:
    """Both runs: the tape, what they came to, and how the second left the way of the first."""
    tape, outcomes, diverged = Tape(), [], ""
    sampler: Any = as_sampler(fn)
    for dataset in pair:
        generator: Any = RecordingGenerator(np.random.default_rng(seed), tape)
        with taped(tape, chosen):
            try:
                found = sampler(copied(dataset), 1, generator)
                outcomes.append(found[0] if len(found) == 1 else found)
            except Diverged as error:
                diverged = error.words
                outcomes.append(None)
            except Exception as error:
                if isinstance(error, InvalidValueError) and error.where == "record":
                    raise
                outcomes.append(error)
        if not tape.replaying:
            tape.rewind()
    return tape, outcomes, diverged


def _differences(tape: Tape, outcomes: list[object], diverged: str) -> tuple[list[str], bool]:
    """What the answers do not explain; and whether something was not seen because noise became a plain number."""
    found = []
    escaped = any(call.escaped for call in tape.calls)
    if diverged:
        found.append(f"control flow differs: {diverged}")
    elif tape.unasked and not any(isinstance(one, Exception) for one in outcomes):
        found.append(f"control flow differs: the first run asks {tape.unasked[0].name}, and the second asks nothing more")
    for place, call in enumerate(tape.calls, start=1):
        if call.other_parameters is None:
            break  # the second run did not come so far
        found += [f"call {place} ({call.name}): {words}" for words in _of_call(call)]
    if diverged:
        return found, False
    one, two = (canonical(outcome) for outcome in outcomes)
    same = one.kind == two.kind and len(one.numbers) == len(two.numbers)
    if same and all(_equal(a, b) for a, b in zip(one.numbers, two.numbers, strict=True)):
        return found, False
    if escaped and not found:
        return found, True
    raised = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    what = f"kinds {one.kind!r} and {two.kind!r}" if one.kind != two.kind else "other numbers"
    how = "one run raises" if len(raised) == 1 else f"with the same answers the results differ ({what})"
    found.append(f"a release outside any primitive: {how}")
    return found, False


def _equal(one: float, two: float) -> bool:
    """But for the rounding of sums."""
    return one == two or abs(one - two) <= 1e-9 * max(1.0, abs(one)) or (math.isnan(one) and math.isnan(two))


def _of_call(call: Call) -> list[str]:
    found = []
    others = call.other_parameters or {}
    for key in {**call.parameters, **others}:
        one, two = sorted((call.parameters.get(key), others.get(key)), key=repr)
        if repr(one) != repr(two) and distances(one, two)[0] > 1e-12:
            found.append(f"its {key} depends on the data ({_short(one)} against {_short(two)})")
    if call.used or call.other_used:
        found.append("one draw is added to two values, whose difference is then exact")
    sensitivity, apart = call.parameters.get("sensitivity"), moved(call)
    if sensitivity is not None and not isinstance(sensitivity, str) and apart > float(sensitivity) * (1.0 + 1e-9):  # type: ignore[arg-type]
        found.append(f"its inputs are {_shown(apart)} apart, and the declared sensitivity is {_short(sensitivity)}")
    if call.family in ("laplace", "gaussian", "gumbel") and isinstance(call.value, dict):
        if any((one is None) != (two is None) for one, two, _ in noise_parts(call)):
            found.append("one run adds it to a value, and the other does not")
        if any(
            one is not None and two is not None and not math.isfinite(distances(one, two)[0])
            for one, two, _ in noise_parts(call)
        ):
            found.append("it is added to values of which one is no number, or of another shape")
    elif not math.isfinite(apart) and call.family == "priced" and call.price is None and not call.escaped:
        found.append("its inputs are of other shapes, or one is no number")
    return found


def _cost(tape: Tape, loss: Loss, delta: float) -> float:
    """Epsilon of all calls together at the delta of the claim: what they lose between the two runs."""
    events: list[Event] = []
    for call in tape.calls:
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
    return f"{spending} calls of primitives lose epsilon = {_shown(cost)} together{at}, and {in_full(epsilon)} is claimed"


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
        said = f"{call.name}({', '.join(f'{key}={_short(value)}' for key, value in call.parameters.items())})"
        level = 1.0 - (1.0 - confidence) / len(distinct)
        found += audit(drawn, loss, (call.value, call.other_value), level, samples, seed, recipe={"primitive": said})
    return tuple(found)


def _shown(number: float) -> str:
    return "infinity" if not math.isfinite(number) else format_down(number)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
