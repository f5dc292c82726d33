"""Report noisy max: the candidate with the largest noisy score, and nothing else; sampled exactly.

With Gumbel noise it is the exponential mechanism. With exponential noise it is permute-and-flip (Ding21), never worse than it.
With Laplace noise it is the textbook's (DR14, Claim 3.9).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.exponential import Exponential, FloatArray, IntArray, checked_scores
from dpkit.numerics.laplace_quadrature import laplace_below, laplace_density, laplace_nodes
from dpkit.numerics.noise.exact_choice import exponential_coins
from dpkit.numerics.noise.lazy_laplace import largest_places
from dpkit.numerics.noise.noise_inputs import checked_scale
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.checks import checked, nonnegative, one_of
from dpkit.privacy.claims import Claim, LossRule, finite, rule
from dpkit.privacy.events import Event
from dpkit.privacy.losses import ZCDP, PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

Noise = Literal["gumbel", "exponential", "laplace"]
_NOISES = ("gumbel", "exponential", "laplace")


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=nonnegative, noise=partial(one_of, options=_NOISES))
class NoisyMaxEvent(Event):
    """The candidate with the largest noisy score; `ratio` is the most that a score moves over the scale of the noise.

    `monotone`: a record that comes or goes moves all scores in one direction, which halves the loss under add-remove.
    """

    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)

    ratio: float
    noise: Noise
    monotone: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.monotone, bool):
            raise InvalidValueError(field="monotone", found=self.monotone, allowed="true or false", where="NoisyMaxEvent")


def _range_zcdp(ratio: float, factor: int) -> ZCDP:
    return ZCDP(rho=finite(round_up((factor * Fraction(ratio)) ** 2 / 8), notion="rho"))


RULES: tuple[LossRule, ...] = (
    rule(
        "noisy-max-pure",
        NoisyMaxEvent,
        PureDP,
        ("DR14", "section 3.3; MS20 for exponential noise: twice the ratio"),
        lambda event: PureDP(epsilon=finite(round_up(2 * Fraction(event.ratio)), notion="epsilon")),
    ),
    rule(
        "noisy-max-monotone",
        NoisyMaxEvent,
        PureDP,
        ("DR14", "Claim 3.9; MS20: the ratio for monotone scores, under add-remove"),
        lambda event: PureDP(epsilon=event.ratio) if event.monotone else None,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
    rule(
        "noisy-max-gumbel-zcdp",
        NoisyMaxEvent,
        ZCDP,
        ("CR21", "Lemma 3.2: Gumbel noise is the exponential mechanism, whose loss has a range of twice the ratio"),
        lambda event: _range_zcdp(event.ratio, 2) if event.noise == "gumbel" else None,
    ),
    rule(
        "noisy-max-gumbel-monotone-zcdp",
        NoisyMaxEvent,
        ZCDP,
        ("CR21", "Lemma 3.2, at half the range for monotone scores under add-remove"),
        lambda event: _range_zcdp(event.ratio, 1) if event.noise == "gumbel" and event.monotone else None,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMax:
    """Adds noise of this scale to each score and gives the place of the largest. The value is the vector of scores."""

    scale: float
    noise: Noise = "exponential"
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(self.scale, where="NoisyMax"))
        one_of(self.noise, _NOISES, field="noise", where="NoisyMax")
        if not isinstance(self.monotone, bool):
            raise InvalidValueError(field="monotone", found=self.monotone, allowed="true or false", where="NoisyMax")

    def event(self, at: Distance | Sequence[Distance]) -> NoisyMaxEvent:
        """A choice whose scores each move by at most this distance (in the largest score, or in a norm that bounds it)."""
        distance = mechanism_base.distance_in(at, metrics=("linf", "l2", "l1"), where="NoisyMax")
        ratio = mechanism_base.ratio_up(distance, self.scale)
        return NoisyMaxEvent(ratio=ratio, noise=self.noise, monotone=self.monotone)

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> IntArray:
        """The chosen index: an integer array without axes."""
        if self.noise == "gumbel":
            return Exponential(scale=self.scale).release(value, rng, saturate=saturate)
        return self._many(value, 1, mechanism_base.checked_generator(rng), saturate).reshape(())

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> IntArray:
        """n independent choices."""
        if self.noise == "gumbel":
            return Exponential(scale=self.scale).release_many(value, n, rng)
        mechanism_base.repeated(0, n)  # n is checked as everywhere
        return self._many(value, n, mechanism_base.checked_generator(rng), None)

    def _many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None, saturate: float | None) -> IntArray:
        scores = checked_scores(value, saturate, where="NoisyMax.release")
        source = secure_generator() if rng is None else rng
        if self.noise == "exponential":
            chosen = permute_and_flip(scores, self.scale, n, source)
        else:
            chosen = largest_places(scores, self.scale, n, source)
        return stamped(chosen, source, value=value)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """What the rules say of it."""
        return mechanism_base.claims_of(self.event(at=at), RULES, neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """ln probability of each chosen index; minus infinity for what is no index."""
        if self.noise == "gumbel":
            return Exponential(scale=self.scale).log_density(output, value)
        scores = checked_scores(value, None, where="NoisyMax.log_density")
        law = flip_law(scores, self.scale) if self.noise == "exponential" else _laplace_law(scores, self.scale)
        return log_law(output, law)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """How far below the best score the chosen one is, at most, at this confidence.

        Permute-and-flip and the exponential mechanism have one bound (DR14, Theorem 3.11); two Laplace noises have another.
        """
        failure = 1.0 - mechanism_base.checked_confidence(confidence)
        count = mechanism_base.entries(shape)
        reach = math.log(count) - math.log(failure)
        return self.scale * (2.0 * reach if self.noise == "laplace" else reach) * (1.0 + 1e-12)


def permute_and_flip(scores: FloatArray, scale: float, n: int, rng: np.random.Generator) -> IntArray:
    """n draws: candidates in a random order, each taken with probability exp(-gap / scale), until one is (MS20), exactly."""
    best, width = Fraction(float(np.max(scores))), Fraction(scale)
    with np.errstate(all="ignore"):  # nothing may be signalled that depends on a value
        gaps = (np.max(scores) - scores) / scale

    def exact(place: int) -> Fraction:
        return (best - Fraction(float(scores[place]))) / width

    order = rng.permuted(np.tile(np.arange(scores.size), (n, 1)), axis=1)
    flat = order.ravel()
    heads = exponential_coins(gaps[flat], exact=lambda i: exact(int(flat[i])), rng=rng)
    first = np.argmax(heads.reshape(order.shape), axis=1)
    return np.asarray(order[np.arange(n), first], dtype=np.int64)


def flip_law(scores: FloatArray, scale: float) -> FloatArray:
    """The probability of each candidate under permute-and-flip: p_i times the integral of the product of 1 - t p_j, j not i.

    t is when i comes up, as a share of the order; each other candidate came before with probability t and was not taken.
    """
    with np.errstate(all="ignore"):
        taken = np.exp((scores - np.max(scores)) / scale)
    nodes, weights = np.polynomial.legendre.leggauss(scores.size // 2 + 1)  # exact: the product is a polynomial
    left = 1.0 - 0.5 * (nodes[:, None] + 1.0) * taken
    others = np.stack([np.prod(np.delete(left, i, axis=1), axis=1) for i in range(scores.size)], axis=1)
    return np.asarray(taken * (0.5 * weights @ others), dtype=np.float64)


def _laplace_law(scores: FloatArray, scale: float) -> FloatArray:
    """The probability that each candidate's noisy score is the largest."""
    places, weights = laplace_nodes(scores, scale)
    below = laplace_below(places[:, None] - scores, scale)
    densities = laplace_density(places[:, None] - scores, scale)
    others = np.stack([np.prod(np.delete(below, i, axis=1), axis=1) for i in range(scores.size)], axis=1)
    return np.asarray(weights @ (densities * others), dtype=np.float64)


def log_law(output: npt.ArrayLike, law: FloatArray) -> FloatArray:
    """ln probability of each place in a law; minus infinity for what is no place, -1 included."""
    chosen = np.asarray(output, dtype=np.float64)
    possible = (chosen >= 0) & (chosen < law.size) & (chosen == np.floor(chosen))
    with np.errstate(divide="ignore"):
        return np.where(possible, np.log(law[np.where(possible, chosen, 0).astype(np.int64)]), -math.inf)
