"""Statistical replay: the event of a refutation, frozen as code, is counted again on fresh draws of the target.

A replay needs the same random numbers; a target that has randomness of its own never gives them. An event that tells two
datasets apart does so on any draws, anywhere, so this confirms whatever can be run. The event is fixed before the draws, so one
interval decides, and nothing of the first audit has to be believed.
"""

from __future__ import annotations

import math

import numpy as np

from dpkit.auditing.betting.event_code import EventCode, LogDensity, speaks_of_density
from dpkit.auditing.betting.lower_bound import epsilon_lower, proportion_bounds, trials_needed
from dpkit.auditing.betting.profile import Point, points_of
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.recipe import read_recipe
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import NotABatch, PairOutputs, Sampler
from dpkit.auditing.successive import ADVICE, find_succession
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import format_down, in_full
from dpkit.values import dataclass

_LEAST, _LAW = 2_000, 4_000
_BY_CHANCE = 1e-8
_MOST_PAIR = math.log(4.0)
"""What one pair of outputs can add to ln of the e-value: a bet pays at most 2 on either side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What fresh draws say of an event: `confirmed` where they alone break the claim at the confidence asked for."""

    confirmed: bool
    hits: tuple[int, int] | None
    trials: int
    epsilon_lower: float
    delta: float
    confidence: float
    seed: int
    log_e_value: float | None = None
    drifted: tuple[str, ...] = ()
    """Parts of what was audited that are others now: its source, or versions of its packages."""
    dependence: str = ""
    """How successive outputs depend on each other: then their counts confirm nothing."""
    contradicted: tuple[str, ...] = ()
    """Fields of the certificate that its own numbers, its recipe or the fresh draws contradict: it was not written so."""

    def __str__(self) -> str:
        said = "confirmed on fresh draws" if self.confirmed else "NOT confirmed on fresh draws"
        if self.hits is not None:
            said += f": {self.hits[0]} against {self.hits[1]} of {self.trials} each"
            if self.confirmed:
                said += f", epsilon >= {format_down(self.epsilon_lower)} at delta = {in_full(self.delta)}"
        elif self.log_e_value is not None:
            said += (
                f": ln of the e-value {format_down(self.log_e_value, digits=4)} from {self.trials} draws of the first dataset"
            )
        said += f"; {self.dependence}: {ADVICE}" if self.dependence else ""
        if self.contradicted:
            said += f"; not what an audit of this wrote: its {', '.join(dict.fromkeys(self.contradicted))}"
        return said + (f"; changed since: {', '.join(self.drifted)}" if self.drifted else "")


def count_event(
    certificate: AuditCertificate,
    target: Sampler | Mechanism,
    pair: tuple[object, object],
    *,
    density: WhiteBox | None,
    confidence: float,
    samples: int,
    seed: int,
    drifted: tuple[str, ...] = (),
    contradicted: tuple[str, ...] = (),
) -> Confirmation:
    """Count the event of a certificate on at most `samples` fresh draws of both datasets, one a call."""
    sampler, density = _sampler(target, density)
    subject = ClaimAtPair(sampler=sampler, claim=certificate.claim, pair=pair, density=density)
    code = event_of(certificate, subject.log_density if density is not None else None)
    source = PairOutputs(sampler, pair, np.random.SeedSequence([seed, 0xC0F1]))
    if certificate.witness.encoding:
        source.draw_as(certificate.witness.encoding)
    source.draw_singly()
    if certificate.hypothesis == "declared law":
        trials = min(_LAW, max(1, samples // 2))
        gains = np.nan_to_num(code.scores(source.draw(trials)[0]), nan=0.0, posinf=math.inf, neginf=-math.inf)
        log_e = float(gains.sum())
        return Confirmation(
            confirmed=log_e >= -math.log1p(-confidence) and not contradicted, hits=None, trials=trials, epsilon_lower=0.0,
            delta=certificate.delta, confidence=confidence, seed=seed, log_e_value=log_e, drifted=drifted,
            contradicted=contradicted,
        )  # fmt: skip
    point = _point(certificate)
    trials = _trials(certificate, point, alpha=1.0 - confidence, most=max(1, samples // 2))
    try:
        first, second = source.draw(trials)
    except NotABatch:
        raise InvalidValueError(
            field="target", found="outputs of another form", allowed="outputs as those that were audited", where="confirm"
        ) from None
    sides = (first, second) if certificate.witness.forward else (second, first)
    hits = int(code.hits(sides[0]).sum()), int(code.hits(sides[1]).sum())
    lower = epsilon_lower(hits, trials, delta=point.delta, alpha=1.0 - confidence)
    dependence = find_succession(source, wait=lower > point.epsilon)
    if not dependence and not _is_old(certificate) and not drifted and _other_counts(certificate, hits, trials):
        contradicted = (*contradicted, "counts")
    return Confirmation(
        confirmed=lower > point.epsilon and not dependence and not contradicted, hits=hits, trials=trials,
        epsilon_lower=0.0 if dependence else lower, delta=point.delta, confidence=confidence, seed=seed, drifted=drifted,
        dependence=dependence, contradicted=contradicted,
    )  # fmt: skip


def contradictions(certificate: AuditCertificate) -> tuple[str, ...]:
    """Fields that do not go together with others of the same certificate: whoever seals anew may write anything.

    Level and evidence, event and counts, counts and bound. Small differences are those of other versions of scipy.
    """
    witness, found = certificate.witness, list[str]()
    if _is_old(certificate):
        return ()
    if certificate.level > (1.0 - certificate.confidence) * (1.0 + 1e-9):
        found.append("level")
    evidence = certificate.log_e_value
    if evidence < -math.log(certificate.level) - 1e-9 or (evidence == math.inf and witness.hits is not None):
        found.append("e-value")
    betting = certificate.samples - certificate.pilot_samples
    if certificate.falsifier == "black box" and evidence > 0.5 * betting * _MOST_PAIR + 1e-9:
        found.append("samples")
    if certificate.hypothesis in ("real arithmetic", "floating point"):
        by_rounding = certificate.falsifier == "floating point"
        if by_rounding != (certificate.hypothesis == "floating point"):
            found.append("hypothesis")
    if witness.hits is None:
        return tuple(found)
    if witness.trials < max(*witness.hits, 1) or certificate.bound_samples < 2 * witness.trials:
        return (*found, "counts")
    if not any(math.isclose(point.delta, certificate.delta, rel_tol=1e-9) for point in points_of(certificate.claim.loss)):
        found.append("delta")
    most = epsilon_lower(witness.hits, witness.trials, delta=certificate.delta, alpha=1.0 - certificate.confidence)
    if certificate.epsilon_lower > most * (1.0 + 1e-9) + 1e-9:
        found.append("lower bound")
    return tuple(found)


def _is_old(certificate: AuditCertificate) -> bool:
    """Whether it is from before recipes had a format, when counts were not those of the code."""
    return "format" not in read_recipe(certificate.recipe)


def _other_counts(certificate: AuditCertificate, hits: tuple[int, int], trials: int) -> bool:
    """Whether the counts of the certificate are of another event than that which was counted now: by chance in 1 of 10^8."""
    witness = certificate.witness
    if witness.hits is None:
        return False
    for before, now in zip(witness.hits, hits, strict=True):
        sides = [
            proportion_bounds(count, size, alpha=_BY_CHANCE / 8.0) for count, size in ((before, witness.trials), (now, trials))
        ]
        if max(low for low, _ in sides) > min(high for _, high in sides):
            return True
    return False


def event_of(certificate: AuditCertificate, log_density: LogDensity | None = None) -> EventCode:
    """The event of a certificate, ready to be asked which outputs lie in it."""
    code = certificate.witness.code
    if not code:
        raise InvalidValueError(
            field="certificate", found="no event", allowed="a certificate that names an event as code", where="confirm"
        )
    if speaks_of_density(code) and log_density is None:
        raise InvalidValueError(
            field="density", found=None, allowed="the declared density, which the event speaks of", where="confirm",
            fix="Pass density=..., or a mechanism that has a log_density.",
        )  # fmt: skip
    return EventCode(code, density=log_density)


def _point(certificate: AuditCertificate) -> Point:
    """The point of the claim at which the certificate counted its event."""
    points = points_of(certificate.claim.loss)
    return min(points, key=lambda point: (abs(point.delta - certificate.delta), point.epsilon))


def _trials(certificate: AuditCertificate, point: Point, *, alpha: float, most: int) -> int:
    """As many as the counts of the certificate say are needed, and half as many more: fixed before anything is drawn."""
    witness = certificate.witness
    if witness.hits is None or not witness.trials:
        return min(most, 4 * _LEAST)
    needed = trials_needed(witness.hits, witness.trials, point, alpha=alpha, most=most)
    return min(most, max(_LEAST, needed + needed // 2))


def _sampler(target: Sampler | Mechanism, density: WhiteBox | None) -> tuple[Sampler, WhiteBox | None]:
    if not isinstance(target, Mechanism):
        return target, density
    mechanism = target

    def sampler(value: object, n: int, rng: np.random.Generator) -> np.typing.ArrayLike:
        return mechanism.release_many(value, n, rng)  # type: ignore[arg-type]

    vars(sampler)["independent"] = True
    return sampler, density or (mechanism if isinstance(mechanism, WhiteBox) else None)
