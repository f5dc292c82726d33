"""Randomised answers: Warner's, and Google's RAPPOR, once and longitudinal, at the epsilon of their authors."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpkit.auditing.outputs import Sampler
from dpkit.auditing.zoo.entry import Entry
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.privacy.losses import PureDP

_F, _P, _Q, _BITS, _HASHES = 0.75, 0.45, 0.55, 8, 2
_FLIPPED = (np.array([1, 1, 0, 0, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 0, 0, 0, 0]))
"""Two values whose hashes set different bits: 2h bits differ."""


def rappor(*, once: bool) -> Sampler:
    """A permanent answer to each bit (kept with probability 1 - f/2); unless once, an instant answer to that one."""

    def sampler(data: object, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        bits = np.asarray(data)
        permanent = np.where(rng.random((n, bits.size)) < _F, rng.random((n, bits.size)) < 0.5, bits == 1)
        if once:
            return permanent.astype(np.int64)
        return (rng.random((n, bits.size)) < np.where(permanent, _Q, _P)).astype(np.int64)

    return sampler


def _respond(value: object, n: int, rng: np.random.Generator) -> npt.ArrayLike:
    return RandomizedResponse(epsilon=1.0, categories=4).release_many(np.int64(np.asarray(value)), n, rng)


def _instant_epsilon() -> float:
    """h ln[q*(1-p*) / (p*(1-q*))], rounded up: the loss of one instant answer (EPK14, section 3.2)."""
    ones = 0.5 * _F * (_P + _Q) + (1.0 - _F) * _Q
    zeros = 0.5 * _F * (_P + _Q) + (1.0 - _F) * _P
    return _HASHES * math.log(ones * (1.0 - zeros) / (zeros * (1.0 - ones))) * (1.0 + 1e-12)


SURVEYS: tuple[Entry, ...] = (
    Entry(
        name="one-time RAPPOR",
        sampler=rappor(once=True),
        claim=PureDP(epsilon=2.0 * _HASHES * math.log((1.0 - 0.5 * _F) / (0.5 * _F)) * (1.0 + 1e-12)),
        pair=_FLIPPED,
        truth="right",
        about="the permanent answer alone",
    ),
    Entry(
        name="RAPPOR",
        sampler=rappor(once=False),
        claim=PureDP(epsilon=_instant_epsilon()),
        pair=_FLIPPED,
        truth="right",
        about="one instant answer",
    ),
    Entry(
        name="randomised response",
        sampler=_respond,
        claim=PureDP(epsilon=1.0),
        pair=(0, 1),
        truth="right",
        about="its loss is at its boundary in every sample",
    ),
)
