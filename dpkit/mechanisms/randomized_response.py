"""Randomised response over finitely many categories, sampled exactly: the truth, or any other answer, at odds of e^epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_choice import coins
from dpkit.numerics.noise.lazy_uniform import Precision, Real, enclose_decreasing
from dpkit.numerics.noise.noise_inputs import checked_integers
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.rounding import next_up
from dpkit.privacy.checks import checked, nonnegative, whole_number
from dpkit.privacy.claims import Claim, LossRule, rule
from dpkit.privacy.events import Event
from dpkit.privacy.losses import PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

IntArray = npt.NDArray[np.int64]

FIXED_SHAPE = "the number of answers is public: an absent record has a fixed category"


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative, categories=partial(whole_number, minimum=2))
class RandomizedResponseEvent(Event):
    """An answer that is `e^epsilon` times as likely under its own truth as under any other; `categories` possible answers.

    The number of answers is the same for all neighbours: a record that comes or goes changes an answer, it adds none.
    """

    epsilon: float
    categories: int


RULES: tuple[LossRule, ...] = (
    # attained with two; with more, some answers tell the two truths apart not at all
    rule(
        "randomized-response-pure",
        RandomizedResponseEvent,
        PureDP,
        ("War65", "and DR14, section 3.2"),
        lambda event: PureDP(epsilon=event.epsilon),
        attained=lambda event: event.categories == 2,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative, categories=partial(whole_number, minimum=2))
class RandomizedResponse:
    """Each entry, a category 0 .. categories-1, is answered truthfully at odds of e^epsilon to 1 against each other one.

    An entry is one person's category, and how many answers there are is released as it is. So neighbours differ in entries, not
    in their number: replace-one, for which this is stated by default. Under add-remove it holds where everyone on a public list
    answers, and a record that is absent has a fixed category; its claims say so.
    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        if self.categories > 2**31:
            allowed = "at most 2**31"
            raise InvalidValueError(field="categories", found=self.categories, allowed=allowed, where="RandomizedResponse")

    @property
    def truth_probability(self) -> float:
        """e^epsilon / (e^epsilon + categories - 1)."""
        return 1.0 / (1.0 + (self.categories - 1) * math.exp(-self.epsilon))

    @property
    def lie_probability(self) -> float:
        """(categories - 1) / (e^epsilon + categories - 1), without cancellation: accurate however rare lies are."""
        odds = (self.categories - 1) * math.exp(-self.epsilon)
        return odds / (1.0 + odds)

    def event(self, at: Distance | Sequence[Distance]) -> RandomizedResponseEvent:
        """The answers of which at most n change: `records(n)`; n entries cost n times epsilon."""
        changed = mechanism_base.distance_in(at, metrics=("records",), where="RandomizedResponse")
        total = changed * self.epsilon
        return RandomizedResponseEvent(epsilon=next_up(total) if changed > 1 else total, categories=self.categories)

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> IntArray:
        """The randomised answers. A direct call refuses what is no category; with `saturate` it counts as the nearest one."""
        mechanism_base.checked_generator(rng)
        truths = self._categories(value, saturate=saturate, where="RandomizedResponse.release")
        source = secure_generator() if rng is None else rng
        lies = self._lies(truths.size, source).reshape(truths.shape)
        others = source.integers(0, self.categories - 1, size=truths.shape, dtype=np.int64)
        others += others >= truths  # uniform over the categories that are not the truth
        return stamped(np.where(lies, others, truths), source, value=value)

    def _lies(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Exact coins with probability (k-1) / (e^epsilon + k-1)."""
        others = self.categories - 1

        def lying(context: Precision, epsilon: Real) -> Real:
            return context.mpf(others) / (context.exp(epsilon) + others)

        return coins(
            np.full(count, self.lie_probability), enclosure=lambda i: enclose_decreasing(lying, Fraction(self.epsilon)), rng=rng
        )

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> IntArray:
        """n independent answers along the first axis."""
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.REPLACE_ONE) -> tuple[Claim, ...]:
        """The pure claim; under add-remove, with what it assumes about absent records."""
        assuming = mechanism_base.ASSUMING + (FIXED_SHAPE,) * (neighbours is Neighbours.ADD_REMOVE)
        return mechanism_base.claims_of(self.event(at=at), RULES, neighbours=neighbours, assuming=assuming)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln probability of the answers, summed over the entries of the value; minus infinity for what is no category."""
        truths = self._categories(mechanism_base.whole(value), saturate=None, where="RandomizedResponse.log_density")
        answers = np.asarray(output, dtype=np.float64)
        truth = -math.log1p((self.categories - 1) * math.exp(-self.epsilon))
        terms = np.where(answers == truths, truth, truth - self.epsilon)
        possible = (answers >= 0) & (answers < self.categories) & (answers == np.floor(answers))
        return mechanism_base.summed_over_value(np.where(possible, terms, -math.inf), truths.ndim)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """How many of the answers differ from the truth, at most, at this confidence: the exact binomial quantile."""
        from scipy.special import betainc

        count, needed = mechanism_base.entries(shape), mechanism_base.checked_confidence(confidence)
        if count > 2**53:
            raise InvalidValueError(field="shape", found=shape, allowed="at most 2**53 answers in all", where="accuracy")

        def too_few(lies: int) -> bool:
            """Whether more lies than these are likelier than allowed, by the smaller of the two tails: it keeps its digits."""
            if needed < 0.5:
                return bool(betainc(count - lies, lies + 1, self.truth_probability) < needed)
            return bool(betainc(lies + 1, count - lies, self.lie_probability) > 1.0 - needed)

        low, high = -1, count  # too few, and enough
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if too_few(middle) else (low, middle)
        return float(high)

    def _categories(self, value: npt.ArrayLike, *, saturate: float | None, where: str) -> IntArray:
        whole = checked_integers(value, largest=2**62, saturate=saturate, where=where)
        if saturate is not None:
            return np.clip(whole, 0, self.categories - 1)
        if whole.size and not (whole.min() >= 0 and whole.max() < self.categories):
            allowed = f"integers from 0 to {self.categories - 1}"
            raise InvalidValueError(field="value", found="a number outside the categories", allowed=allowed, where=where)
        return whole
