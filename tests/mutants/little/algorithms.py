"""Wrong algorithms: an honest total over several passes, with one thing amiss in what it asks, keeps or decides."""

from dataclasses import dataclass, replace

import numpy as np

import dpkit
from dpkit.contracts.query import Preparation
from tests.mutants.little import wrong

STEP = 2.0**-20
CITED = dpkit.Citation(key="DR14", locator="sum")


def cut(numbers):
    return np.trunc(numbers / STEP) * STEP


def clipped(block):
    """The first column, clipped to [0, 1] and cut to the grid."""
    return cut(np.clip(np.nan_to_num(block[:, 0]), 0.0, 1.0))


def query(column, rows=clipped, **fields):
    """The honest total of a column, or what a mutant makes of it."""
    given = {
        "name": "total",
        "columns": (column,),
        "rows": rows,
        "shape": (),
        "grid": STEP,
        "bound": 1.0,
        "sensitivity": lambda neighbours: (dpkit.l1(1.0), dpkit.l2(1.0)),
        "because": CITED,
    }
    return dpkit.Query(**(given | fields))


@dataclass(frozen=True)
class State:
    noise: float
    values: tuple = ()


@dataclass(frozen=True)
class Total:
    """At most `passes` releases of a total; mutants override `query`, `mechanism` or a step."""

    setting: object
    column: str
    passes: int

    def query(self, state):
        return query(self.column)

    def mechanism(self, state):
        return dpkit.Gaussian(scale=state.noise)

    def plan(self, noise):
        state = State(noise=noise)
        event = dpkit.planned_event(self.setting, Total.query(self, state), self.mechanism(state))
        return dpkit.Repeat(event=event, times=self.passes)

    def init(self, noise):
        return State(noise=noise)

    def step(self, state, curator):
        value = curator.release(self.query(state), self.mechanism(state))
        return replace(state, values=(*state.values, float(np.sum(value))))

    def finished(self, state):
        return len(state.values) >= self.passes

    def result(self, state):
        return sum(state.values) / max(1, len(state.values))


def adds(make):
    """A plugin of this one algorithm."""
    name = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in make.__name__).strip("-")
    column = dpkit.Parameter(name="column", kind="text", doc="A column.", examples=("y",))
    passes = dpkit.Parameter(name="passes", kind="integer", doc="How often.", minimum=1, maximum=20, examples=(3,))
    factory = dpkit.AlgorithmFactory(
        name=name,
        doc="A total over several passes.",
        make=lambda setting, column, passes: make(setting=setting, column=column, passes=passes),
        parameters=(column, passes),
    )
    return {"algorithms": [factory]}


ASKED, RUNS, NOISE = "what_is_asked_is_what_it_says", "equal_answers_give_equal_runs", "its_noise_obeys_the_laws"


@wrong(ASKED)
def replaced_row_counts_once_here():
    """Contributions between -1 and 1, which a replaced row moves by 2: the factor is left out."""

    class ReplacedOnce(Total):
        def query(self, state):
            return query(self.column, rows=lambda block: cut(np.clip(block[:, 0], -1.0, 1.0)))

    return adds(ReplacedOnce)


@wrong(ASKED)
def no_clipping_here():
    """The column goes to 10, the bound is 1, and nothing is clipped."""

    class NotClipped(Total):
        def query(self, state):
            return query(self.column, rows=lambda block: cut(block[:, 0]))

    return adds(NotClipped)


@wrong(ASKED)
def fast_path_unclipped():
    """The reference clips, the fast path does not."""

    class FastUnclipped(Total):
        def query(self, state):
            return query(self.column, block_sum=lambda block: np.sum(cut(block[:, 0])))

    return adds(FastUnclipped)


@wrong(ASKED)
def fast_path_drops_a_row_of_many():
    """The fast path works in pieces of 1024 rows and loses what is left over."""

    class Pieces(Total):
        def query(self, state):
            def total(block):
                rows = clipped(block)
                return np.sum(rows[: len(rows) // 1024 * 1024]) if len(rows) > 1024 else np.sum(rows)

            return query(self.column, block_sum=total)

    return adds(Pieces)


@wrong(ASKED)
def prepared_path_unclipped():
    """The prepared path sums what the reference clips."""

    class PreparedUnclipped(Total):
        def query(self, state):
            return query(
                self.column,
                block_sum=lambda block: np.sum(clipped(block)),
                preparation=Preparation(rows=lambda block: cut(block[:, :1]), width=1),
                prepared_steps=lambda rows: np.rint(np.sum(rows[:, 0]) / STEP).astype(np.int64).reshape(1),
            )

    return adds(PreparedUnclipped)


@wrong(ASKED)
def bounds_from_the_block():
    """Each block is scaled by its own smallest and largest value."""

    class Scaled(Total):
        def query(self, state):
            def rows(block):
                column = np.nan_to_num(block[:, 0])
                low, high = np.min(column, initial=np.inf), np.max(column, initial=-np.inf)
                return cut((column - low) / max(high - low, 1e-9))

            return query(self.column, rows=rows)

    return adds(Scaled)


@wrong(ASKED)
def divides_by_the_rows_of_the_block():
    """A mean: each row is divided by how many rows there are."""

    class Mean(Total):
        def query(self, state):
            return query(self.column, rows=lambda block: cut(clipped(block) / max(1, len(block))))

    return adds(Mean)


@wrong(ASKED)
def equal_rows_count_once():
    """Repeated rows are taken for mistakes: only the first counts."""

    class Distinct(Total):
        def query(self, state):
            def rows(block):
                first = np.unique(block[:, 0], return_index=True)[1]
                return np.where(np.isin(np.arange(len(block)), first), clipped(block), 0.0)

            return query(self.column, rows=rows)

    return adds(Distinct)


@wrong(ASKED)
def two_answers_for_one_charge():
    """A total and a total of squares, at the distance of one of them."""

    class TwoAnswers(Total):
        def query(self, state):
            def rows(block):
                return np.stack([clipped(block), cut(clipped(block) ** 2)], axis=1)

            return query(self.column, rows=rows, shape=(2,))

    return adds(TwoAnswers)


@wrong(ASKED)
def gain_from_the_last_answer():
    """Contributions are scaled by what was released; the distance is not."""

    class Gain(Total):
        def query(self, state):
            gain = 1.0 + abs(state.values[-1]) if state.values else 1.0
            return query(self.column, rows=lambda block: cut(clipped(block) * min(gain, 1e6)), bound=1e6)

    return adds(Gain)


@wrong(ASKED)
def centred_by_the_mean_of_the_block():
    """The mean of the block is subtracted from each row, and the result clipped."""

    class Centred(Total):
        def query(self, state):
            def rows(block):
                column = np.nan_to_num(block[:, 0])
                return cut(np.clip(column - np.sum(column) / max(1, len(column)), 0.0, 1.0))

            return query(self.column, rows=rows)

    return adds(Centred)


@wrong(NOISE)
def half_noise_of_its_own():
    """A private subclass of registered noise, with half of it."""

    class Half(dpkit.Gaussian):
        __slots__ = ()

        def release(self, value, rng=None, **options):
            return dpkit.Gaussian(scale=self.scale / 2.0).release(value, rng, **options)

        def release_many(self, value, n, rng=None):
            return dpkit.Gaussian(scale=self.scale / 2.0).release_many(value, n, rng)

    class HalfNoise(Total):
        def mechanism(self, state):
            return Half(scale=state.noise)

    return adds(HalfNoise)


@wrong(NOISE)
def half_noise_once_it_is_large():
    """The same, but only after an answer above 10: the first release is honest."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Sometimes(dpkit.Gaussian):
        real: float = 1.0

        def release(self, value, rng=None, **options):
            return dpkit.Gaussian(scale=self.real).release(value, rng, **options)

        def release_many(self, value, n, rng=None):
            return dpkit.Gaussian(scale=self.real).release_many(value, n, rng)

    class HalfLater(Total):
        def mechanism(self, state):
            less = state.values and state.values[-1] > 10.0
            return Sometimes(scale=state.noise, real=state.noise / (2.0 if less else 1.0))

    return adds(HalfLater)


@wrong(NOISE)
def sample_by_a_hash_of_the_row():
    """A 'Poisson sample' that is a function of the row: whoever knows the row knows whether it is in."""

    class Sampled(dpkit.Gaussian):
        __slots__ = ()

        def event(self, at):
            return dpkit.Subsample(rate=0.1, event=dpkit.Gaussian.event(self, at))

    class HashSample(Total):
        def query(self, state):
            def rows(block):
                chosen = (np.abs(np.rint(block[:, 0] * 1e6)).astype(np.int64) * 2654435761) % 10 == 0
                return np.where(chosen, clipped(block), 0.0)

            return query(self.column, rows=rows)

        def mechanism(self, state):
            return Sampled(scale=state.noise)

    return adds(HashSample)


@wrong(NOISE)
def price_at_a_fixed_distance():
    """Its own noise is priced as if everything had distance 1/10."""

    class Fixed(dpkit.Gaussian):
        __slots__ = ()

        def event(self, at):
            return dpkit.Gaussian.event(self, dpkit.l2(0.1))

    class FixedDistance(Total):
        def mechanism(self, state):
            return Fixed(scale=state.noise)

    return adds(FixedDistance)


@wrong(NOISE)
def own_noise_keeps_the_value():
    """Its own noise remembers what it was added to."""

    class Keeping(dpkit.Gaussian):
        __slots__ = ("seen",)

        def release(self, value, rng=None, **options):
            object.__setattr__(self, "seen", np.array(value))
            return dpkit.Gaussian.release(self, value, rng, **options)

    class Keeps(Total):
        def mechanism(self, state):
            return Keeping(scale=state.noise)

    return adds(Keeps)


def listening(algorithm, seen):
    """The honest query, which also hands each block to `seen`."""

    def rows(block):
        seen(block)
        return clipped(block)

    return query(algorithm.column, rows=rows)


@wrong(RUNS)
def training_loss_in_the_result():
    """The exact loss over the rows, kept on the way and reported at the end."""
    losses = []

    class Loss(Total):
        def query(self, state):
            return listening(self, lambda block: losses.append(float(np.sum((block[:, 0] - 1.0) ** 2))))

        def result(self, state):
            return {"answer": super().result(state), "loss": losses[-1] if losses else 0.0}

        def init(self, noise):
            losses.clear()
            return super().init(noise)

    return adds(Loss)


@wrong(RUNS)
def stops_early_by_the_data():
    """It stops as soon as no row is above 5, which it has seen in the rows."""
    largest = []

    class Stops(Total):
        def init(self, noise):
            largest.clear()
            return super().init(noise)

        def query(self, state):
            return listening(self, lambda block: largest.append(np.max(block[:, 0], initial=0.0)))

        def finished(self, state):
            return super().finished(state) or (bool(largest) and largest[-1] < 5.0)

    return adds(Stops)


@wrong(RUNS)
def levels_that_occur():
    """The result lists how many different values there were."""
    levels = set()

    class Levels(Total):
        def init(self, noise):
            levels.clear()
            return super().init(noise)

        def query(self, state):
            return listening(self, lambda block: levels.update(np.unique(block[:, 0]).tolist()))

        def result(self, state):
            return super().result(state), len(levels)

    return adds(Levels)


@wrong(RUNS)
def plan_learns_from_the_run():
    """After a run over many rows the plan is cheaper: what was seen is kept in the class."""
    rows_seen = []

    class Learns(Total):
        def query(self, state):
            return listening(self, lambda block: rows_seen.append(len(block)))

        def plan(self, noise):
            planned = super().plan(noise)
            return replace(planned, times=2 * planned.times) if sum(rows_seen) > 500 else planned

    return adds(Learns)


@wrong(RUNS)
def hundreds_of_rows_change_the_state():
    """With more than 500 rows it rounds its state; with fewer nobody sees anything."""
    rows_seen = []

    class Rounds(Total):
        def init(self, noise):
            rows_seen.clear()
            return super().init(noise)

        def query(self, state):
            return listening(self, lambda block: rows_seen.append(len(block)))

        def step(self, state, curator):
            following = super().step(state, curator)
            many = rows_seen and max(rows_seen) > 500
            return replace(following, values=tuple(map(round, following.values))) if many else following

    return adds(Rounds)


@wrong("the_plan_covers_what_is_charged")
def two_releases_planned_as_one():
    """Every step asks twice and the plan has it once."""

    class Twice(Total):
        def step(self, state, curator):
            pairs = [(self.query(state), self.mechanism(state))] * 2
            return replace(state, values=(*state.values, float(sum(curator.release_all(pairs)))))

    return adds(Twice)


@wrong(ASKED)
def contribution_is_random():
    """A row is left out at random, which nobody has priced."""
    dice = np.random.default_rng(1)

    class Dice(Total):
        def query(self, state):
            return query(self.column, rows=lambda block: clipped(block) * (dice.random(len(block)) < 0.5))

    return adds(Dice)


@wrong(ASKED)
def missing_value_counts_as_the_bound_of_another():
    """A category code is used as a number: the third level moves the total by two."""

    class Codes(Total):
        def query(self, state):
            return query("c", rows=lambda block: cut(block[:, 0]), bound=2.0)

    return adds(Codes)


@wrong(NOISE)
def own_noise_is_naive():
    """Its own noise is a floating-point sample, and the first entry of each vector goes out bare."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Naive:
        scale: float

        def event(self, at):
            return dpkit.Gaussian(scale=self.scale).event(at)

        def release(self, value, rng):
            return self.release_many(value, 1, rng)[0]

        def release_many(self, value, n, rng):
            drawn = np.asarray(value, dtype=float) + self.scale * rng.standard_normal((n, *np.shape(value)))
            drawn[..., 0] = np.asarray(value)[..., 0]
            return drawn

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return dpkit.Gaussian(scale=self.scale).claims(at, neighbours)

    class BareEntry(Total):
        def query(self, state):
            sensitivity = lambda neighbours: (dpkit.l1(2.0), dpkit.l2(2.0))  # noqa: E731
            rows = lambda block: np.stack([clipped(block), clipped(block)], axis=1)  # noqa: E731
            return query(self.column, rows=rows, shape=(2,), sensitivity=sensitivity)

        def mechanism(self, state):
            return Naive(scale=2.0 * state.noise)

    return adds(BareEntry)


@wrong(ASKED)
def missing_is_the_mean_of_the_block():
    """Rows at the lower end are taken for missing, and get the mean of their block."""

    class Imputed(Total):
        def query(self, state):
            def rows(block):
                column = np.nan_to_num(block[:, 0])
                mean = np.sum(column) / max(1, len(column))
                return cut(np.clip(np.where(column <= -3.0, mean, column), 0.0, 1.0))

            return query(self.column, rows=rows)

    return adds(Imputed)


@wrong(ASKED)
def the_last_pass_is_unclipped():
    """Two honest passes, and a third whose rows are not clipped."""

    class LastPass(Total):
        def query(self, state):
            rows = clipped if len(state.values) < 2 else lambda block: cut(block[:, 0])
            return query(self.column, rows=rows, bound=16.0)

    return adds(LastPass)


@wrong(ASKED)
def a_coarser_grid_than_declared():
    """Contributions are not multiples of the grid that it declares."""

    class Coarse(Total):
        def query(self, state):
            return query(self.column, grid=2.0**-4)

    return adds(Coarse)


@wrong("the_state_holds_no_data")
def the_state_keeps_a_sample():
    """A sample of rows is kept for later."""
    sample = []

    class Keeps(Total):
        def query(self, state):
            return listening(self, lambda block: sample.extend(block[:3, 0].tolist()))

        def step(self, state, curator):
            following = super().step(state, curator)
            return (
                replace(following, values=(*following.values[:-1], following.values[-1], *sample[:0]))
                if not sample
                else (replace(following, values=(*following.values[:-1], float(sample[-1]))))
            )

    return adds(Keeps)


@wrong(RUNS)
def the_answer_is_corrected_by_the_truth():
    """The released total is replaced by the exact one where they are close."""
    truth = []

    class Corrected(Total):
        def init(self, noise):
            truth.clear()
            return super().init(noise)

        def query(self, state):
            return listening(self, lambda block: truth.append(float(np.sum(clipped(block)))))

        def step(self, state, curator):
            following = super().step(state, curator)
            near = truth and abs(truth[-1] - following.values[-1]) < 100.0
            return replace(following, values=(*following.values[:-1], truth[-1])) if near else following

    return adds(Corrected)


@wrong(NOISE)
def own_noise_of_another_law():
    """Uniform noise of the same spread, at the price of Gaussian noise."""

    class Uniform(dpkit.Gaussian):
        __slots__ = ()

        def release(self, value, rng=None, **options):
            return self.release_many(value, 1, rng)[0]

        def release_many(self, value, n, rng=None):
            width = self.scale * 3.0**0.5
            return np.asarray(value, dtype=float) + rng.uniform(-width, width, size=(n, *np.shape(value)))

    class UniformNoise(Total):
        def mechanism(self, state):
            return Uniform(scale=state.noise)

    return adds(UniformNoise)
