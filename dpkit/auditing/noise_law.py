"""The noise law: are the samples distributed as the declared density says, or with less noise?"""

from __future__ import annotations

import math

import numpy as np

from dpkit.auditing.outputs import as_value
from dpkit.auditing.processes import Event, Process
from dpkit.auditing.subject import Subject
from dpkit.numerics.special import Array

SCALES = (0.95, 0.85, 0.7, 0.5, 0.3, 0.1)
_LEAN = 2e-6
"""What each sample is charged, because outputs are rounded to a grid of 2**-20 of the scale and densities are not."""


class NoiseLaw(Process):
    """A likelihood-ratio e-process: the declared law against the same law shrunk about the value, averaged over scales.

    Each alternative is a density, so its ratio to the declared one has mean 1 when the samples follow the declared law.
    Only less noise is an alternative: a mechanism with more noise than it declares is not refuted. It sees noise that is too
    small within tens of samples, whatever delta is; it cannot see a wrong sensitivity or a wrong theorem.
    """

    name = "noise law"
    sees = "noise smaller than the declared law, whatever delta is; not a wrong sensitivity nor a wrong theorem"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._logs = np.zeros(len(SCALES))

    def step(self, first: Array, second: Array) -> Array:
        """Both sides count, each against its own value."""
        gains = np.zeros((len(SCALES), first.shape[0]))
        for side, outputs in enumerate((first, second)):
            value = as_value(self._subject.pair[side], outputs.shape[1:])
            assert value is not None
            declared = self._subject.log_density(outputs, side)
            for place, scale in enumerate(SCALES):
                shrunk = self._subject.log_density(value + (outputs - value) / scale, side) - _free(outputs) * math.log(scale)
                # what is impossible under both tells nothing; under the declared law alone, everything
                with np.errstate(invalid="ignore"):
                    gains[place] += np.nan_to_num(shrunk - declared, nan=0.0, posinf=np.inf, neginf=-np.inf) - _LEAN
        tracks = self._logs[:, None] + np.cumsum(gains, axis=1)
        self._logs = tracks[:, -1]
        return np.asarray(np.logaddexp.reduce(tracks, axis=0) - math.log(len(SCALES)), dtype=np.float64)

    def prepare(self) -> None:
        """Nothing is learned."""
        return None

    @property
    def log_e(self) -> float:
        """ln of the e-value."""
        return float(np.logaddexp.reduce(self._logs) - math.log(len(SCALES)))

    def event(self) -> Event | None:
        """The scale that fits best."""
        scale = SCALES[int(np.argmax(self._logs))]
        return Event(
            words=f"the samples fit the declared law with {scale:g} of its noise better than the declared law itself",
            code=f"log_density(d1 + (y - d1) / {scale!r}, d1) - dimension * log({scale!r}) - log_density(y, d1)",
            forward=True,
        )


def suits(subject: Subject, outputs: Array) -> bool:
    """Whether the law is continuous noise about a value: outputs have the shape of the value and are not whole numbers."""
    if subject.density is None or any(as_value(dataset, outputs.shape[1:]) is None for dataset in subject.pair):
        return False
    return bool(np.any(outputs != np.round(outputs)))


def _free(outputs: Array) -> int:
    """The number of free entries: a symmetric matrix has d(d+1)/2."""
    shape = outputs.shape[1:]
    if len(shape) == 2 and shape[0] == shape[1] > 1 and np.array_equal(outputs, np.swapaxes(outputs, 1, 2)):
        return int(shape[0] * (shape[0] + 1) // 2)
    return int(np.prod(shape))
