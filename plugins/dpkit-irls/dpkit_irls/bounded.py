"""Form `bounded`: a generalised M-estimator in residual form. Contributions are bounded by construction, noise is Gaussian.

Releases: octaves of columns and targets, then their places and the counts of levels; the scatter of directions; lengths; then
steps, each the gradient with a matrix that costs nothing (step_query). What is between them is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dpkit.core.algorithm import Curator
from dpkit.core.events import Compose, Event
from dpkit.core.mechanism import Mechanism
from dpkit.core.query import Query
from dpkit.core.setting import Setting
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian
from dpkit.running.curator import planned_event
from dpkit_irls import influence_query as ask
from dpkit_irls import needs
from dpkit_irls.covariance import covariances
from dpkit_irls.dummies import Levels
from dpkit_irls.estimates import likely_exponents, octave_median
from dpkit_irls.expecting import Expected, expected_shapes
from dpkit_irls.facts import Facts
from dpkit_irls.filtering import Filter, is_probe, moved, renewed, shapes_of, used_threshold
from dpkit_irls.fit import Array, Fit
from dpkit_irls.foretelling import foretold_errors
from dpkit_irls.frame import Frame
from dpkit_irls.influence_query import EqualBins, Octaves
from dpkit_irls.layout import Layout
from dpkit_irls.placing import level_shares, located, shows_ties
from dpkit_irls.rows import fixed_point
from dpkit_irls.schedule import Schedule, schedule_for, step_shares
from dpkit_irls.shapes import Pooled, floored, shrunk, whitening
from dpkit_irls.step_query import mix_for, step, taken_apart
from dpkit_irls.telling import estimand_sentence, notes_of
from dpkit_irls.tuning import SHARES, TUNING, Shares, Tuning, needed

Pair = tuple[Query, Mechanism]
LENGTHS = Octaves(low=-24, bins=49)
_LARGEST = 1e15
"""No sum of rows is larger; what is released beyond it is noise or nonsense."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedState:
    """Released values and what follows from them. `spread` is the target's scale; `levels` are shares of levels by category,
    known up to `count_noise` rows; `scatter` is that of directions; `filter` is there once lengths are known.
    """

    noise: float
    frame: Frame
    stage: int = 0
    total: float = 1.0
    spread: float = 1.0
    tied: bool = False
    levels: tuple[Array, ...] = field(default=(), repr=False)
    count_noise: float = 0.0
    few: tuple[tuple[int, ...], ...] = ()
    scatter: Pooled
    expected: Expected | None = field(default=None, repr=False)
    filter: Filter | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedIRLS:
    """`entries` names what x holds (`levels`: which features are categories); `released_units` are the places of the entries
    whose unit is released privately. `shares` are public guesses of how often each level occurs, for the plan alone.
    """

    setting: Setting
    columns: tuple[str, ...]
    entries: tuple[str, ...]
    levels: Levels
    intercept: bool
    released_units: tuple[int, ...]
    iterations: int = 16
    rounds: int = 2
    parts: Shares = SHARES
    tuning: Tuning = TUNING
    start: tuple[float, ...] = ()
    few_rows: Literal["refuse", "answer"] = "refuse"
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """Where the entries lie."""
        return Layout(levels=self.levels, intercept=self.intercept)

    @property
    def _facts(self) -> Facts:
        return Facts(setting=self.setting, columns=self.columns, layout=self.layout, start=self.start)

    @property
    def _targets(self) -> Octaves:
        return Octaves(low=max(math.frexp(self._facts.target().reach)[1] - 47, -1020), bins=48)

    @property
    def _magnitudes(self) -> Octaves:
        return Octaves(low=-48, bins=48 // self.tuning.octave + 1, step=self.tuning.octave)

    @property
    def _stages(self) -> list[str]:
        places = ["places"] if self.intercept or any(self.levels) else []
        return ["octaves", *places, *["scatter"] * self.rounds, "lengths", *["step"] * self.iterations]

    def _share(self, kind: str, noise: float, turn: int = 0) -> float:
        """Of mu^2, for one release."""
        released = {
            "rows": not self.setting.size_is_public,
            "units": bool(self.released_units),
            "targets": True,
            "places": self.intercept,
            "levels": any(self.levels),
            "scatter": True,
            "lengths": True,
            "steps": True,
        }
        whole = math.fsum(self.parts.weight(each, self.layout.size) for each, given in released.items() if given)
        part = self.parts.weight(kind, self.layout.size) / whole
        if kind == "steps":
            return part * step_shares(self.plenty(noise), self.iterations, self.tuning)[turn]
        return part / self.rounds if kind == "scatter" else part

    def _noisy(self, query: Query, noise: float, share: float) -> Pair:
        """The query with noise of so many of its distances: its mu is sqrt(share) / noise."""
        metric = "frobenius" if query.name == "scatter" else "l2"
        distance = next(found for found in self.setting.distances(query) if found.metric == metric)
        scale = distance.value * noise / math.sqrt(share)
        return query, SymmetricGaussian(scale=scale) if metric == "frobenius" else Gaussian(scale=scale)

    def _pairs(self, stage: str, state: BoundedState, turn: int) -> list[Pair]:
        frame, noise = state.frame, state.noise
        asked: list[tuple[str, Query]] = []
        if stage == "octaves":
            if not self.setting.size_is_public:
                asked.append(("rows", ask.row_count(frame)))
            if self.released_units:
                asked.append(("units", ask.column_histograms(frame, self._magnitudes, self.released_units)))
            asked.append(("targets", ask.target_histogram(frame, self._targets)))
        elif stage == "places":
            if self.intercept:
                asked.append(("places", ask.place_histograms(frame, self._bins(state), self.layout.numbers)))
            if any(self.levels):
                asked.append(("levels", ask.level_counts(frame)))
        elif stage == "scatter":
            asked.append(("scatter", ask.scatter(frame)))
        elif stage == "lengths":
            asked.append(("lengths", ask.length_histogram(frame, LENGTHS)))
        else:
            asked.append(("steps", self._step_query(state, turn)))
        return [self._noisy(query, noise, self._share(kind, noise, turn)) for kind, query in asked]

    def _step_query(self, state: BoundedState, turn: int) -> Query:
        schedule, now = self._schedule(state), state.filter
        mix = mix_for(schedule.carried[turn], self.setting.neighbours)
        if now is None:  # the plan: what it costs does not depend on where it is
            return step(state.frame, np.zeros(self.layout.size), 1.0, mix)
        threshold = used_threshold(now, schedule, self._least_threshold)
        return step(state.frame, now.position, threshold / 4.0 if is_probe(now, schedule) else threshold, mix)

    @property
    def _least_threshold(self) -> float:
        # never near the subnormal numbers, where the two ways to cut a score would differ
        return max(1e-12 * self._facts.target().reach, 1e-200)

    def _schedule(self, state: BoundedState) -> Schedule:
        return schedule_for(self.plenty(state.noise, state.total), self.iterations, self.tuning)

    def plan(self, noise: float) -> Event:
        """Every release, at its price."""
        state, events, turn = self.init(noise), [], 0
        for stage in self._stages:
            events += [planned_event(self.setting, query, noisy) for query, noisy in self._pairs(stage, state, turn)]
            turn += stage == "step"
        return Compose(events=tuple(events))

    def init(self, noise: float) -> BoundedState:
        """Columns within their declared ranges."""
        total = float(self.setting.size) if self.setting.size_is_public and self.setting.size is not None else 1.0
        return BoundedState(noise=noise, frame=self._facts.frame(), total=total, scatter=Pooled.none(self.layout.size))

    def step(self, state: BoundedState, curator: Curator) -> BoundedState:
        """One stage."""
        stages = self._stages
        stage = stages[state.stage]
        pairs = self._pairs(stage, state, state.stage - stages.index("step"))
        values = [_tame(value) for value in curator.release_all(pairs)]
        spreads = [float(getattr(mechanism, "scale", 0.0)) for _, mechanism in pairs]
        released = {query.name: (value, spread) for (query, _), value, spread in zip(pairs, values, spreads, strict=True)}
        following = {
            "octaves": self._octaves,
            "places": self._places,
            "scatter": self._scatter,
            "lengths": self._lengths,
            "step": self._moved,
        }
        return replace(following[stage](state, released), stage=state.stage + 1)

    def _octaves(self, state: BoundedState, released: Mapping[str, tuple[Array, float]]) -> BoundedState:
        """Units of the numbers, and a first spread of the target."""
        total = state.total
        if "rows" in released:
            counted, spread = released["rows"]
            total = max(float(counted[0, 0]), spread, 1.0)
        units = list(state.frame.units)
        if "magnitudes" in released:
            counts, spread = released["magnitudes"]
            found = likely_exponents(counts, self._magnitudes, spread=spread, prior=self.tuning.units)
            for place, exponent in zip(self.released_units, found, strict=True):
                units[place] *= math.ldexp(1.0, min(exponent, 0))
        counts, spread = released["targets"]
        most = float(np.max(np.convolve(counts, np.ones(self.tuning.target_window), mode="valid")))
        rows = total if most > 0.85 * total - 6.0 * spread else max(most, 2.0 * spread)  # zeros are not counted
        middle = octave_median(counts, self._targets, rows, window=self.tuning.target_window)
        return replace(state, total=total, frame=replace(state.frame, units=tuple(units)), spread=middle / 0.6745)

    def _bins(self, state: BoundedState) -> EqualBins:
        """Of the numbers in units of the frame, and of the target: around the middles, as far as columns reach."""
        facts, units = self._facts, state.frame.units
        windows = [
            tuple(end / units[place] for end in declared.window(units[place]))
            for place, declared in zip(self.layout.numbers, facts.numbers(), strict=True)
        ]
        windows.append(facts.target().window(state.spread))
        bins = min(max(round(8.0 * self.plenty(state.noise, state.total)), 10), 64)
        widths = tuple(max((high - low) / bins, 0.0) for low, high in windows)
        return EqualBins(lows=tuple(low for low, _ in windows), widths=widths, bins=bins)

    def _places(self, state: BoundedState, released: Mapping[str, tuple[Array, float]]) -> BoundedState:
        """Centres and scales of the columns, the target's place, shares of levels."""
        if "places" in released:
            state = self._placed(state, *released["places"])
        return self._levelled(state, *released["levels"]) if "levels" in released else state

    def _placed(self, state: BoundedState, counts: Array, spread: float) -> BoundedState:
        bins, frame = self._bins(state), state.frame
        defaults = [*[(0.0, 1.0)] * len(self.layout.numbers), (0.0, state.spread)]
        edges = [low + width * np.arange(bins.bins + 1) for low, width in zip(bins.lows, bins.widths, strict=True)]
        found = [
            located(each, spread, edge, default, state.total, self.tuning)
            for each, edge, default in zip(counts, edges, defaults, strict=True)
        ]
        centres, units = list(frame.centres), list(frame.units)
        for place, seen in zip(self.layout.numbers, found, strict=False):
            centres[place] += units[place] * seen.centre
            units[place] *= seen.scale
        target = found[-1]
        tied = bins.widths[-1] > 0.0 and shows_ties(counts[-1], spread, state.total, target.shown / bins.widths[-1])
        frame = replace(frame, centres=tuple(centres), units=tuple(units), origin=frame.origin + target.centre)
        return replace(state, frame=frame, spread=target.scale, tied=tied)

    def _levelled(self, state: BoundedState, counts: Array, spread: float) -> BoundedState:
        """Dummies against the most frequent level, centred by its share; against the first, as they are, without a constant."""
        frame, layout = state.frame, self.layout
        centres, units, references = list(frame.centres), list(frame.units), list(frame.references)
        shares, few = [], []
        for row, category in zip(counts, layout.categories, strict=True):
            share = level_shares(row[: category.levels], state.total)
            references[category.feature] = int(np.argmax(share)) if self.intercept else 0
            shares.append(share)
            few.append(tuple(np.flatnonzero(row[: category.levels] < 3.0 * spread).tolist()))
        frame = replace(frame, references=tuple(references))
        for share, category in zip(shares, layout.categories, strict=True):
            for place, level in enumerate(category.others(frame), start=category.start):
                centres[place] = float(share[level]) if self.intercept else 0.0
                units[place] = max(math.sqrt(share[level] * (1.0 - share[level])), 1.0 / math.sqrt(layout.size))
        frame = replace(frame, centres=tuple(centres), units=tuple(units))
        return replace(state, frame=frame, levels=tuple(shares), count_noise=spread, few=tuple(few))

    def _scatter(self, state: BoundedState, released: Mapping[str, tuple[Array, float]]) -> BoundedState:
        """Numbers and constant are whitened, never dummies: a rare one looks like a short direction."""
        found, spread = released["scatter"]
        size, schedule, plain = self.layout.size, self._schedule(state), self.layout.plain
        block = found[np.ix_(plain, plain)]
        turn = np.eye(size)
        if plain.size:
            turn = self.layout.turn(whitening(block, spread, self.tuning, longest=schedule.amplified, shortest=0.125))
        frame, turn = _turned(state.frame, turn)
        scatter = turn @ floored(shrunk(found, np.eye(size) * state.total / size, spread), 0.0) @ turn.T
        scatter *= state.total / max(float(np.trace(scatter)), 1e-9)
        trusted = Pooled.none(size).plus(scatter, spread * math.sqrt(2.0 / self.rounds))
        return replace(state, frame=frame, scatter=trusted)

    def _lengths(self, state: BoundedState, released: Mapping[str, tuple[Array, float]]) -> BoundedState:
        """The radii of weights, and where the steps start."""
        schedule, layout, size = self._schedule(state), self.layout, self.layout.size
        length = octave_median(released["lengths"][0], LENGTHS, state.total, window=self.tuning.length_window)
        frame = replace(state.frame, near=schedule.near * length, far=schedule.far * length)
        expected = expected_shapes(layout, frame, state.levels, total=state.total, length=length, count_noise=state.count_noise)
        prior = np.full(size, (self.tuning.level_prior * state.spread) ** 2 / size)
        prior[layout.plain] = (state.spread / length) ** 2
        start = Filter(
            position=np.zeros(size),
            last=np.zeros(size),
            variance=np.diag(prior),
            prior=np.diag(prior),
            spread=state.spread,
            scale=state.spread,
            threshold=max(schedule.threshold * state.spread, self._least_threshold),
            scatter=state.scatter.times(min(1.0, schedule.near**-2)),
            curvature=Pooled.none(size),
            middle=Pooled.none(size),
            tied=state.tied,
        )
        return replace(state, frame=frame, expected=expected, filter=start)

    def _moved(self, state: BoundedState, released: Mapping[str, tuple[Array, float]]) -> BoundedState:
        """A step; now and then the frame is renewed, which only decorrelates."""
        (value, spread), now, expected = released["step"], state.filter, state.expected
        assert now is not None
        assert expected is not None
        schedule, layout, turn = self._schedule(state), self.layout, now.turn
        mix = mix_for(schedule.carried[turn], self.setting.neighbours)
        sums, threshold = taken_apart(value, layout.size, mix), used_threshold(now, schedule, self._least_threshold)
        now = moved(now, sums, mix, spread, threshold=threshold, expected=expected, schedule=schedule, tuning=self.tuning)
        if turn not in schedule.renewed or not layout.plain.size:
            return replace(state, filter=now)
        scatter, _ = shapes_of(now, expected, self.tuning)
        block = scatter.mean[np.ix_(layout.plain, layout.plain)]
        whitened = whitening(block, 0.5 * now.scatter.spread, self.tuning, longest=1.0, shortest=1.0)
        frame, made = _turned(state.frame, layout.turn(whitened))
        return replace(state, frame=frame, filter=renewed(now, made))

    def finished(self, state: BoundedState) -> bool:
        """After the last step."""
        return state.stage >= len(self._stages)

    def result(self, state: BoundedState) -> Fit:
        """Coefficients in the units of the columns."""
        to_columns, now = self.layout.to_columns(state.frame), state.filter
        position = np.zeros(self.layout.size) if now is None else now.position
        found = np.clip(to_columns @ position, -1e200, 1e200)
        errors, hidden = self.errors(state)
        slopes = found[: len(self.entries)] + np.array(self.start[: len(self.entries)] or 0.0)
        return Fit(
            form="bounded",
            features=self.entries,
            coefficients=tuple(map(float, slopes)),
            intercept=float(found[-1]) + state.frame.origin if self.intercept else 0.0,
            iterations=0 if now is None else now.turn,
            scale=state.spread if now is None else now.scale,
            standard_errors=tuple(errors[: len(self.entries)]),
            intercept_error=errors[-1] if self.intercept and errors else None,
            notes=(*self.advice(state.noise), *notes_of(self, state, hidden)),
            estimand="" if now is None else estimand_sentence(state.frame, now),
            threshold=None if now is None else now.threshold,
            frame=None if now is None else state.frame,
        )

    def errors(self, state: BoundedState, *, rows_over: float = 1.0) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Standard errors of the coefficients (the constant last), and which the noise hides; none before there are steps."""
        now, expected = state.filter, state.expected
        if now is None or expected is None:
            return (), ()
        scatter, shape = shapes_of(now, expected, self.tuning)
        found = covariances(now, scatter, shape, self.plenty(state.noise, state.total), self.tuning)
        to_columns = self.layout.to_columns(state.frame)
        errors = np.clip(np.nan_to_num(found.errors(to_columns, rows_over=rows_over), nan=1e200), 0.0, 1e200)
        hidden = np.flatnonzero(found.left(to_columns) > self.tuning.hidden)
        return tuple(map(float, errors)), tuple(hidden.tolist())

    def plenty(self, noise: float, rows: float | None = None) -> float:
        """How many times the needed rows there are, by public facts, or by a released number of rows."""
        if self.setting.size_is_public or rows is None:
            rows = float(self.setting.size) if self.setting.size is not None else math.inf
        return min(rows / self._needed(noise), 1e9)

    def _needed(self, noise: float) -> float:
        """Where mu is 1 / noise; gradients of rows that move a sum half as much need half as many."""
        mix = mix_for(schedule_for(1.0, 1, self.tuning).carried[0], self.setting.neighbours)
        query = step(self._facts.frame(), np.zeros(self.layout.size), 1.0, mix)
        distance = next(found for found in self.setting.distances(query) if found.metric == "l2")
        return needed(self.layout.size) * 0.2146 * noise * distance.value / 2.0

    def needed_rows(self, noise: float) -> int:
        """About how many rows this form needs at this noise, fitted to what was measured."""
        return math.ceil(self._needed(noise))

    def advice(self, noise: float) -> tuple[str, ...]:
        """From public facts: whether the declared N is too small for this noise, and whether the target is a truth value."""
        return needs.advice(self.setting.size, self.needed_rows(noise))

    def least_rows(self, noise: float) -> int:
        """With fewer a plan is refused."""
        return needs.least_rows(self.needed_rows(noise), answer_anyway=self.few_rows == "answer")

    def accuracy(self, noise: float, confidence: float = 0.95) -> dict[str, float]:
        """Errors of the coefficients on made-up data, before anything is spent."""
        return foretold_errors(self, noise, confidence, columns=self.columns)


def _turned(frame: Frame, turn: Array) -> tuple[Frame, Array]:
    """The frame turned, its preconditioner cut to 20 bits; and the turn that was really made."""
    matrix, scale = fixed_point(frame.preconditioner @ turn.T)
    try:
        made = np.linalg.solve(frame.preconditioner, matrix * scale).T
    except np.linalg.LinAlgError:
        return frame, np.eye(turn.shape[0])
    if not (np.isfinite(made).all() and np.linalg.cond(made) < 1e8):
        return frame, np.eye(turn.shape[0])
    return replace(frame, preconditioner=matrix * scale), made


def _tame(value: Array) -> Array:
    """No released number is larger than any sum of rows could be."""
    return np.nan_to_num(np.clip(np.asarray(value, dtype=np.float64), -_LARGEST, _LARGEST), nan=0.0)
