"""Targets and distances as people write them: `Laplace(scale=1.0)`, `laplace(scale=1.0)`, `l1(1.0)`."""

from __future__ import annotations

import ast
import re

from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError
from dpkit.privacy.neighbours import Distance


def resolved(text: str, registry: Registry) -> Mechanism:
    """The mechanism of this name with these parameters: by its class (`Laplace`) or its factory (`laplace`)."""
    made = re.fullmatch(r"([A-Za-z][\w-]*)\((.*)\)", text.strip(), re.DOTALL)
    named = {factory.name: factory for factory in registry.mechanisms}
    named |= {getattr(factory.make, "__name__", factory.name): factory for factory in registry.mechanisms}
    if made is None or made.group(1) not in named:
        raise InvalidValueError(
            field="target",
            found=text,
            allowed=f"module:function, or one of {', '.join(factory.name for factory in registry.mechanisms)} with parameters",
            where="audit",
            fix='Write it as Python does, such as "Laplace(scale=1.0)".',
        )
    return named[made.group(1)].build(**_parameters(made.group(2), text))


def _parameters(inner: str, text: str) -> dict[str, object]:
    refusal = InvalidValueError(
        field="target", found=text, allowed="parameters by name with plain values, such as scale=1.0", where="audit"
    )
    try:
        call = ast.parse(f"_({inner})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise refusal
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise refusal from None


def distance_of(text: str) -> Distance:
    """A distance as it is written, such as l1(1.0)."""
    found = re.fullmatch(r"(\w+)\(([^)]*)\)", text.strip())
    try:
        return Distance(metric=found.group(1), value=float(found.group(2)))  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        raise InvalidValueError(field="at", found=text, allowed="a distance such as l1(1.0)", where="audit") from None
