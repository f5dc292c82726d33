"""`audit_scores`: one training with m canaries tests a claim; no second run is needed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Literal

import numpy as np
import numpy.typing as npt

from dpkit.auditing.betting.profile import Point, implied_delta, points_of
from dpkit.auditing.canaries.guesses import Guessing, guessings
from dpkit.auditing.canaries.one_run_bound import (
    LeastOf,
    largest_refuted,
    least_by_gaussian,
    least_by_points,
    may_be_right,
)
from dpkit.auditing.certificates.certificate import Verdict
from dpkit.contracts.guarantee import Guarantee
from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import format_down, format_up, in_full
from dpkit.numerics.special import Array
from dpkit.privacy.checks import finite_number, one_of, probability_below_one
from dpkit.privacy.gaussian_dp import gaussian_epsilon
from dpkit.privacy.losses import GDP, ApproxDP, Loss, PureDP
from dpkit.privacy.tradeoff import gaussian_mu_at
from dpkit.values import dataclass

Family = Literal["any", "gaussian"]
_WHERE = "audit_scores"
_USUAL_DELTA = 1e-5
_READ = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCertificate:
    """What the scores of canaries say about a claim, with this confidence over all guesses that were tried.

    `epsilon_lower` (at `delta`) is below the epsilon of the run: of any run where `family` is "any", else of one with a
    Gaussian curve. `ceiling` is the largest that this number of canaries can show: a larger epsilon is not excluded.
    """

    claim: str
    verdict: Verdict
    epsilon_lower: float
    delta: float
    ceiling: float
    family: Family
    canaries: int
    members: int
    guesses: int
    right: int
    confidence: float
    assumes: str = (
        "each canary was in the run by a fair coin of its own, scores are computed from the run's output alone, and the claim "
        "is about one canary more or less"
    )

    @property
    def refuted(self) -> bool:
        """Whether the verdict is `refuted`."""
        return self.verdict == "refuted"

    def to_json(self) -> str:
        """All fields."""
        body = {part.name: getattr(self, part.name) for part in fields(self)}
        return json.dumps({"dpkit_score_audit": 1, **body}, indent=2)

    def __str__(self) -> str:
        of = "a run whose curve is a Gaussian's" if self.family == "gaussian" else "the run, whatever its noise"
        at = f"at delta = {in_full(self.delta)}"
        return "\n".join(
            [
                f"{self.verdict.upper()}: {self.claim}",
                f"  lower bound epsilon >= {format_down(self.epsilon_lower)} {at}, of {of}",
                f"  ceiling     epsilon = {format_up(self.ceiling, digits=4)} is all that {self.canaries} canaries can show",
                f"  counted     {self.right} of {self.guesses} guesses right; {self.members} of {self.canaries} were in it",
                f"  confidence  {in_full(self.confidence)}, over all guesses that were tried",
                f"  assumes     {self.assumes}",
            ]
        )


def audit_scores(
    member_scores: npt.ArrayLike,
    other_scores: npt.ArrayLike,
    *,
    claim: Loss | Guarantee | float | tuple[float, float],
    confidence: float = 0.999,
    delta: float | None = None,
    family: Family | None = None,
) -> ScoreCertificate:
    """Test a claim by one run: scores of canaries that were in it, and of others, high where it looks as if they were.

    Every canary must have been put in by a fair coin of its own: `draw_canaries` does that. The claim is an epsilon, a pair
    (epsilon, delta), any loss, or a guarantee, under adding or removing one canary. For Gaussian noise, composed or not, say
    family="gaussian" or claim GDP(mu=...): the whole curve is tested, and `epsilon_lower` is of runs with such a curve.
    `delta` is where epsilon_lower is read: by default that of the claim, or 1e-5 where it has a curve.

    Valid for every number of canaries, and however outputs tell of them together (MMC24): which canaries are guessed depends on
    scores alone, at sizes whose shares of the error probability are fixed by the number of canaries.
    """
    level = 1.0 - finite_number(confidence, field="confidence", where=_WHERE, minimum=0.0, below=1.0, strict=True)
    scores, members = _ordered(member_scores, other_scores)
    claimed, at, kind = _claimed(claim, delta, family)
    canaries = scores.size
    tried = guessings(canaries)
    counts = [guessing.right(scores, members) for guessing in tried]
    curve = _curve(kind, at)

    def allows(guessing: Guessing, right: int) -> bool:
        allowed = guessing.share * level
        return may_be_right(claimed, canaries=canaries, guesses=guessing.count, right=right, level=allowed)

    def bound(rights: Sequence[int]) -> tuple[float, int]:
        best, place = 0.0, 0
        for j, (guessing, right) in enumerate(zip(tried, rights, strict=True)):
            found = largest_refuted(
                curve, best, canaries=canaries, guesses=guessing.count, right=right, level=guessing.share * level
            )
            best, place = (found, j) if found > best else (best, place)
        return (best if kind == "any" else _epsilon_below(best, at)), place

    broken = [not allows(guessing, right) for guessing, right in zip(tried, counts, strict=True)]
    lower, place = bound(counts)
    ceiling, _ = bound([guessing.count for guessing in tried])
    could = any(not allows(guessing, guessing.count) for guessing in tried)
    place = broken.index(True) if any(broken) and not broken[place] else place
    return ScoreCertificate(
        claim=str(claim),
        verdict="refuted" if any(broken) else "not refuted" if could else "inconclusive",
        epsilon_lower=lower,
        delta=at,
        ceiling=ceiling,
        family=kind,
        canaries=canaries,
        members=int(np.count_nonzero(members)),
        guesses=tried[place].count,
        right=counts[place],
        confidence=confidence,
    )


def _epsilon_below(mu: float, delta: float) -> float:
    return gaussian_epsilon(mu, delta=delta) * (1.0 - 1e-9)


def _curve(family: Family, delta: float) -> Callable[[float], LeastOf]:
    if family == "gaussian":
        return least_by_gaussian
    return lambda epsilon: least_by_points((Point(epsilon=epsilon, delta=delta),))


def _claimed(claim: object, delta: float | None, family: Family | None) -> tuple[LeastOf, float, Family]:
    """The curve of the claim, where epsilon_lower is read, and of which family it is."""
    if family is not None:
        one_of(family, ("any", "gaussian"), field="family", where=_WHERE)
    if isinstance(claim, tuple) and len(claim) == 2:
        claim = ApproxDP(epsilon=claim[0], delta=claim[1])
    elif isinstance(claim, int | float) and not isinstance(claim, bool):
        claim = PureDP(epsilon=claim)
    if not isinstance(claim, Loss | Guarantee):
        allowed = "an epsilon, a pair (epsilon, delta), a loss such as GDP(mu=1.0), or a guarantee"
        raise InvalidValueError(field="claim", found=type(claim).__name__, allowed=allowed, where=_WHERE)
    own = claim.delta if isinstance(claim, ApproxDP) else 0.0 if isinstance(claim, PureDP) else _USUAL_DELTA
    at = own if delta is None else probability_below_one(delta, field="delta", where=_WHERE)
    kind: Family = family or ("gaussian" if isinstance(claim, GDP) else "any")
    if kind == "any":
        return least_by_points(_points(claim)), at, kind
    if isinstance(claim, PureDP) or at == 0.0:
        allowed = "a claim with delta above 0: Gaussian noise has no finite epsilon at delta = 0"
        raise InvalidValueError(field="family", found="gaussian", allowed=allowed, where=_WHERE)
    if isinstance(claim, GDP):
        return least_by_gaussian(claim.mu), at, kind
    epsilon = claim.epsilon(delta=at) if isinstance(claim, Guarantee) else _epsilon_of(claim, at)
    return least_by_gaussian(gaussian_mu_at(epsilon, at)), at, kind


def _epsilon_of(loss: Loss, delta: float) -> float:
    if isinstance(loss, ApproxDP) and loss.delta == delta:
        return loss.epsilon
    from dpkit.numerics.bracketing import first_true

    bracket = first_true(lambda epsilon: implied_delta(loss, epsilon) <= delta)
    return math.inf if bracket is None else bracket[1]


def _points(claim: Loss | Guarantee) -> tuple[Point, ...]:
    if not isinstance(claim, Guarantee):
        return points_of(claim)
    top = claim.epsilon(delta=1e-9)
    top = top if math.isfinite(top) else claim.epsilon(delta=1e-4)
    if not math.isfinite(top):
        found = "no finite epsilon at delta = 1e-4"
        raise InvalidValueError(field="claim", found=found, allowed="a guarantee with a finite epsilon", where=_WHERE)
    epsilons = [top * part / _READ for part in range(_READ + 1)]
    return tuple(Point(epsilon=epsilon, delta=claim.delta(epsilon=epsilon)) for epsilon in epsilons)


def _ordered(member_scores: npt.ArrayLike, other_scores: npt.ArrayLike) -> tuple[Array, npt.NDArray[np.bool_]]:
    """All scores ascending, and which are members'; ties in an order drawn by numbers that know neither."""
    sides = []
    for name, given in (("member_scores", member_scores), ("other_scores", other_scores)):
        try:
            side = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            side = np.full((1, 1), math.nan)
        if side.ndim != 1 or not np.isfinite(side).all():
            found = f"an array of shape {side.shape}" if side.ndim != 1 else "a score that is no finite number"
            raise InvalidValueError(field=name, found=found, allowed="finite numbers, one a canary", where=_WHERE)
        sides.append(side)
    if sides[0].size + sides[1].size < 1:
        raise InvalidValueError(field="member_scores", found="no canary", allowed="at least one canary", where=_WHERE)
    scores = np.concatenate(sides)
    members = np.arange(scores.size) < sides[0].size
    order = np.lexsort((np.random.default_rng(0).permutation(scores.size), scores))
    return scores[order], members[order]
