"""Random search over scored candidates: each run scores one candidate with noise, and the best run is given (private tuning).

How many runs there are is drawn at random and kept secret; a fixed number would cost as many runs. Exact throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.exponential import FloatArray, checked_scores
from dpkit.mechanisms.gaussian import Gaussian, GaussianEvent
from dpkit.mechanisms.laplace import Laplace, LaplaceEvent, LaplacePair
from dpkit.numerics.noise.noise_inputs import checked_scale
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.noise.repetition_counts import repetition_counts
from dpkit.privacy.checks import one_of
from dpkit.privacy.claims import Claim, LossRule, rule
from dpkit.privacy.events import PureEvent, RepeatAndSelect
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import LossPair
from dpkit.privacy.loss_table import EnvelopePair
from dpkit.privacy.losses import PureDP
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.privacy.repeat_and_select import select_pair, select_pure, stopping_rate
from dpkit.values import dataclass

Noise = Literal["laplace", "gaussian"]
_NOISES: tuple[str, ...] = get_args(Noise)
_POINTS = 400


def repetitions(*, mean: float, shape: float = 1.0, rng: np.random.Generator | None = None) -> int:
    """How often to repeat before the best is selected: one exact draw from the law that `RepeatAndSelect` prices.

    Keep it secret. Give the best output alone, chosen by what outputs themselves say. At shape infinity the number may be 0.
    """
    law = RepeatAndSelect(event=PureEvent(epsilon=0.0), mean=mean, shape=shape)
    return int(_counts(law.mean, law.shape, 1, mechanism_base.generator(rng))[0])


def _counts(mean: float, shape: float, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    if math.isinf(shape):
        return repetition_counts(mean, shape, n, rng)
    return repetition_counts(stopping_rate(mean, shape), shape, n, rng) if mean > 1.0 else np.ones(n, dtype=np.int64)


def _selected_pure(event: RepeatAndSelect) -> PureDP | None:
    """The pure loss of a selection among runs of Laplace noise; None for other runs."""
    return select_pure(event, event.event.ratio) if isinstance(event.event, LaplaceEvent) else None


def _selected_pair(event: RepeatAndSelect) -> EnvelopePair | None:
    """Of Laplace or Gaussian noise, from points of the profile of one run."""
    if not isinstance(event.event, LaplaceEvent | GaussianEvent) or event.event.ratio == 0.0:
        return None
    gaussian = isinstance(event.event, GaussianEvent)
    pair: LossPair = GaussianPair(mu=event.event.ratio) if gaussian else LaplacePair(ratio=event.event.ratio)
    direction = pair.forward()
    epsilons = np.linspace(0.0, min(direction.top(), direction.reach(1e-18)[1]), _POINTS)
    value, error = direction.profile(epsilons)
    return select_pair(event, tuple(epsilons.tolist()), tuple(np.minimum(value + error, 1.0).tolist()))


RULES: tuple[LossRule, ...] = (
    rule(
        "best-of-laplace-pure",
        RepeatAndSelect,
        PureDP,
        ("dpkit", "docs/proofs/private-tuning.md, theorem 3"),
        _selected_pure,
    ),
    rule(
        "best-of-runs-pair",
        RepeatAndSelect,
        EnvelopePair,
        ("dpkit", "docs/proofs/private-tuning.md, theorem 2"),
        _selected_pair,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSearch:
    """Gives a good candidate and its noisy score: [place, score]. The value is the vector of scores.

    Each run takes a candidate at random and adds noise of this scale to its score; the run with the largest noisy score is
    given. The number of runs has the law of `RepeatAndSelect`; where it is 0, which the Poisson law allows, [-1, 0] is given.
    """

    scale: float
    noise: Noise = "laplace"
    mean: float = 10.0
    shape: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(self.scale, where="RandomSearch"))
        one_of(self.noise, _NOISES, field="noise", where="RandomSearch")
        law = RepeatAndSelect(event=PureEvent(epsilon=0.0), mean=self.mean, shape=self.shape)
        object.__setattr__(self, "mean", law.mean)
        object.__setattr__(self, "shape", law.shape)

    def event(self, at: Distance | Sequence[Distance]) -> RepeatAndSelect:
        """A search in which each score moves by at most this distance (in the largest score, or in a norm that bounds it)."""
        distance = mechanism_base.distance_in(at, metrics=("linf", "l2", "l1"), where="RandomSearch")
        noise = self._noise()
        return RepeatAndSelect(
            event=noise.event(at=Distance(metric=noise.metric, value=distance)), mean=self.mean, shape=self.shape
        )

    def _noise(self) -> Laplace | Gaussian:
        return Gaussian(scale=self.scale) if self.noise == "gaussian" else Laplace(scale=self.scale)

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> FloatArray:
        """The place of the best run's candidate, and its noisy score."""
        return self._many(value, 1, mechanism_base.checked_generator(rng), saturate).reshape(2)

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> FloatArray:
        """n independent searches over the same scores."""
        mechanism_base.repeated(0, n)  # n is checked as everywhere
        return self._many(value, n, mechanism_base.checked_generator(rng), None)

    def _many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None, saturate: float | None) -> FloatArray:
        scores = checked_scores(value, saturate, where="RandomSearch.release")
        source = secure_generator() if rng is None else rng
        counts = _counts(self.mean, self.shape, n, source)
        places = source.integers(scores.size, size=int(counts.sum()))
        noisy = np.asarray(self._noise().release(scores[places], source, saturate=saturate), dtype=np.float64)
        found = np.tile(np.array([-1.0, 0.0]), (n, 1))
        some = counts > 0
        starts = (np.cumsum(counts) - counts)[some]
        # of each search the run with the largest noisy score, and of equal ones the last candidate: a rule of outputs alone
        best = np.maximum.reduceat(noisy, starts)
        among = np.where(noisy == np.repeat(best, counts[some]), places, -1)
        found[some, 0], found[some, 1] = np.maximum.reduceat(among, starts), best
        return stamped(found, source, value=value)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """What the rules say of it."""
        return mechanism_base.claims_of(self.event(at=at), RULES, neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """ln density of the unrounded score at each place: p f'(u), u being how likely a run is not better."""
        scores = checked_scores(value, None, where="RandomSearch.log_density")
        found = np.asarray(output, dtype=np.float64)
        place, score = found[..., 0], found[..., 1]
        possible = (place >= 0) & (place < scores.size) & (place == np.floor(place)) & np.isfinite(score)
        chosen = scores[np.where(possible, place, 0).astype(np.int64)]
        far = np.where(possible, score, 0.0)
        better = np.mean(self._above((far[..., None] - scores) / self.scale), axis=-1)
        z = (far - chosen) / self.scale
        one = -0.5 * (z * z + math.log(2.0 * math.pi)) if self.noise == "gaussian" else -np.abs(z) - math.log(2.0)
        made = one - math.log(self.scale * scores.size) + self._log_weight(better)
        nothing = -self.mean if math.isinf(self.shape) else -math.inf
        return np.asarray(np.where(possible, made, np.where((place == -1) & (score == 0.0), nothing, -math.inf)))

    def _log_weight(self, better: FloatArray) -> FloatArray:
        """ln f'(1 - better), f(x) = E x^K."""
        if self.mean == 1.0 and math.isfinite(self.shape):
            return np.zeros(better.shape)
        if math.isinf(self.shape):
            return np.asarray(math.log(self.mean) - self.mean * better, dtype=np.float64)
        # f'(1) is the mean, and f' falls with the power 1 + shape of rate + (1 - rate) better
        rate = stopping_rate(self.mean, self.shape)
        return np.asarray(math.log(self.mean) - (1.0 + self.shape) * np.log1p((1.0 - rate) / rate * better), dtype=np.float64)

    def _above(self, z: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        if self.noise == "gaussian":
            return np.asarray(ndtr(-z), dtype=np.float64)
        tail = 0.5 * np.exp(-np.abs(z))
        return np.asarray(np.where(z > 0.0, tail, 1.0 - tail), dtype=np.float64)
