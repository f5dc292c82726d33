"""Wrong mechanisms on which neither dpkit's bets nor a peer were tuned, each with its privacy loss in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpkit import ApproxDP, Loss, PureDP
from dpkit.authoring import Array, asfloat


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A mechanism that does not keep its claim at a pair, and ln P(y)/Q(y) of its outputs there."""

    name: str
    sampler: Callable[[object, int, np.random.Generator], Array]
    pair: tuple[object, object]
    claim: Loss
    loss: Callable[[Array], Array]


def _laplace_loss(rows: Array, scale: float, move: float = 1.0) -> Array:
    return asfloat(((np.abs(rows - move) - np.abs(rows)) / scale).sum(axis=1))


def _added(draw: Callable[[np.random.Generator, int], Array]) -> Callable[[object, int, np.random.Generator], Array]:
    """Noise that is added to a number."""
    return lambda value, n, rng: asfloat(np.asarray(value, dtype=np.float64) + draw(rng, n))


def _geometric(value: object, n: int, rng: np.random.Generator) -> Array:
    drop = -math.expm1(-1.5)
    return asfloat(np.asarray(value) + rng.geometric(drop, size=n) - rng.geometric(drop, size=n))


def _response(value: object, n: int, rng: np.random.Generator) -> Array:
    kept = math.exp(1.7) / (math.exp(1.7) + 5.0)
    others = (np.asarray(value) + rng.integers(1, 6, size=n)) % 6
    return asfloat(np.where(rng.random(n) < kept, np.asarray(value), others))


def _response_loss(rows: Array) -> Array:
    return asfloat(1.7 * ((rows[:, 0] == 0.0) * 1.0 - (rows[:, 0] == 1.0) * 1.0))


_SCORES = np.array([[3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0], [2.0, 3.0, 3.0, 2.0, 1.0, 0.0, 0.0, 0.0]])


def _choice(value: object, n: int, rng: np.random.Generator) -> Array:
    """The exponential mechanism with exp(score) in place of exp(score / 2)."""
    scores = _SCORES[int(np.asarray(value))]
    return asfloat(np.argmax(scores + rng.gumbel(size=(n, scores.size)), axis=1))


def _choice_loss(rows: Array) -> Array:
    weights = np.exp(_SCORES)
    logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    return asfloat((logs[0] - logs[1])[rows[:, 0].astype(int)])


def _vector(value: object, n: int, rng: np.random.Generator) -> Array:
    return asfloat(np.asarray(value) + rng.laplace(scale=1.8, size=(n, 3)))


def _cut_noise(value: object, n: int, rng: np.random.Generator) -> Array:
    """Laplace noise within 3 of the value, and never further."""
    low = 0.5 * math.exp(-3.0)
    uniform = rng.uniform(low, 1.0 - low, size=n)
    return asfloat(np.asarray(value) + np.where(uniform < 0.5, np.log(2.0 * uniform), -np.log(2.0 - 2.0 * uniform)))


def _cut_loss(rows: Array) -> Array:
    y = rows[:, 0]
    plain = np.abs(y - 1.0) - np.abs(y)
    return asfloat(np.where(y < -2.0, np.inf, np.where(y > 3.0, -np.inf, plain)))


def _student_loss(rows: Array) -> Array:
    z = rows[:, 0] / 0.6
    return asfloat(2.0 * (np.log1p((z - 1.0 / 0.6) ** 2 / 3.0) - np.log1p(z**2 / 3.0)))


def _bits(value: object, n: int, rng: np.random.Generator) -> Array:
    """One bit of five is 1; each is flipped with the probability that is right for one bit, and two bits differ."""
    flipped = rng.random((n, 5)) < 1.0 / (1.0 + math.exp(0.9))
    return asfloat(np.where(flipped, 1.0 - np.eye(5)[int(np.asarray(value))], np.eye(5)[int(np.asarray(value))]))


def _sampled(value: object, n: int, rng: np.random.Generator) -> Array:
    """A record that is used with probability 0.4, priced as if with 0.2."""
    return asfloat(np.asarray(value, dtype=np.float64) * (rng.random(n) < 0.4) + rng.laplace(scale=0.5, size=n))


def _sampled_loss(rows: Array) -> Array:
    y = rows[:, 0]
    return asfloat(-np.log(0.6 + 0.4 * np.exp(2.0 * (np.abs(y) - np.abs(y - 1.0)))))


def _leaking(value: object, n: int, rng: np.random.Generator) -> Array:
    """The value itself in one of twenty releases."""
    return asfloat(np.asarray(value) + rng.laplace(scale=1.0, size=n) * (rng.random(n) >= 0.05))


def _leaking_loss(rows: Array) -> Array:
    y = rows[:, 0]
    return asfloat(np.where(y == 0.0, np.inf, np.where(y == 1.0, -np.inf, np.abs(y - 1.0) - np.abs(y))))


def _clamped(value: object, n: int, rng: np.random.Generator) -> Array:
    """Laplace noise of 2/3, and the answer cut at 0 and at 1."""
    return asfloat(np.clip(np.asarray(value) + rng.laplace(scale=2.0 / 3.0, size=n), 0.0, 1.0))


def _largest(value: object, n: int, rng: np.random.Generator) -> Array:
    """The index of the largest of four counts, of which all may move, with noise for one that does."""
    counts = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])[int(np.asarray(value))]
    return asfloat(np.argmax(counts + rng.gumbel(scale=1.25, size=(n, 4)), axis=1))


def _largest_loss(rows: Array) -> Array:
    weights = np.exp(np.array([[0.8, 0.0, 0.0, 0.0], [0.0, 0.8, 0.8, 0.8]]))
    logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    return asfloat((logs[0] - logs[1])[rows[:, 0].astype(int)])


def _two_answers(value: object, n: int, rng: np.random.Generator) -> Array:
    """A sum and a count, each with the noise of the whole budget."""
    return asfloat(np.asarray(value, dtype=np.float64) * np.array([1.0, 1.0]) + rng.laplace(size=(n, 2)))


def _logistic_loss(rows: Array) -> Array:
    y = rows[:, 0] / 0.6
    z = y - 1.0 / 0.6
    return asfloat(z + 2.0 * np.logaddexp(0.0, -z) - y - 2.0 * np.logaddexp(0.0, -y))


def _uniform_loss(rows: Array) -> Array:
    y = rows[:, 0]
    return asfloat(np.where(y < -9.0, np.inf, np.where(y > 10.0, -np.inf, 0.0)))


def _sometimes_half(value: object, n: int, rng: np.random.Generator) -> Array:
    """Half of the noise in three of ten releases."""
    return asfloat(np.asarray(value) + rng.laplace(size=n) * np.where(rng.random(n) < 0.3, 0.5, 1.0))


def _sometimes_half_loss(rows: Array) -> Array:
    def density(y: Array) -> Array:
        return asfloat(0.35 * np.exp(-np.abs(y)) + 0.3 * np.exp(-2.0 * np.abs(y)))

    return asfloat(np.log(density(rows[:, 0])) - np.log(density(rows[:, 0] - 1.0)))


HELD_OUT: tuple[Target, ...] = (
    Target(name="geometric noise, 2/3 of its scale", sampler=_geometric, pair=(0, 1), claim=PureDP(epsilon=1.0),
           loss=lambda rows: _laplace_loss(rows, 1.0 / 1.5)),
    Target(name="response of six, kept too often", sampler=_response, pair=(0, 1), claim=PureDP(epsilon=1.0),
           loss=_response_loss),
    Target(name="choice by scores, not by halves", sampler=_choice, pair=(0, 1), claim=PureDP(epsilon=1.0), loss=_choice_loss),
    Target(name="laplace, small epsilon", sampler=_added(lambda rng, n: rng.laplace(scale=2.0, size=n)),
           pair=(0.0, 1.0), claim=PureDP(epsilon=0.3), loss=lambda rows: _laplace_loss(rows, 2.0)),
    Target(name="three entries, noise for too few", sampler=_vector, pair=((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
           claim=PureDP(epsilon=1.0), loss=lambda rows: _laplace_loss(rows, 1.8)),
    Target(name="laplace cut at three scales", sampler=_cut_noise, pair=(0.0, 1.0), claim=PureDP(epsilon=1.0), loss=_cut_loss),
    Target(name="gaussian noise, a pure claim", sampler=_added(lambda rng, n: rng.normal(size=n)),
           pair=(0.0, 1.0), claim=PureDP(epsilon=1.0), loss=lambda rows: asfloat(0.5 - rows[:, 0])),
    Target(name="student's noise, too narrow", sampler=_added(lambda rng, n: 0.6 * rng.standard_t(3.0, size=n)),
           pair=(0.0, 1.0), claim=PureDP(epsilon=1.0), loss=_student_loss),
    Target(name="bits flipped as if one differed", sampler=_bits, pair=(0, 1), claim=PureDP(epsilon=0.9),
           loss=lambda rows: asfloat(1.8 * (rows[:, 0] - rows[:, 1]))),
    Target(name="sampled twice as often", sampler=_sampled, pair=(0.0, 1.0),
           claim=PureDP(epsilon=math.log1p(0.2 * math.expm1(2.0))), loss=_sampled_loss),
    Target(name="the value in one of twenty", sampler=_leaking, pair=(0.0, 1.0), claim=PureDP(epsilon=1.0), loss=_leaking_loss),
    Target(name="gaussian noise, a third too small", sampler=_added(lambda rng, n: rng.normal(size=n)),
           pair=(0.0, 1.0), claim=ApproxDP(epsilon=1.0, delta=0.01), loss=lambda rows: asfloat(0.5 - rows[:, 0])),
    Target(name="laplace, cut at the bounds", sampler=_clamped, pair=(0.0, 1.0), claim=PureDP(epsilon=1.0),
           loss=lambda rows: _laplace_loss(rows, 2.0 / 3.0)),
    Target(name="largest of four, all of which move", sampler=_largest, pair=(0, 1), claim=PureDP(epsilon=0.8),
           loss=_largest_loss),
    Target(name="sum and count, each for all", sampler=_two_answers, pair=(0.0, 1.0), claim=PureDP(epsilon=1.0),
           loss=lambda rows: _laplace_loss(rows, 1.0)),
    Target(name="logistic noise, 0.6 of its scale", sampler=_added(lambda rng, n: rng.logistic(scale=0.6, size=n)),
           pair=(0.0, 1.0), claim=PureDP(epsilon=1.0), loss=_logistic_loss),
    Target(name="uniform noise within ten", sampler=_added(lambda rng, n: rng.uniform(-10.0, 10.0, size=n)),
           pair=(0.0, 1.0), claim=PureDP(epsilon=1.0), loss=_uniform_loss),
    Target(name="half of the noise in three of ten", sampler=_sometimes_half, pair=(0.0, 1.0), claim=PureDP(epsilon=1.0),
           loss=_sometimes_half_loss),
)  # fmt: skip
"""Wrong ones, of eighteen kinds; the last six were written after all bets, and first run when they were measured."""
