"""Wrong mechanisms: Laplace or Gaussian noise of dpkit with one method overridden."""

from dataclasses import dataclass

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from tests.mutants.little import wrong

SCALE = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))
AUDIT = "claims_survive_a_quick_audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noisy:
    """Laplace noise of dpkit; mutants override `drawn`, which releases an array of values."""

    scale: float

    def event(self, at):
        return dpkit.Laplace(scale=self.scale).event(at)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return dpkit.Laplace(scale=self.scale).claims(at, neighbours)

    def drawn(self, value, rng):
        return dpkit.Laplace(scale=self.scale).release(value, rng)

    def release(self, value, rng=None):
        return self.drawn(value, rng)

    def release_many(self, value, n, rng=None):
        return self.drawn(mechanism_base.repeated(value, n), rng)


def adds(kind, *, parameters=(SCALE,), metrics=("l1",), **fields):
    """A plugin of this one mechanism."""
    name = f"{kind.__name__.lower()}-noise"
    return {
        "mechanisms": [
            dpkit.MechanismFactory(name=name, doc="Noise.", make=kind, parameters=parameters, metrics=metrics, **fields)
        ]
    }


@wrong("no_release_is_the_value_itself")
def one_in_two_thousand_is_raw():
    """Once in two thousand times the noise is left out."""

    class Raw(Noisy):
        def drawn(self, value, rng):
            noisy = Noisy.drawn(self, value, rng)
            shape = np.shape(noisy)
            first = shape[:1] if len(shape) else ()
            bare = rng.random(first) < 1.0 / 2000.0
            return np.where(bare.reshape(bare.shape + (1,) * (len(shape) - bare.ndim)) if len(shape) else bare, value, noisy)

    return adds(Raw)


@wrong("no_release_is_the_value_itself")
def one_single_release_in_two_thousand_is_raw():
    """The same, in `release` alone: what auditors sample is honest."""

    class RawSingle(Noisy):
        def release(self, value, rng):
            noisy = Noisy.drawn(self, value, rng)
            return np.array(value, dtype=float) if rng.random() < 1.0 / 2000.0 else noisy

    return adds(RawSingle)


@wrong("without_a_generator_the_noise_is_the_same_law")
def fixed_seed_without_a_generator():
    """A seed for tests was left in: every release that brings no generator has the same noise."""

    class Seeded(Noisy):
        def release(self, value, rng=None):
            return self.drawn(value, np.random.default_rng(7) if rng is None else rng)

        def release_many(self, value, n, rng=None):
            return self.release(mechanism_base.repeated(value, n), rng)

    return adds(Seeded)


@wrong("long_vectors_have_fresh_noise")
def noise_recycled_in_long_vectors():
    """A buffer of 4096 draws is used again from its start."""

    class Recycled(Noisy):
        def drawn(self, value, rng):
            flat = np.asarray(value, dtype=float).reshape(-1)
            fresh = Noisy.drawn(self, np.zeros(min(4096, flat.size)), rng)
            return (flat + np.resize(fresh, flat.size)).reshape(np.shape(value))

        def release_many(self, value, n, rng):
            return Noisy.drawn(self, mechanism_base.repeated(value, n), rng)

    return adds(Recycled)


@wrong("long_vectors_have_fresh_noise")
def noise_shuffled_and_used_again():
    """The second half of a long vector has the noise of the first, in another order."""

    class Shuffled(Noisy):
        def release(self, value, rng):
            noisy = Noisy.drawn(self, value, rng)
            if noisy.ndim != 1 or noisy.size < 1000:
                return noisy
            half = noisy.size // 2
            noise = rng.permutation(noisy[:half] - np.asarray(value)[:half])
            return np.concatenate([noisy[:half], np.asarray(value)[half : 2 * half] + noise, noisy[2 * half :]])

    return adds(Shuffled)


@wrong("claims_hold_in_long_vectors")
def less_noise_beyond_entry_fifty():
    """From the fiftieth entry on, half the noise."""

    class Fading(Noisy):
        def drawn(self, value, rng):
            noisy = Noisy.drawn(self, value, rng)
            if noisy.ndim == 0 or noisy.shape[-1] < 51:
                return noisy
            less = Noisy(scale=self.scale / 2.0).drawn(np.asarray(value)[..., 50:], rng)
            return np.concatenate([noisy[..., :50], less], axis=-1)

        def release_many(self, value, n, rng):
            return self.drawn(mechanism_base.repeated(value, n), rng)

    return adds(Fading, shapes=((), (3,)))


@wrong("claims_hold_at_the_ends_of_parameters")
def width_of_the_larger_bound():
    """The width of [lower, upper] is taken as 2 upper: wrong where -lower exceeds upper."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Bounded(Noisy):
        lower: float = -1.0
        upper: float = 1.0

        def __post_init__(self):
            if self.lower >= self.upper or self.upper <= 0.0:
                raise ValueError("the lower bound must be below the upper one, which is positive")

        def event(self, at):  # the distance is in units of the width
            return dpkit.LaplaceEvent(ratio=mechanism_base.ratio_up(at.value * self.scale, self.upper - self.lower))

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            loss = dpkit.PureDP(epsilon=self.event(at).ratio)
            return (dpkit.Claim(loss=loss, neighbours=neighbours, because=dpkit.Citation(key="DMNS06", locator="1")),)

        def drawn(self, value, rng):
            return Noisy(scale=2.0 * self.upper / self.scale).drawn(value, rng)

    ends = {"kind": "number", "doc": "A bound.", "minimum": -100.0, "maximum": 100.0}
    lower = dpkit.Parameter(name="lower", default=-1.0, **ends)
    upper = dpkit.Parameter(name="upper", default=1.0, **ends)
    return adds(Bounded, parameters=(SCALE, lower, upper))


@wrong("claims_hold_at_the_ends_of_parameters")
def scale_capped():
    """No noise beyond a scale of 1000, whatever is asked for."""

    class Capped(Noisy):
        def drawn(self, value, rng):
            return Noisy(scale=min(self.scale, 1000.0)).drawn(value, rng)

    return adds(Capped)


@wrong("claims_hold_for_large_values")
def no_noise_on_large_values():
    """Beyond 10**9 the noise is lost in the rounding, so it is not added."""

    class Large(Noisy):
        def drawn(self, value, rng):
            return np.where(np.abs(value) > 1e9, value, Noisy.drawn(self, value, rng))

    return adds(Large)


@wrong("claims_hold_for_large_values")
def integers_wrap_at_thirty_two_bits():
    """Counts are kept in 32 bits."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Wrapped:
        scale: float

        def event(self, at):
            return dpkit.DiscreteLaplace(scale=self.scale).event(at)

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return dpkit.DiscreteLaplace(scale=self.scale).claims(at, neighbours)

        def release(self, value, rng):
            narrow = np.asarray(value).astype(np.int32).astype(np.int64)
            return dpkit.DiscreteLaplace(scale=self.scale).release(narrow, rng)

        def release_many(self, value, n, rng):
            return self.release(mechanism_base.repeated(value, n), rng)

    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=0.5, maximum=1e4, examples=(1.0, 3.0))
    return adds(Wrapped, parameters=(scale,), values="integers")


@wrong("several_distances_are_one_of_them")
def the_smallest_of_all_distances():
    """Given several distances it takes the smallest number, whatever its metric."""

    class Smallest(Noisy):
        def event(self, at):
            listed = at if isinstance(at, tuple | list) else (at,)
            if not any(distance.metric == "l1" for distance in listed):
                raise dpkit.InvalidValueError(field="at", found=at, allowed="l1", where="Smallest")
            return dpkit.LaplaceEvent(ratio=mechanism_base.ratio_up(min(distance.value for distance in listed), self.scale))

    return adds(Smallest)


@wrong(AUDIT)
def two_noisy_answers():
    """Two independent answers at the price of one."""

    class Two(Noisy):
        def drawn(self, value, rng):
            return np.stack([Noisy.drawn(self, value, rng), Noisy.drawn(self, value, rng)], axis=-1)

    return adds(Two, shapes=((),))


@wrong(AUDIT)
def price_of_more_noise_than_claimed():
    """The claims are honest; the event, which is what is charged, speaks of twice the noise."""

    class Cheap(Noisy):
        def event(self, at):
            return dpkit.LaplaceEvent(ratio=mechanism_base.ratio_up(at.value, 2.0 * self.scale))

    return adds(Cheap)


@wrong(AUDIT)
def sparse_vector_with_half_the_noise():
    """Above threshold: the first query whose noisy value exceeds a noisy threshold; the queries' noise is halved."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Sparse:
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
            above = queries + rng.laplace(scale=2.0 / self.epsilon, size=(n, queries.size)) >= threshold  # 4 is right
            return np.where(above.any(axis=1), above.argmax(axis=1), queries.size)

    epsilon = dpkit.Parameter(name="epsilon", kind="number", doc="The loss.", minimum=0.01, maximum=20.0, examples=(1.0,))
    return adds(Sparse, parameters=(epsilon,), metrics=("linf",), shapes=((5,),))


@wrong(AUDIT)
def noise_of_one_sign_below_zero():
    """Negative values get noise that only lifts them."""

    class OneSign(Noisy):
        def drawn(self, value, rng):
            noisy = Noisy.drawn(self, value, rng)
            return np.where(np.asarray(value) < 0.0, value + np.abs(noisy - value), noisy)

    return adds(OneSign)


@wrong("release_is_deterministic_given_the_rng")
def weaker_after_a_hundred_releases():
    """A counter: after a hundred releases the noise is halved."""
    count = [0]

    class Tired(Noisy):
        def drawn(self, value, rng):
            count[0] += 1
            return Noisy(scale=self.scale / (1.0 + count[0] % 2)).drawn(value, rng)

    return adds(Tired)


@wrong(AUDIT)
def half_the_noise_in_matrices():
    """A matrix is noised by rows, with the scale of half a row."""

    class Matrices(Noisy):
        def release(self, value, rng):
            return Noisy(scale=self.scale / (2.0 if np.ndim(value) == 2 else 1.0)).drawn(value, rng)

        def release_many(self, value, n, rng):
            less = 2.0 if np.ndim(value) == 2 else 1.0
            return Noisy(scale=self.scale / less).drawn(mechanism_base.repeated(value, n), rng)

    return adds(Matrices)


@wrong(AUDIT)
def the_sign_of_the_value_goes_out():
    """The noise is multiplied onto the sign: values below zero never come out above it."""

    class Signed(Noisy):
        def drawn(self, value, rng):
            noisy = Noisy.drawn(self, value, rng)
            return np.where(np.asarray(value) < 0.0, -np.abs(noisy), noisy)

    return adds(Signed)


@wrong(AUDIT)
def equal_scores_choose_the_first():
    """Ties are broken by taking the first: equal scores need no noise, somebody thought."""

    class FirstOfEquals(dpkit.Exponential):
        __slots__ = ()

        def release(self, value, rng=None, **options):
            return self.release_many(value, 1, rng).reshape(())

        def release_many(self, value, n, rng=None):
            scores = np.asarray(value, dtype=float)
            if np.isfinite(scores).all() and np.ptp(scores) == 0.0:
                return np.zeros(n, dtype=np.int64)
            return dpkit.Exponential.release_many(self, value, n, rng)

    return adds(FirstOfEquals, metrics=("linf",), values="scores", shapes=((4,),))


@wrong(AUDIT)
def the_fraction_of_the_value_goes_out():
    """Noise on the whole part; what is behind the point is put back."""

    class Fraction(Noisy):
        def drawn(self, value, rng):
            whole = np.floor(np.asarray(value, dtype=float))
            return np.floor(Noisy.drawn(self, whole, rng)) + (value - whole)

    return adds(Fraction)


@wrong("claims_hold_at_the_ends_of_parameters")
def no_noise_for_tiny_scales():
    """Scales below 1e-5 are taken for zero."""

    class Tiny(Noisy):
        def drawn(self, value, rng):
            if self.scale < 1e-5:
                return np.array(value, dtype=float)
            return Noisy.drawn(self, value, rng)

    return adds(Tiny)


@wrong("draws_are_independent")
def noise_left_over_from_the_last_release():
    """A buffer that is shared by all releases: every noise is used twice in a row."""

    class Buffered(Noisy):
        def drawn(self, value, rng):
            noise = Noisy.drawn(self, np.zeros(np.shape(value)), rng)
            flat = noise.reshape(-1)
            return value + np.repeat(flat[::2], 2)[: flat.size].reshape(np.shape(value)) if flat.size > 1 else value + noise

    return adds(Buffered, shapes=((),))


@wrong("claims_of_small_steps_add_up")
def ratio_to_three_digits():
    """The ratio is rounded to three decimals, so that a short distance is free."""

    class Rounded(Noisy):
        def event(self, at):
            return dpkit.LaplaceEvent(ratio=round(Noisy.event(self, at).ratio, 3))

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return mechanism_base.claims_of(self.event(at), laplace_rules(), neighbours=neighbours)

    return adds(Rounded)


@wrong("claims_hold_in_every_metric")
def any_metric_will_do():
    """Laplace noise that takes an L2 distance for an L1 distance."""

    class AnyMetric(Noisy):
        def event(self, at):
            listed = [at] if isinstance(at, dpkit.Distance) else at
            return dpkit.Laplace(scale=self.scale).event(dpkit.l1(min(distance.value for distance in listed)))

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return mechanism_base.claims_of(self.event(at), laplace_rules(), neighbours=neighbours)

    return adds(AnyMetric, metrics=("l1", "l2"))


def laplace_rules():
    return dpkit.default_registry().rules_for(dpkit.LaplaceEvent)
