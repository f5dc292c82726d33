"""Right plugins that a careless kit accuses."""

import math
from dataclasses import dataclass, replace

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.neighbours import EITHER
from tests.mutants.little import right
from tests.mutants.little.algorithms import Total, adds, clipped, query
from tests.mutants.little.mechanisms import Noisy
from tests.mutants.little.mechanisms import adds as adds_mechanism
from tests.mutants.little.rules import of_pure, rule

GAMMA = 0.4


@right
def wide_staircase():
    """Staircase noise whose steps are 3.5 wide: its price is a step function of the distance (GV16)."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class WideStairsEvent(dpkit.Event):
        epsilon: float

    made = dpkit.LossRule(
        name="wide-stairs",
        event=WideStairsEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="GV16", locator="Definition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.epsilon),
    )

    @dataclass(frozen=True, slots=True, kw_only=True)
    class WideStairs:
        epsilon: float
        sensitivity: float = 3.5

        def event(self, at):
            return WideStairsEvent(epsilon=math.ceil(at.value / self.sensitivity) * self.epsilon)

        def release(self, value, rng):
            array = np.asarray(value, dtype=np.float64)
            if not np.isfinite(array).all():
                raise ValueError("the values must be finite")
            step = rng.geometric(-np.expm1(-self.epsilon), array.shape) - 1
            low = rng.random(array.shape) < GAMMA / (GAMMA + np.exp(-self.epsilon) * (1.0 - GAMMA))
            within = np.where(low, GAMMA * rng.random(array.shape), GAMMA + (1.0 - GAMMA) * rng.random(array.shape))
            return array + self.sensitivity * rng.choice([-1.0, 1.0], array.shape) * (step + within)

        def release_many(self, value, n, rng):
            return self.release(mechanism_base.repeated(value, n), rng)

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return mechanism_base.claims_of(self.event(at), (made,), neighbours=neighbours, assuming=("real arithmetic",))

    epsilon = dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=0.01, maximum=5.0, examples=(1.0, 0.3))
    width = dpkit.Parameter(
        name="sensitivity", kind="number", doc="The width of a step.", minimum=0.1, maximum=1e6, default=3.5
    )
    added = adds_mechanism(WideStairs, parameters=(epsilon, width), shapes=((),))
    return added | {"loss_rules": [made]}


@right
def chooses_an_index():
    """An algorithm that releases an index through the exponential mechanism, and then the total of that column."""

    @dataclass(frozen=True)
    class Choice:
        noise: float
        chosen: int | None = None
        value: float | None = None

    def scores(columns):
        def rows(block):
            return np.clip(np.nan_to_num(block), 0.0, 1.0)

        return dpkit.Query(
            name="scores",
            columns=columns,
            rows=rows,
            shape=(len(columns),),
            sensitivity=lambda neighbours: (dpkit.linf(1.0), dpkit.l1(float(len(columns)))),
            because=dpkit.Citation(key="DR14", locator="scores"),
        )

    class Chooses(Total):
        def _asked(self, noise):
            return scores(("x", "y")), dpkit.Exponential(scale=2.0 * noise)

        def plan(self, noise):
            last = dpkit.planned_event(self.setting, query(self.column), dpkit.Gaussian(scale=noise))
            return dpkit.Compose(events=(dpkit.planned_event(self.setting, *self._asked(noise)), last))

        def init(self, noise):
            return Choice(noise=noise)

        def step(self, state, curator):
            if state.chosen is None:
                return replace(state, chosen=int(curator.release(*self._asked(state.noise))))
            column = ("x", "y")[state.chosen]
            return replace(state, value=float(curator.release(query(column), dpkit.Gaussian(scale=state.noise))))

        def finished(self, state):
            return state.value is not None

        def result(self, state):
            return {"column": None if state.chosen is None else ("x", "y")[state.chosen], "total": state.value}

    return adds(Chooses)


@right
def income_of_the_data_page():
    """The query of docs/data.md: it relies on the declared range of its column, and the engine maps what is broken."""
    step = 2.0**-20

    def scaled(block):
        return np.trunc(block[:, 0] / 200_000 / step) * step

    def make():
        return dpkit.Query(
            name="income",
            columns=("income",),
            rows=scaled,
            block_sum=lambda block: np.float64(np.sum(scaled(block))),
            shape=(),
            grid=step,
            bound=1.0,
            sensitivity=lambda neighbours: (dpkit.l1(1.0), dpkit.l2(1.0)),
            because=dpkit.Citation(key="dpkit", locator="docs/data.md"),
        )

    factory = dpkit.QueryFactory(name="income", doc="Incomes.", make=make, width=lambda query: 1)
    return {"queries": [factory]}


@right
def noise_of_its_own():
    """A private subclass of registered noise that only names itself."""

    class Named(dpkit.Gaussian):
        __slots__ = ()

        def __repr__(self):
            return f"Named({self.scale})"

    class OwnNoise(Total):
        def mechanism(self, state):
            return Named(scale=state.noise)

    return adds(OwnNoise)


@right
def noise_from_nowhere():
    """Noise of a class of its own, not registered and with the prices of dpkit's Laplace."""

    class Fresh(Noisy):
        pass

    class FreshNoise(Total):
        def mechanism(self, state):
            return Fresh(scale=state.noise)

    return adds(FreshNoise)


@right
def amplification_as_proved():
    """Poisson amplification of pure events, under add-remove."""

    def bound(event):
        epsilon = of_pure(event)
        return None if epsilon is None else dpkit.PureDP(epsilon=math.log1p(event.rate * math.expm1(epsilon)) * (1 + 1e-12))

    return {"loss_rules": [rule("amplified", dpkit.Subsample, dpkit.PureDP, bound, (dpkit.Neighbours.ADD_REMOVE,))]}


@right
def sparse_vector():
    """Above threshold with the noise of its theorem (DR14, Theorem 3.23)."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Above:
        epsilon: float

        def event(self, at):
            return dpkit.PureEvent(epsilon=self.epsilon * at.value)

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            loss = dpkit.PureDP(epsilon=self.epsilon * at.value)
            because = dpkit.Citation(key="DR14", locator="Theorem 3.23")
            return (dpkit.Claim(loss=loss, neighbours=neighbours, because=because, assuming=("real arithmetic",)),)

        def release(self, value, rng):
            return self.release_many(value, 1, rng)[0]

        def release_many(self, value, n, rng):
            queries = np.asarray(value, dtype=float)
            if not np.isfinite(queries).all() or queries.ndim != 1:
                raise ValueError("a vector of finite numbers")
            threshold = rng.laplace(scale=2.0 / self.epsilon, size=(n, 1))
            above = queries + rng.laplace(scale=4.0 / self.epsilon, size=(n, queries.size)) >= threshold
            return np.where(above.any(axis=1), above.argmax(axis=1), queries.size)

    epsilon = dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=0.01, maximum=20.0, examples=(1.0,))
    return adds_mechanism(Above, parameters=(epsilon,), metrics=("linf",), shapes=((5,),))


@right
def rounded_after_the_noise():
    """The noisy value in 32 bits: rounding what is released already is post-processing."""

    class Single(Noisy):
        def drawn(self, value, rng):
            return np.asarray(Noisy.drawn(self, value, rng)).astype(np.float32).astype(np.float64)

    return adds_mechanism(Single)


@right
def totals_with_a_fast_path():
    """A total whose fast path is the same sum."""

    class Fast(Total):
        def query(self, state):
            return query(self.column, block_sum=lambda block: np.float64(np.sum(clipped(block))))

    return adds(Fast)


@right
def rule_of_noise_that_an_algorithm_brings():
    """An event and its theorem of their own, for noise that is registered nowhere: an algorithm brings it."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class BroughtEvent(dpkit.Event):
        ratio: float

    made = rule("brought-pure", BroughtEvent, dpkit.PureDP, lambda event: dpkit.PureDP(epsilon=event.ratio))

    class Brought(Noisy):
        def event(self, at):
            return BroughtEvent(ratio=Noisy.event(self, at).ratio)

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return mechanism_base.claims_of(self.event(at), (made,), neighbours=neighbours)

    class BringsNoise(Total):
        def mechanism(self, state):
            return Brought(scale=state.noise)

    return {**adds(BringsNoise), "loss_rules": [made]}


@right
def rule_of_another_metric():
    """One noise and two events: at an L1 distance it makes one of a class of its own."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class FarEvent(dpkit.Event):
        ratio: float

    made = rule("far-zcdp", FarEvent, dpkit.ZCDP, lambda event: dpkit.ZCDP(rho=event.ratio**2 / 2.0 * (1.0 + 1e-12)))

    class TwoEvents(dpkit.Gaussian):
        __slots__ = ()

        def event(self, at):
            listed = [at] if isinstance(at, dpkit.Distance) else list(at)
            honest = dpkit.Gaussian(scale=self.scale).event(at)
            return honest if any(one.metric == "l2" for one in listed) else FarEvent(ratio=honest.ratio)

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            event = self.event(at)
            known = (made,) if isinstance(event, FarEvent) else dpkit.default_registry().rules_for(dpkit.GaussianEvent)
            return mechanism_base.claims_of(event, known, neighbours=neighbours)

    return {**adds_mechanism(TwoEvents, metrics=("l2", "l1")), "loss_rules": [made]}
