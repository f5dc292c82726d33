"""The noise law of discrete outputs: are they distributed as declared, or more sharply?"""

from __future__ import annotations

import math

import numpy as np

from dpkit.auditing.betting.processes import Event, Process
from dpkit.auditing.falsifiers.enumeration import outcomes_of
from dpkit.auditing.subject import Subject
from dpkit.numerics.special import Array

POWERS = (1.1, 1.4, 2.0, 4.0, 11.0, 100.0)
"""Laplace noise of scale b becomes noise of scale b/t, Gaussian noise of sigma becomes sigma/sqrt(t), scores count t times."""
_MISSING = 1e-9
"""How far the declared probabilities may be from a sum of 1: else they are not those of the outcomes enumerated."""


class DiscreteNoiseLaw(Process):
    """A likelihood-ratio e-process: the declared probabilities f against f^t / sum(f^t), averaged over powers t > 1.

    Each alternative is a distribution, so its ratio to f has mean 1 when the samples follow f. Powers above 1 are sharper:
    discrete Laplace and Gaussian noise at a smaller scale, an exponential mechanism or a randomised response at a larger
    epsilon. More noise than declared is not refuted. Outcomes beyond the enumerated ones are counted into the sum.
    """

    name = "noise law"
    sees = "noise smaller than the declared law, whatever delta is; not a wrong sensitivity nor a wrong theorem"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._logs = np.zeros(len(POWERS))
        self._sums = [_log_sums(subject, side) for side in (0, 1)]

    @staticmethod
    def suits(subject: Subject) -> bool:
        """Whether all outcomes are known, and have the probabilities that are declared."""
        outcomes = None if subject.density is None else outcomes_of(subject)
        if outcomes is None:
            return False
        return all(abs(float(np.exp(subject.log_density(outcomes, side)).sum()) - 1.0) <= _MISSING for side in (0, 1))

    def step(self, first: Array, second: Array) -> Array:
        """Both sides count, each against its own value."""
        gains = np.zeros((len(POWERS), first.shape[0]))
        for side, outputs in enumerate((first, second)):
            declared = self._subject.log_density(outputs, side)
            with np.errstate(invalid="ignore"):
                for place, power in enumerate(POWERS):
                    # what the declared law makes impossible is for the support, and counts against every alternative here
                    gains[place] += np.where(np.isneginf(declared), -np.inf, (power - 1.0) * declared - self._sums[side][place])
        tracks = self._logs[:, None] + np.cumsum(gains, axis=1)
        self._logs = tracks[:, -1]
        return np.asarray(np.logaddexp.reduce(tracks, axis=0) - math.log(len(POWERS)), dtype=np.float64)

    def prepare(self) -> None:
        """Nothing is learned."""
        return None

    @property
    def log_e(self) -> float:
        """ln of the e-value."""
        return float(np.logaddexp.reduce(self._logs) - math.log(len(POWERS)))

    def event(self) -> Event | None:
        """The power that fits best."""
        power = POWERS[int(np.argmax(self._logs))]
        return Event(
            words=f"the samples fit the power {power:g} of the declared probabilities (made to sum to 1) better than these",
            code=f"({power!r} - 1) * log_density(y, d1) - log(sum(exp({power!r} * log_density(outcomes, d1))))",
            forward=True,
        )


def _log_sums(subject: Subject, side: int) -> list[float]:
    """ln of an upper bound on sum f^t for each power: outcomes beyond the enumerated ones add at most their mass to the t."""
    outcomes = outcomes_of(subject)
    assert outcomes is not None
    logs = subject.log_density(outcomes, side)
    beyond = max(0.0, 1.0 - float(np.exp(logs).sum())) + 1e-14
    sums = [float(np.logaddexp.reduce(power * logs)) for power in POWERS]
    return [float(np.logaddexp(found, power * math.log(beyond))) + 1e-12 for found, power in zip(sums, POWERS, strict=True)]
