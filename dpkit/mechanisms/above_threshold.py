"""Above threshold, the sparse vector technique: which of a stream of answers is the first above a noisy threshold; exactly.

Only the place is given, never the noisy answer that was compared, and noise is fresh for each answer: variants that gave or
kept more were broken (LSL17). For several answers above, begin again on the rest: each beginning is one more event.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.exponential import FloatArray, IntArray, checked_scores
from dpkit.mechanisms.noisy_max import log_law
from dpkit.numerics.laplace_quadrature import laplace_below, laplace_density, laplace_nodes
from dpkit.numerics.noise.lazy_laplace import first_places_above
from dpkit.numerics.noise.noise_inputs import checked_scale
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.checks import checked, finite_number, nonnegative
from dpkit.privacy.claims import Claim, LossRule, finite, rule
from dpkit.privacy.events import Event
from dpkit.privacy.losses import PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(threshold_ratio=nonnegative, answer_ratio=nonnegative)
class AboveThresholdEvent(Event):
    """The place of the first answer above a noisy threshold; ratios are the most that an answer moves over each noise's scale.

    `monotone`: a record that comes or goes moves all answers in one direction, which saves one answer ratio under add-remove.
    """

    cheaper_below: ClassVar[tuple[str, ...]] = ("threshold_ratio", "answer_ratio")

    threshold_ratio: float
    answer_ratio: float
    monotone: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.monotone, bool):
            raise InvalidValueError(field="monotone", found=self.monotone, allowed="true or false", where="AboveThresholdEvent")


def _pure(event: AboveThresholdEvent, answers: int) -> PureDP:
    exact = Fraction(event.threshold_ratio) + answers * Fraction(event.answer_ratio)
    return PureDP(epsilon=finite(round_up(exact), notion="epsilon"))


RULES: tuple[LossRule, ...] = (
    rule(
        "above-threshold-pure",
        AboveThresholdEvent,
        PureDP,
        ("LSL17", "Theorem 4: the threshold's ratio and twice the answer's"),
        lambda event: _pure(event, 2),
    ),
    rule(
        "above-threshold-monotone",
        AboveThresholdEvent,
        PureDP,
        ("LSL17", "Theorem 5: monotone answers, under add-remove"),
        lambda event: _pure(event, 1) if event.monotone else None,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveThreshold:
    """Gives the place of the first answer whose noisy value is above the noisy threshold; the number of answers where none is.

    The value is the vector of answers. Both noises are Laplace: `scale` on each answer, `threshold_scale` (by default half of
    it, which is nearly best) on the threshold.
    """

    scale: float
    threshold: float = 0.0
    threshold_scale: float | None = None
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(self.scale, where="AboveThreshold"))
        finite_number(self.threshold, field="threshold", where="AboveThreshold")
        if self.threshold_scale is not None:
            object.__setattr__(self, "threshold_scale", checked_scale(self.threshold_scale, where="AboveThreshold"))
        if not isinstance(self.monotone, bool):
            raise InvalidValueError(field="monotone", found=self.monotone, allowed="true or false", where="AboveThreshold")

    @property
    def of_threshold(self) -> float:
        """The scale of the threshold's noise."""
        return 0.5 * self.scale if self.threshold_scale is None else self.threshold_scale

    def event(self, at: Distance | Sequence[Distance]) -> AboveThresholdEvent:
        """A comparison of answers that each move by at most this distance."""
        distance = mechanism_base.distance_in(at, metrics=("linf", "l2", "l1"), where="AboveThreshold")
        ratios = [mechanism_base.ratio_up(distance, scale) for scale in (self.of_threshold, self.scale)]
        return AboveThresholdEvent(threshold_ratio=ratios[0], answer_ratio=ratios[1], monotone=self.monotone)

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> IntArray:
        """The place: an integer array without axes."""
        return self._many(value, 1, mechanism_base.checked_generator(rng), saturate).reshape(())

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> IntArray:
        """n independent runs over the same answers."""
        mechanism_base.repeated(0, n)  # n is checked as everywhere
        return self._many(value, n, mechanism_base.checked_generator(rng), None)

    def _many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None, saturate: float | None) -> IntArray:
        answers = checked_scores(value, saturate, where="AboveThreshold.release")
        source = secure_generator() if rng is None else rng
        found = first_places_above(answers, self.scale, self.threshold, self.of_threshold, n, source)
        return stamped(found, source, value=value)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """What the rules say of it."""
        return mechanism_base.claims_of(self.event(at=at), RULES, neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """ln probability of each place, the number of answers included; minus infinity for what is no place."""
        answers = checked_scores(value, None, where="AboveThreshold.log_density")
        centers = np.append(answers, self.threshold)
        places, weights = laplace_nodes(centers, min(self.scale, self.of_threshold))
        bars = weights * laplace_density(places - self.threshold, self.of_threshold)
        below = laplace_below(places[:, None] - answers, self.scale)
        before = np.cumprod(np.concatenate((np.ones((places.size, 1)), below), axis=1), axis=1)
        law = bars @ np.concatenate((before[:, :-1] * (1.0 - below), before[:, -1:]), axis=1)
        return log_law(output, np.asarray(law, dtype=np.float64))

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """How far an answer may be on the wrong side of the threshold, at this confidence, for all answers at once."""
        failure = 1.0 - mechanism_base.checked_confidence(confidence)
        count = mechanism_base.entries(shape)
        reach = math.log(2.0 * (count + 1)) - math.log(failure)
        return (self.scale + self.of_threshold) * reach * (1.0 + 1e-12)
