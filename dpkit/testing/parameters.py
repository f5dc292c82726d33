"""Strategies from declarations: legal values of a parameter, and whole sets of parameters of a factory, extremes included."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from dpkit.contracts.factories import Factory
from dpkit.contracts.parameters import Choice, Parameter, with_effect


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
