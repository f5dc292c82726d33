"""Strategies for what the laws quantify over: losses, relations, deltas and counts, and legal values of declared parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpkit.contracts.factories import Factory
from dpkit.contracts.parameters import Choice, Parameter, with_effect
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, Loss, MeanCDP, PureDP
from dpkit.privacy.neighbours import Neighbours


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers spread over orders of magnitude."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(high, max(low, math.exp(x))))


def deltas() -> st.SearchStrategy[float]:
    """Failure probabilities from 1e-30 to one half."""
    return log_uniform(1e-30, 0.5)


def small_deltas() -> st.SearchStrategy[float]:
    """Failure probabilities of one release, zero included."""
    return st.one_of(st.just(0.0), log_uniform(1e-15, 1e-3))


def epsilons() -> st.SearchStrategy[float]:
    """Losses from negligible to useless, zero included."""
    return st.one_of(st.just(0.0), log_uniform(1e-6, 5.0))


def counts(largest: int = 1000) -> st.SearchStrategy[int]:
    """How often something happens, small numbers preferred."""
    return st.one_of(st.integers(0, 8), st.integers(0, largest))


def relations() -> st.SearchStrategy[Neighbours]:
    """Both neighbour relations."""
    return st.sampled_from(Neighbours)


def losses() -> st.SearchStrategy[Loss]:
    """Losses of every notion."""
    return st.one_of(
        st.builds(PureDP, epsilon=epsilons()),
        st.builds(ApproxDP, epsilon=epsilons(), delta=small_deltas()),
        st.builds(MeanCDP, mu=epsilons(), tau=epsilons()),
        st.builds(ZCDP, rho=epsilons(), delta=small_deltas()),
        st.builds(GDP, mu=epsilons()),
        _tabulated_curves(),
    )


@st.composite
def _tabulated_curves(draw: st.DrawFn) -> RDP:
    excesses = sorted(draw(st.sets(log_uniform(0.01, 1e4), min_size=1, max_size=6)))
    orders = sorted({1.0 + excess for excess in excesses})
    slope = draw(epsilons())
    return RDP(orders=tuple(orders), epsilons=tuple(slope * order for order in orders), delta=draw(small_deltas()))


def examples(count: int) -> settings:
    """A number of examples, the same ones in every run. What it leaves open, the caller's hypothesis profile decides.

    The profile also decides how thorough a run is: of a profile with 50 examples, where hypothesis has 100, half the number.
    """
    usual = 100
    scaled = max(1, round(count * settings().max_examples / usual))
    return settings(max_examples=scaled, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def drawn(count: int, **strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[[Any], None]]:
    """Make a law of one case out of a law of a case and of what is drawn: it holds for a number of examples.

    The settings are made when the law runs, so that a profile which its caller has loaded is in force.
    """

    def decorate(law: Callable[..., None]) -> Callable[[Any], None]:
        @wraps(law)
        def run(case: Any) -> None:
            def tried(**found: Any) -> None:
                law(case, **found)

            tried.__name__ = tried.__qualname__ = law.__name__  # from which hypothesis seeds
            examples(count)(given(**strategies)(tried))()

        return run

    return decorate


def parameter_values(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Legal values of one parameter: its default and examples, its ends, moderate values, and any other."""
    base = _of_kind(parameter)
    first = [*parameter.examples, *([] if parameter.required else [parameter.default])]
    return st.one_of(st.sampled_from(first), base) if first else base


def factory_parameters(factory: Factory[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Sets of legal parameters of a factory: all of them, but for those that have no effect beside the others."""
    complete = st.fixed_dictionaries({parameter.name: parameter_values(parameter) for parameter in factory.parameters})
    return complete.map(lambda values: with_effect(factory.parameters, values))


def _of_kind(parameter: Parameter) -> st.SearchStrategy[Any]:
    match parameter.kind:
        case "number":
            return _numbers(parameter)
        case "integer":
            return _integers(parameter)
        case "boolean":
            return st.booleans()
        case "choice":
            return st.sampled_from(parameter.choices)
        case "text" | "path":
            return _texts()
        case "numbers":
            return st.lists(_numbers(parameter), max_size=6)
        case "texts" | "paths":
            return st.lists(_texts(), max_size=4)
        case "mechanism":
            return st.sampled_from(("gaussian", "laplace")).map(lambda name: Choice(name=name))
        case "query":
            return st.nothing()  # which there are depends on what is installed: declare examples
        case "number_by_name":
            return st.dictionaries(_texts(), _numbers(parameter), max_size=3)
        case "numbers_by_name":
            return st.dictionaries(_texts(), st.lists(_numbers(parameter), max_size=6), max_size=3)


def _integers(parameter: Parameter) -> st.SearchStrategy[int]:
    low = None if parameter.minimum == -math.inf else math.ceil(parameter.minimum)
    high = None if parameter.maximum == math.inf else math.floor(parameter.maximum)
    if low is not None and parameter.exclusive and low == parameter.minimum:
        low += 1
    start = low if low is not None else high if high is not None else 0
    near = [n for n in range(start - 8, start + 9) if (low is None or n >= low) and (high is None or n <= high)]
    return st.one_of(st.sampled_from(near), st.integers(-(2**63) if low is None else low, high))


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(lambda text: bool(text.strip()))


def _numbers(parameter: Parameter) -> st.SearchStrategy[float]:
    low, high = parameter.minimum, parameter.maximum

    def legal(value: float) -> bool:
        return math.isfinite(value) and (low < value if parameter.exclusive else low <= value) and value <= high

    ends = [value for value in (low, high, 0.0, 1.0, -1.0, 0.5, 2.0, 1e-6, 1e6) if legal(value)]
    anywhere = st.floats(
        min_value=None if low == -math.inf else low,
        max_value=None if high == math.inf else high,
        exclude_min=parameter.exclusive and low != -math.inf,
        allow_nan=False,
        allow_infinity=False,
    )
    moderate = (
        st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent).flatmap(lambda x: st.sampled_from([x, -x])).filter(legal)
    )
    return st.one_of(st.sampled_from(ends), moderate, anywhere) if ends else anywhere
