"""Form `bounded`: a generalised M-estimator in residual form. Contributions are bounded by construction, noise is Gaussian.

Releases: octave histograms of the columns (their units), scatter of directions (Tyler's rounds), histograms of lengths and
targets, then steps, each the gradient with a scatter and a measure of the residuals' scale (step_query). What is between them
is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dpkit.core.algorithm import Curator
from dpkit.core.distances import Distance
from dpkit.core.events import Compose, Event
from dpkit.core.mechanism import Mechanism
from dpkit.core.neighbours import Neighbours
from dpkit.core.query import Query
from dpkit.core.setting import Setting
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian
from dpkit.running.curator import planned_event
from dpkit_irls import influence_query as ask
from dpkit_irls import needs
from dpkit_irls.dummies import Levels
from dpkit_irls.estimates import likely_exponents, mean_squared_score, octave_median, preconditioned, ratio_of_share
from dpkit_irls.fit import Array, Fit, solved
from dpkit_irls.foretelling import foretold_errors
from dpkit_irls.frame import Frame
from dpkit_irls.influence_query import Octaves
from dpkit_irls.rows import fixed_point
from dpkit_irls.step_query import Carried, Mix, StepSums, mix_for, step, taken_apart
from dpkit_irls.tuning import SHARES, TUNING, Shares, Tuning, needed

Pair = tuple[Query, Mechanism]
LENGTHS = Octaves(low=-24, bins=49)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedState:
    """Released values and what follows from them. `gathered` sums the steps' scatters in the present frame, by precision."""

    noise: float
    frame: Frame
    stage: int = 0
    total: float = 0.0
    length: float = 1.0
    scale: float = 1.0
    variance: float = 1.0
    sampling: float = 0.0
    position: Array = field(repr=False)
    last: Array = field(repr=False)
    gathered: Array = field(repr=False)
    precision: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedIRLS:
    """`entries` names what x holds (`levels`: which features are categories); `widths` are public bounds of the entries' and
    the target's magnitudes; `released_units` are the places of the entries whose unit is released privately.
    """

    setting: Setting
    columns: tuple[str, ...]
    entries: tuple[str, ...]
    levels: Levels
    widths: tuple[float, ...]
    intercept: bool
    released_units: tuple[int, ...]
    iterations: int = 16
    rounds: int = 2
    shares: Shares = SHARES
    tuning: Tuning = TUNING
    start: tuple[float, ...] = ()
    few_rows: Literal["refuse", "answer"] = "refuse"

    @property
    def _targets(self) -> Octaves:
        return Octaves(low=math.frexp(self.widths[-1])[1] - 47, bins=48)

    @property
    def _magnitudes(self) -> Octaves:
        step = self.tuning.octave
        return Octaves(low=-48, bins=48 // step + 1, step=step)

    @property
    def _stages(self) -> list[str]:
        units = ["units"] if self.released_units else []
        return [*units, *["scatter"] * self.rounds, "histograms", *["step"] * self.iterations]

    def _share(self, kind: str, turn: int = 0) -> float:
        width = len(self.entries) + self.intercept
        units = ("columns",) if self.released_units else ()
        whole = math.fsum(self.shares.weight(each, width) for each in (*units, "scatter", "lengths", "targets", "steps"))
        part = self.shares.weight(kind, width) / whole
        if kind == "scatter":
            return part / self.rounds
        if kind == "steps":
            growth = [self.shares.growth**index for index in range(self.iterations)]
            return part * growth[turn] / math.fsum(growth)
        return part

    def _noisy(self, query: Query, noise: float, share: float) -> Pair:
        """The query with noise of so many of its distances: its mu is sqrt(share) / noise."""
        metric = "frobenius" if query.name == "scatter" else "l2"
        distance = next(found for found in self.setting.distances(query) if found.metric == metric)
        scale = _scale(distance, noise, share)
        return query, SymmetricGaussian(scale=scale) if metric == "frobenius" else Gaussian(scale=scale)

    def _pairs(self, stage: str, state: BoundedState, turn: int) -> list[Pair]:
        frame, noise = state.frame, state.noise
        if stage == "units":
            query = ask.column_histograms(frame, self._magnitudes, self.released_units)
            return [self._noisy(query, noise, self._share("columns"))]
        if stage == "scatter":
            return [self._noisy(ask.scatter(frame), noise, self._share("scatter"))]
        if stage == "histograms":
            lengths = self._noisy(ask.length_histogram(frame, LENGTHS), noise, self._share("lengths"))
            targets = ask.target_histogram(frame, self._targets)
            return [lengths, self._noisy(targets, noise, self._share("targets"))]
        query = step(frame, state.position, self._threshold(state), self._mix)
        return [self._noisy(query, noise, self._share("steps", turn))]

    @property
    def _mix(self) -> Mix:
        return mix_for(Carried.SCATTER, self.setting.neighbours)

    def _threshold(self, state: BoundedState) -> float:
        # never near the subnormal numbers, where the two ways to cut a score would differ
        return max(self.tuning.threshold * state.scale, math.ldexp(self.widths[-1] or 1.0, -60), 1e-200)

    def plan(self, noise: float) -> Event:
        """Every release, at its price."""
        state, events, turn = self.init(noise), [], 0
        for stage in self._stages:
            events += [planned_event(self.setting, query, noisy) for query, noisy in self._pairs(stage, state, turn)]
            turn += stage == "step"
        return Compose(events=tuple(events))

    def init(self, noise: float) -> BoundedState:
        """Columns in units of their declared bounds, no preconditioner."""
        units = tuple(math.ldexp(1.0, math.frexp(width)[1]) if width else 1.0 for width in self.widths[:-1])
        width = len(units) + self.intercept
        frame = Frame(
            columns=self.columns, units=units, intercept=self.intercept, preconditioner=np.eye(width), levels=self.levels
        )
        return BoundedState(
            noise=noise, frame=frame, position=self._started(frame), last=np.zeros(width), gathered=np.zeros((width, width))
        )

    def _started(self, frame: Frame) -> Array:
        """The position at which P position is what the analyst starts from, in the units of the frame; zero without that."""
        if not self.start:
            return np.zeros(frame.width)
        beta = np.array(self.start) * np.array([*frame.units, *[1.0] * self.intercept])
        return np.asarray(np.linalg.lstsq(frame.preconditioner, beta, rcond=None)[0])

    def step(self, state: BoundedState, curator: Curator) -> BoundedState:
        """One stage."""
        stages = self._stages
        stage = stages[state.stage]
        turn = state.stage - stages.index("step") if stage == "step" else 0
        pairs = self._pairs(stage, state, turn)
        values = [np.asarray(value, dtype=np.float64) for value in curator.release_all(pairs)]
        spreads = [float(getattr(mechanism, "scale", 0.0)) for _, mechanism in pairs]
        following = {"units": self._units, "scatter": self._scatter, "histograms": self._histograms, "step": self._moved}
        return replace(following[stage](state, values, spreads), stage=state.stage + 1)

    def _units(self, state: BoundedState, values: list[Array], spreads: list[float]) -> BoundedState:
        found = likely_exponents(values[0], self._magnitudes, spread=spreads[0], prior=self.tuning.units)
        units = list(state.frame.units)
        for place, exponent in zip(self.released_units, found, strict=True):
            units[place] *= math.ldexp(1.0, exponent)
        return replace(state, frame=replace(state.frame, units=tuple(units)))

    def _scatter(self, state: BoundedState, values: list[Array], spreads: list[float]) -> BoundedState:
        scatter, spread, size = values[0], spreads[0], values[0].shape[0]
        total = state.total or self._rows(float(np.trace(scatter)), 2.0 * math.sqrt(size) * spread)
        turned = preconditioned(scatter, total=total, spread=spread, floor=self.tuning.floor)
        matrix, scale = fixed_point(state.frame.preconditioner @ turned)
        frame = replace(state.frame, preconditioner=matrix * scale)
        return replace(state, total=total, frame=frame, position=self._started(frame))

    def _rows(self, counted: float, least: float) -> float:
        """N where it is public, otherwise what the scatter's trace says."""
        if self.setting.size_is_public and self.setting.size is not None:
            return float(self.setting.size)
        return max(counted, least, 1.0)

    def _histograms(self, state: BoundedState, values: list[Array], spreads: list[float]) -> BoundedState:
        length = octave_median(values[0], LENGTHS, state.total, window=self.tuning.length_window)
        middle = octave_median(values[1], self._targets, state.total, window=self.tuning.target_window)
        scale = middle / 0.6745
        return replace(state, length=length, scale=scale, variance=(scale / length) ** 2)

    def _moved(self, state: BoundedState, values: list[Array], spreads: list[float]) -> BoundedState:
        """A step with Kalman gain: the scale of residuals and the variance of the position are carried along."""
        from scipy.special import ndtr

        threshold, size, total, spread = self._threshold(state), state.position.size, state.total, spreads[0]
        sums = taken_apart(values[0], size, self._mix)
        near = min(max(sums.near / total, 0.05, spread / self._mix.near / total), 0.97)
        seen = threshold / ratio_of_share(near)
        inside = 2.0 * float(ndtr(threshold / seen)) - 1.0
        steepness = total * inside * state.length / (threshold * size)
        error = (spread / steepness) ** 2
        gain = state.variance / (state.variance + error)
        move = gain * sums.gradient / steepness
        reach = float(np.linalg.norm(move)) * state.length / math.sqrt(size)
        if reach > self.tuning.trust * state.scale:
            move = move * (self.tuning.trust * state.scale / reach)
        move = self._damped(move, state.last)
        variance = (1.0 - gain + self.tuning.inflation) * state.variance
        gained = state.length**2 * (state.variance - variance)
        scale = math.sqrt(max(seen * seen - gained, state.length**2 * variance, (state.scale / 6.0) ** 2))
        sampling = total * mean_squared_score(threshold / scale) / (size * steepness**2)
        position = state.position + move
        moved = replace(state, position=position, last=move, variance=variance, scale=scale, sampling=sampling)
        return self._gathered(moved, sums, spread / self._mix.diagonal)

    def _gathered(self, state: BoundedState, sums: StepSums, spread: float) -> BoundedState:
        """The step's scatter is kept; now and then the preconditioner is renewed with what was kept since the last time."""
        turn = state.stage - self._stages.index("step")
        precision = state.precision + 1.0 / spread**2
        gathered = state.gathered + sums.matrix / spread**2
        every = self.tuning.gather
        if turn % every != every - 1 or turn >= self.tuning.until * self.iterations:
            return replace(state, gathered=gathered, precision=precision)
        turned = preconditioned(
            gathered / precision, total=state.total, spread=1.0 / math.sqrt(precision), floor=self.tuning.floor
        )
        matrix, scale = fixed_point(state.frame.preconditioner @ turned)
        lost = np.full(state.position.size, np.nan)
        position = solved(matrix * scale, state.frame.preconditioner @ state.position, lost)
        last = solved(matrix * scale, state.frame.preconditioner @ state.last, lost)
        if not np.isfinite([position, last]).all():  # too close to singular to carry the position over
            return replace(state, gathered=gathered, precision=precision)
        frame = replace(state.frame, preconditioner=matrix * scale)
        return replace(state, frame=frame, position=position, last=last, gathered=np.zeros_like(gathered), precision=0.0)

    def _damped(self, move: Array, last: Array) -> Array:
        """A step that turns back has overshot (the curvature is that of small residuals only): it goes part of the way."""
        before, now = float(np.linalg.norm(last)), float(np.linalg.norm(move))
        turned = float(move @ last) < -0.5 * before * now
        most = self.tuning.turning * before
        return move * (most / now) if turned and now > most else move

    def finished(self, state: BoundedState) -> bool:
        """After the last step."""
        return state.stage >= len(self._stages)

    def result(self, state: BoundedState) -> Fit:
        """Coefficients in the units of the columns."""
        beta = state.frame.preconditioner @ state.position
        slopes = beta[: len(state.frame.units)] / np.array(state.frame.units)
        # in coordinates of z the error has no direction; P gives it one
        spread = math.sqrt(state.variance + state.sampling) * np.sqrt(np.sum(state.frame.preconditioner**2, axis=1))
        errors = spread[: len(state.frame.units)] / np.array(state.frame.units)
        return Fit(
            form="bounded",
            features=self.entries,
            coefficients=tuple(map(float, slopes)),
            intercept=float(beta[-1]) if self.intercept else 0.0,
            iterations=max(0, state.stage - self._stages.index("step")),
            scale=state.scale,
            standard_errors=tuple(map(float, errors)),
            intercept_error=float(spread[-1]) if self.intercept else None,
            notes=self.advice(state.noise),
        )

    def needed_rows(self, noise: float) -> int:
        """About how many rows this form needs at this noise (mu is 1 / noise), fitted to what was measured."""
        replaced = 1.0 if self.setting.neighbours is Neighbours.REPLACE_ONE else 0.55
        return math.ceil(replaced * needed(len(self.entries) + self.intercept) * 0.2146 * noise)

    def advice(self, noise: float) -> tuple[str, ...]:
        """From public facts: whether the declared N is too small for this noise."""
        return needs.advice(self.setting.size, self.needed_rows(noise))

    def least_rows(self, noise: float) -> int:
        """With fewer a plan is refused."""
        return needs.least_rows(self.needed_rows(noise), answer_anyway=self.few_rows == "answer")

    def accuracy(self, noise: float, confidence: float = 0.95) -> dict[str, float]:
        """Errors of the coefficients on made-up data, before anything is spent."""
        return foretold_errors(self, noise, confidence, columns=self.columns)


def _scale(distance: Distance, noise: float, share: float) -> float:
    return distance.value * noise / math.sqrt(share)
