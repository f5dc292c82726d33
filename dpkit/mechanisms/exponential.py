"""The exponential mechanism over finitely many candidates, sampled exactly and accounted by bounded range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_choice import exponential_choices
from dpkit.numerics.noise.noise_inputs import checked_scale, checked_value
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.rounding import UNIT_ROUNDOFF, round_up
from dpkit.numerics.special import Array, Complex, asfloat
from dpkit.privacy.checks import checked, nonnegative
from dpkit.privacy.claims import Claim, LossRule, finite, rule
from dpkit.privacy.events import Event
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.privacy.losses import ZCDP, PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(range=nonnegative)
class BoundedRangeEvent(Event):
    """A choice whose privacy loss varies by at most `range` over the outcomes, for any one pair of neighbours.

    `monotone`: a record that comes or goes moves all scores in one direction, which halves the range under add-remove. A
    replaced record moves some up and others down, so under replace-one it changes nothing.
    """

    range: float
    monotone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(range=nonnegative)
class BoundedRangePair(LossPair):
    """The pair whose loss has a density proportional to e^(l/2) between -range and range: at every epsilon, negative ones
    included, its profile is the largest that a loss of this range has (docs/proofs/quantiles.md, theorem 1). Symmetric.
    """

    range: float

    def forward(self) -> LossDirection:
        """Symmetric."""
        return _RangeDirection(range=self.range)

    @property
    def strength(self) -> float | None:
        """The range."""
        return self.range


@dataclass(frozen=True, slots=True, kw_only=True)
class _RangeDirection(LossDirection):
    """delta(e) = (1 - e^((e - r)/2))^2 / (1 - e^-r) for -r <= e <= r."""

    range: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        root = np.expm1(0.5 * np.minimum(epsilons - self.range, 0.0))
        inner = root * root / self._whole()
        value = np.where(epsilons < -self.range, -np.expm1(np.minimum(epsilons, 0.0)), inner)
        return asfloat(value), asfloat(16.0 * UNIT_ROUNDOFF * value)

    def slope(self, epsilons: Array) -> Array:
        # Q(L > e) = (e^(-(r + e)/2) - e^-r) / (1 - e^-r)
        near = -np.expm1(-0.5 * np.clip(self.range - epsilons, 0.0, 2.0 * self.range))
        inner = np.exp(-0.5 * np.clip(self.range + epsilons, 0.0, 2.0 * self.range)) * near / self._whole()
        return asfloat(np.where(epsilons < -self.range, 1.0, inner))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.range, self.range

    def top(self) -> float:
        return self.range

    def log_moment(self, z: Complex) -> Complex:
        # the integral of e^((z + 1/2) l) over that of e^(l/2)
        twice = 2.0 * z + 1.0
        return np.asarray(
            z * self.range + np.log(-np.expm1(-twice * self.range) / (twice * self._whole())), dtype=np.complex128
        )

    def _whole(self) -> float:
        return -math.expm1(-max(self.range, 1e-300))


def _zcdp(width: float) -> ZCDP:
    return ZCDP(rho=finite(round_up(Fraction(width) ** 2 / 8), notion="rho"))


RULES: tuple[LossRule, ...] = (
    rule(
        "bounded-range-pure",
        BoundedRangeEvent,
        PureDP,
        ("DuR19", "a range that contains zero bounds the loss"),
        lambda event: PureDP(epsilon=event.range),
    ),
    rule(
        "bounded-range-pair",
        BoundedRangeEvent,
        BoundedRangePair,
        ("dpkit", "docs/proofs/quantiles.md, theorem 1"),
        lambda event: BoundedRangePair(range=event.range),
    ),
    rule(
        "monotone-range-pair",
        BoundedRangeEvent,
        BoundedRangePair,
        ("dpkit", "docs/proofs/quantiles.md, theorem 1, at half the range for monotone scores under add-remove"),
        lambda event: BoundedRangePair(range=round_up(Fraction(event.range) / 2)) if event.monotone else None,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
    rule("bounded-range-zcdp", BoundedRangeEvent, ZCDP, ("CR21", "Lemma 3.2: range^2/8"), lambda event: _zcdp(event.range)),
    rule(
        "monotone-range-pure",
        BoundedRangeEvent,
        PureDP,
        ("DuR19", "monotone scores: half the range, under add-remove"),
        lambda event: PureDP(epsilon=round_up(Fraction(event.range) / 2)) if event.monotone else None,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
    rule(
        "monotone-range-zcdp",
        BoundedRangeEvent,
        ZCDP,
        ("CR21", "Lemma 3.2, at half the range for monotone scores under add-remove"),
        lambda event: _zcdp(round_up(Fraction(event.range) / 2)) if event.monotone else None,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """Chooses candidate i with probability proportional to exp(score_i / scale). The value is the vector of scores.

    At a distance D (the most that any score can move), the loss ranges over 2 D / scale. Where `monotone` is declared (adding
    a record moves all scores in one direction) it ranges over D / scale, under add-remove only. The textbook's epsilon is
    scale = 2 D / epsilon.
    """

    scale: float
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(self.scale, where="Exponential"))
        if not isinstance(self.monotone, bool):
            raise InvalidValueError(field="monotone", found=self.monotone, allowed="true or false", where="Exponential")

    def event(self, at: Distance | Sequence[Distance]) -> BoundedRangeEvent:
        """A choice whose scores each move by at most this distance (in the largest score, or in a norm that bounds it)."""
        distance = mechanism_base.distance_in(at, metrics=("linf", "l2", "l1"), where="Exponential")
        return BoundedRangeEvent(range=mechanism_base.ratio_up(distance, self.scale, factor=2), monotone=self.monotone)

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> IntArray:
        """The chosen index: an integer array without axes."""
        chosen = _choices(value, self.scale, 1, mechanism_base.checked_generator(rng), saturate)
        return chosen.reshape(())

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> IntArray:
        """n independent choices."""
        mechanism_base.repeated(0, n)  # n is checked as everywhere
        return _choices(value, self.scale, n, mechanism_base.checked_generator(rng), None)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """The pure claim and the one by bounded range."""
        return mechanism_base.claims_of(self.event(at=at), RULES, neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """ln probability of each chosen index; minus infinity for what is no index, -1 included."""
        scores = checked_scores(value, None)
        chosen = np.asarray(output, dtype=np.float64)
        possible = (chosen >= 0) & (chosen < scores.size) & (chosen == np.floor(chosen))
        index = np.where(possible, chosen, 0).astype(np.int64)
        with np.errstate(all="ignore"):
            gaps = (scores - np.max(scores)) / self.scale  # first the difference: a common shift must cancel exactly
            return np.where(possible, gaps[index] - math.log(float(np.sum(np.exp(gaps)))), -math.inf)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """How far below the best score the chosen one is, at most, at this confidence (DR14, Theorem 3.11)."""
        failure = 1.0 - mechanism_base.checked_confidence(confidence)
        return self.scale * (math.log(mechanism_base.entries(shape)) - math.log(failure)) * (1.0 + 1e-12)


def checked_scores(value: npt.ArrayLike, saturate: float | None, *, where: str = "Exponential.release") -> FloatArray:
    """A vector of at least one score."""
    scores = checked_value(value, saturate=saturate, where=where)
    if scores.ndim != 1 or not scores.size:
        raise InvalidValueError(
            field="value", found=f"shape {scores.shape}", allowed="a vector of at least one score", where=where
        )
    return scores


def _choices(value: npt.ArrayLike, scale: float, n: int, rng: np.random.Generator | None, saturate: float | None) -> IntArray:
    """n exact draws: the gap to the best score, over the scale, is the exponent."""
    scores = checked_scores(value, saturate)
    best, width = Fraction(float(np.max(scores))), Fraction(scale)
    source = secure_generator() if rng is None else rng
    with np.errstate(all="ignore"):  # nothing may be signalled that depends on a value
        gaps = (np.max(scores) - scores) / scale
        chosen = exponential_choices(gaps, exact=lambda i: (best - Fraction(float(scores[i]))) / width, size=n, rng=source)
    return stamped(chosen, source, value=value)
