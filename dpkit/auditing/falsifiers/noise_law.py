"""The noise law: are samples, continuous or discrete, distributed as the declared law says, or with less noise?"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from dpkit.auditing.betting.bets import OutputEvent
from dpkit.auditing.betting.columns import literal
from dpkit.auditing.betting.processes import Process
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import PairOutputs, as_value, flat
from dpkit.auditing.falsifiers.enumeration import outcomes_of
from dpkit.numerics.special import Array

POWERS = (1.1, 1.4, 2.0, 4.0, 11.0, 100.0)
"""Laplace noise of scale b becomes noise of scale b/t, Gaussian noise of sigma becomes sigma/sqrt(t), scores count t times."""
_MISSING = 1e-9
"""How far the declared probabilities may be from a sum of 1: else they are not those of the outcomes enumerated."""
SCALES = (0.95, 0.85, 0.7, 0.5, 0.3, 0.1)
_PILOT, _ENTRIES = 8, 256
"""Outputs drawn to see what they are like, beside one an entry; of more entries the dimension of the noise is not computed."""
_LEAN = 2e-6
"""What each sample is charged, because outputs are rounded to a grid of 2**-20 of the scale and densities are not."""


class NoiseLawTest(Process):
    """A likelihood-ratio e-process: the declared law against sharper ones, averaged over these.

    Each alternative is a distribution, so its ratio to the declared law has mean 1 when the samples follow that. Only less
    noise is an alternative: a mechanism with more noise than it declares is not refuted. It sees noise that is too small
    within tens of samples, whatever delta is; it cannot see a wrong sensitivity or a wrong theorem.
    """

    name = "noise law"
    alternatives: tuple[float, ...]

    def __init__(self, subject: ClaimAtPair) -> None:
        self._subject = subject
        self._logs = np.zeros(len(self.alternatives))

    @abstractmethod
    def log_ratios(self, outputs: Array, side: int) -> Iterator[Array]:
        """For each alternative, ln of its ratio to the declared law at the outputs of one side."""

    def step(self, first: Array, second: Array) -> Array:
        """Both sides count, each against its own value."""
        gains = [one + two for one, two in zip(self.log_ratios(first, 0), self.log_ratios(second, 1), strict=True)]
        tracks = self._logs[:, None] + np.cumsum(gains, axis=1)
        self._logs = tracks[:, -1]
        return np.asarray(np.logaddexp.reduce(tracks, axis=0) - math.log(len(self._logs)), dtype=np.float64)

    @property
    def log_e(self) -> float:
        return float(np.logaddexp.reduce(self._logs) - math.log(len(self._logs)))

    def fresh_log_e(self, first: Array, second: Array) -> float | None:
        """ln of the e-value of the alternative that fits best by now, on these samples alone."""
        place = int(np.argmax(self._logs))
        one, two = (list(self.log_ratios(side, which))[place] for which, side in enumerate((first, second)))
        return float(np.sum(one) + np.sum(two))

    def _fitting(self) -> float:
        """The alternative that fits best."""
        return self.alternatives[int(np.argmax(self._logs))]


class DiscreteNoiseLaw(NoiseLawTest):
    """The declared probabilities f against f^t / sum(f^t), over powers t > 1, which are sharper.

    Discrete Laplace and Gaussian noise at a smaller scale, an exponential mechanism or a randomised response at a larger
    epsilon. Outcomes beyond the enumerated ones are counted into the sum.
    """

    alternatives = POWERS

    def __init__(self, subject: ClaimAtPair) -> None:
        super().__init__(subject)
        self._sums = [_log_sums(subject, side) for side in (0, 1)]

    @staticmethod
    def suits(subject: ClaimAtPair) -> bool:
        """Whether all outcomes are known, and have the probabilities that are declared."""
        outcomes = None if subject.density is None else outcomes_of(subject)
        if outcomes is None:
            return False
        return all(abs(float(np.exp(subject.log_density(outcomes, side)).sum()) - 1.0) <= _MISSING for side in (0, 1))

    def log_ratios(self, outputs: Array, side: int) -> Iterator[Array]:
        """What the declared law makes impossible is for the support, and counts against every alternative here."""
        declared = self._subject.log_density(outputs, side)
        for power, log_sum in zip(POWERS, self._sums[side], strict=True):
            yield np.where(np.isneginf(declared), -np.inf, (power - 1.0) * declared - log_sum)

    def event(self) -> OutputEvent | None:
        """The power that fits best."""
        power = self._fitting()
        return OutputEvent(
            words=f"the samples fit the power {power:g} of the declared probabilities (made to sum to 1) better than these",
            code=f"lambda y: {power - 1.0!r} * log_density(y, d1) - {self._sums[0][POWERS.index(power)]!r}",
        )


def _log_sums(subject: ClaimAtPair, side: int) -> list[float]:
    """ln of an upper bound on sum f^t for each power: outcomes beyond the enumerated ones add at most their mass to the t."""
    outcomes = outcomes_of(subject)
    assert outcomes is not None
    logs = subject.log_density(outcomes, side)
    beyond = max(0.0, 1.0 - float(np.exp(logs).sum())) + 1e-14
    sums = [float(np.logaddexp.reduce(power * logs)) for power in POWERS]
    return [float(np.logaddexp(found, power * math.log(beyond))) + 1e-12 for found, power in zip(sums, POWERS, strict=True)]


class ContinuousNoiseLaw(NoiseLawTest):
    """The declared density against the same one shrunk about the value, in as many dimensions as its noise fills."""

    alternatives = SCALES

    def __init__(self, subject: ClaimAtPair, *, dimension: int) -> None:
        super().__init__(subject)
        self._dimension = dimension

    def log_ratios(self, outputs: Array, side: int) -> Iterator[Array]:
        """What is impossible under both tells nothing; under the declared law alone, everything."""
        value = as_value(self._subject.pair[side], outputs.shape[1:])
        assert value is not None
        declared = self._subject.log_density(outputs, side)
        for scale in SCALES:
            shrunk = self._subject.log_density(value + (outputs - value) / scale, side) - self._dimension * math.log(scale)
            with np.errstate(invalid="ignore"):
                gain = np.nan_to_num(shrunk - declared, nan=0.0, posinf=np.inf, neginf=-np.inf) - _LEAN
            # an atom at the value does not shrink, and has no density to compare
            yield np.where(flat(outputs == value).all(axis=1), np.minimum(gain, 0.0), gain)

    def event(self) -> OutputEvent | None:
        """The scale that fits best."""
        scale = self._fitting()
        return OutputEvent(
            words=f"the samples fit the declared law with {scale:g} of its noise better than the declared law itself",
            code=self._gain(scale),
        )

    def _gain(self, scale: float) -> str:
        """ln of the ratio of the shrunk law to the declared one under the first dataset, as code; an atom does not count."""
        shape = np.asarray(self._subject.pair[0]).shape or (1,)
        value = as_value(self._subject.pair[0], shape)
        assert value is not None
        center, axes = f"np.array({literal(value)})", literal(list(range(-len(shape), 0))).replace("[", "(").replace("]", ",)")
        shrunk = f"log_density({center} + (y - {center}) / {scale!r}, d1) - {self._dimension * math.log(scale)!r}"
        atom = f"np.all(y == {center}, axis={axes})"
        return f"lambda y: (lambda g: np.where({atom}, np.clip(g, -np.inf, 0), g))({shrunk} - log_density(y, d1))"


def noise_law_of(subject: ClaimAtPair, source: PairOutputs) -> Process | None:
    """The noise law that suits a subject: continuous noise about a value, or outcomes that can be enumerated; else None.

    Shrinking is a change of variables only where the noise fills a linear space, whose dimension a first draw tells, and the
    density is that of noise about a value: on a sphere, say, it would not be one.
    """
    if subject.density is None or DiscreteNoiseLaw.suits(subject):
        return None if subject.density is None else DiscreteNoiseLaw(subject)
    outputs = source.draw(_PILOT)
    size = int(np.prod(outputs[0].shape[1:]))
    values = [as_value(dataset, outputs[0].shape[1:]) for dataset in subject.pair]
    if values[0] is None or values[1] is None or size > _ENTRIES or not np.any(outputs[0] != np.round(outputs[0])):
        return None
    if not _moves_with_the_value(subject, outputs[0], values[1] - values[0]):
        return None
    noise = flat(np.concatenate([outputs[0], source.draw(size)[0]]) - values[0])
    widest = np.abs(noise).max(axis=0)
    return ContinuousNoiseLaw(subject, dimension=int(np.linalg.matrix_rank(noise / np.where(widest > 0.0, widest, 1.0))))


def _moves_with_the_value(subject: ClaimAtPair, outputs: Array, shift: Array) -> bool:
    here, there = subject.log_density(outputs, 0), subject.log_density(outputs + shift, 1)
    with np.errstate(invalid="ignore"):
        return bool(np.all((here == there) | (np.abs(here - there) <= 1e-6 * (1.0 + np.abs(here)))))
