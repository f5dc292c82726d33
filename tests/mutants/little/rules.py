"""Wrong theorems: a loss rule, or a mechanism with an event of its own whose rule is too cheap somewhere."""

import math
from dataclasses import dataclass, replace

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.privacy.losses import RenyiCurve
from dpkit.privacy.neighbours import EITHER
from tests.mutants.little import wrong

CITED = dpkit.Citation(key="BBG18", locator="Theorem 8")
ADD_REMOVE = (dpkit.Neighbours.ADD_REMOVE,)
LAW = "the_rule_holds_for_its_mechanisms"
LAPLACE_TAIL = dpkit.Tail(
    quantile=lambda p: -np.log(2.0 * p), error=1e-13, slope=1.0, survival=lambda context, z: context.exp(-z) / 2
)


def rule(name, event, loss, bound, neighbours=EITHER):
    return dpkit.LossRule(name=name, event=event, loss=loss, neighbours=neighbours, because=CITED, bound=bound)


def of_pure(event):
    return event.event.epsilon if isinstance(event.event, dpkit.PureEvent) else None


@wrong(LAW)
def amplification_without_the_exponential():
    """A sample at rate q costs q epsilon, which is its first order alone."""

    def bound(event):
        epsilon = of_pure(event)
        return None if epsilon is None else dpkit.PureDP(epsilon=event.rate * epsilon)

    return {"loss_rules": [rule("rate-times-epsilon", dpkit.Subsample, dpkit.PureDP, bound, ADD_REMOVE)]}


@wrong(LAW)
def amplification_of_laplace():
    """The same for Laplace noise."""

    def bound(event):
        inner = event.event
        return dpkit.PureDP(epsilon=event.rate * inner.ratio) if isinstance(inner, dpkit.LaplaceEvent) else None

    return {"loss_rules": [rule("rate-times-ratio", dpkit.Subsample, dpkit.PureDP, bound, ADD_REMOVE)]}


@wrong(LAW)
def amplification_of_noise_of_its_own():
    """The same for the plugin's own noise, which is Laplace noise under another name."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class OwnEvent(dpkit.Event):
        ratio: float

    own = rule("own-pure", OwnEvent, dpkit.PureDP, lambda event: dpkit.PureDP(epsilon=event.ratio))

    def bound(event):
        inner = event.event
        return dpkit.PureDP(epsilon=event.rate * inner.ratio) if isinstance(inner, OwnEvent) else None

    class Own(dpkit.AdditiveNoise):
        law, rules, metric = dpkit.NoiseLaw(name="own", upper=LAPLACE_TAIL), (own,), "l1"

        def unit_log_density(self, z):
            return -np.abs(z) - math.log(2.0)

    return {
        "mechanisms": [Own.factory(name="own-noise", doc="Laplace noise.")],
        "loss_rules": [own, rule("own-sampled", dpkit.Subsample, dpkit.PureDP, bound, ADD_REMOVE)],
    }


@wrong(LAW)
def amplification_under_replace_one():
    """Amplification as proved for add-remove, claimed under replace-one."""

    def bound(event):
        epsilon = of_pure(event)
        return None if epsilon is None else dpkit.PureDP(epsilon=math.log1p(event.rate * math.expm1(epsilon)) * (1 + 1e-12))

    neighbours = (dpkit.Neighbours.REPLACE_ONE,)
    return {"loss_rules": [rule("amplified-anywhere", dpkit.Subsample, dpkit.PureDP, bound, neighbours)]}


@wrong(LAW)
def the_delta_of_an_event_is_dropped():
    """An (epsilon, delta) event as pure."""
    bound = lambda event: dpkit.PureDP(epsilon=event.epsilon)  # noqa: E731
    return {"loss_rules": [rule("no-delta", dpkit.ApproxEvent, dpkit.PureDP, bound)]}


@wrong(LAW)
def half_price_without_a_mechanism():
    """A rule about an event that nothing makes: nobody can try it, so nobody may call it proved."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class MysteryEvent(dpkit.Event):
        epsilon: float

    bound = lambda event: dpkit.PureDP(epsilon=event.epsilon / 2.0)  # noqa: E731
    return {"loss_rules": [rule("half-price", MysteryEvent, dpkit.PureDP, bound)]}


def normal(name, loss, bound):
    """Gaussian noise with an event of its own, priced by this function of the ratio."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class NormalEvent(dpkit.Event):
        ratio: float

    made = rule(f"{name}-rule", NormalEvent, loss, lambda event: bound(event.ratio))

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Normal:
        scale: float

        def event(self, at):
            return NormalEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

        def release(self, value, rng):
            return dpkit.Gaussian(scale=self.scale).release(value, rng)

        def release_many(self, value, n, rng):
            return dpkit.Gaussian(scale=self.scale).release_many(value, n, rng)

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return mechanism_base.claims_of(self.event(at), (made,), neighbours=neighbours)

        def log_density(self, output, value):
            return dpkit.Gaussian(scale=self.scale).log_density(output, value)

    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0,))
    factory = dpkit.MechanismFactory(name=name, doc="Normal noise.", make=Normal, parameters=(scale,), metrics=("l2",))
    return {"mechanisms": [factory], "loss_rules": [made]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bent(RenyiCurve):
    """The curve of Gaussian noise up to an order, and flat from there on."""

    ratio: float
    last: float

    def at(self, orders):
        return np.minimum(orders, self.last) * self.ratio**2 / 2.0 * (1.0 + 1e-12)


@wrong("a_curve_holds_at_every_order")
def curve_wrong_above_order_24():
    """A Rényi curve that was tabulated to order 24 and goes on flat."""
    return normal("bent-at-24", RenyiCurve, lambda ratio: Bent(ratio=ratio, last=24.0))


@wrong("a_curve_holds_at_every_order")
def curve_wrong_above_order_1000():
    """The same at order 1000."""
    return normal("bent-at-1000", RenyiCurve, lambda ratio: Bent(ratio=ratio, last=1000.0))


@wrong(LAW)
def right_for_small_ratios_only():
    """A bound whose proof needs a ratio below one, used everywhere."""
    return normal("small-only", dpkit.GDP, lambda ratio: dpkit.GDP(mu=ratio * (1 + 1e-12) if ratio < 1.0 else math.sqrt(ratio)))


@wrong(LAW)
def half_price_for_small_ratios():
    """Below a ratio of 0.3 the price is a half."""
    return normal("small-half", dpkit.GDP, lambda ratio: dpkit.GDP(mu=ratio * (1 + 1e-12) if ratio > 0.3 else ratio / 2.0))


@wrong(LAW)
def disjoint_records_at_half():
    """Of disjoint records half the price, since one half of them is touched."""

    def bound(event):
        sizes = [inner.epsilon for inner in event.events if isinstance(inner, dpkit.PureEvent)]
        return dpkit.PureDP(epsilon=max(sizes) / 2.0) if len(sizes) == len(event.events) and sizes else None

    return {"loss_rules": [rule("half-parallel", dpkit.Parallel, dpkit.PureDP, bound)]}


@wrong(LAW)
def zcdp_event_read_as_gaussian_half():
    """rho-zCDP as a Gaussian of mu = sqrt(rho)."""
    bound = lambda event: dpkit.GDP(mu=math.sqrt(event.rho))  # noqa: E731
    return {"loss_rules": [rule("zcdp-as-gdp", dpkit.ZCDPEvent, dpkit.GDP, bound)]}


@wrong(LAW)
def amplification_wrong_in_the_middle():
    """Amplification as proved, but for rates about one half, where a table has a misprint."""

    def bound(event):
        epsilon = of_pure(event)
        if epsilon is None:
            return None
        rate = event.rate / 2.0 if 0.4 < event.rate < 0.6 else event.rate
        return dpkit.PureDP(epsilon=math.log1p(rate * math.expm1(epsilon)) * (1 + 1e-12))

    return {"loss_rules": [rule("misprint", dpkit.Subsample, dpkit.PureDP, bound, ADD_REMOVE)]}


@wrong("claims_hold_for_near_neighbours")
def curve_wrong_above_order_24_and_no_density():
    """The flat curve again, of a mechanism that declares no density: where releases are cheap, samples see it."""
    plugin = normal("bent-unseen", RenyiCurve, lambda ratio: Bent(ratio=ratio, last=24.0))
    (factory,) = plugin["mechanisms"]
    methods = {name: getattr(factory.make, name) for name in ("event", "release", "release_many", "claims")}
    unseen = type("Unseen", (), {**methods, "__init__": lambda self, scale: setattr(self, "scale", scale)})
    return {**plugin, "mechanisms": [replace(factory, make=unseen)]}


@wrong(LAW)
def right_up_to_a_ratio_of_four():
    """A table that ends at a ratio of 4, beyond which its last entry stands."""
    return {
        "loss_rules": [rule("ends-at-4", dpkit.GaussianEvent, dpkit.GDP, lambda event: dpkit.GDP(mu=min(event.ratio, 4.0)))]
    }


@wrong(LAW)
def a_repetition_by_the_root():
    """Pure losses that add up like deviations."""

    def bound(event):
        epsilon = of_pure(event)
        return None if epsilon is None else dpkit.PureDP(epsilon=epsilon * math.sqrt(event.times))

    return {"loss_rules": [rule("root", dpkit.Repeat, dpkit.PureDP, bound)]}
