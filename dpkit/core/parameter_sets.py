"""Parameters taken together: complete, known by name, and each with an effect beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpkit.core.parameters import GIVEN, Parameter, meets
from dpkit.errors import InvalidValueError, UnknownNameError


def checked_parameters(
    parameters: Sequence[Parameter], values: Mapping[str, object], *, where: str, former: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Every declared parameter with its value or default.

    An unknown or a missing name is refused, the nearest one offered; so is a parameter that has no effect beside the others.
    `former` says what to write for a name that an earlier version took.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in values:
        if name not in known:
            note = (former or {}).get(name, "")
            raise UnknownNameError(kind=f"parameter of {where}", name=name, known=known, note=note)
    complete: dict[str, object] = {}
    for name, parameter in known.items():
        if name in values:
            complete[name] = parameter.check(values[name], where=where)
        elif parameter.required:
            raise InvalidValueError(field=name, found="nothing", allowed=parameter.allowed, where=where)
        else:
            complete[name] = parameter.default
    for idle in without_effect(parameters, values):
        raise InvalidValueError(
            field=idle.name, found=values[idle.name], allowed=f"left out: it has an effect {idle.condition}", where=where
        )
    return complete


def without_effect(parameters: Sequence[Parameter], values: Mapping[str, object]) -> list[Parameter]:
    """The parameters among these values that do nothing beside the others. What is left out, or None, has its default."""
    complete = {parameter.name: values.get(parameter.name, parameter.default) for parameter in parameters}
    given = [parameter for parameter in parameters if values.get(parameter.name) is not None]
    return [parameter for parameter in given if not parameter.has_effect(complete)]


def with_effect(parameters: Sequence[Parameter], values: Mapping[str, object]) -> dict[str, object]:
    """The values without those that do nothing: of a complete set, what a caller may give."""
    idle = {parameter.name for parameter in without_effect(parameters, values)}
    return {name: value for name, value in values.items() if name not in idle}


def check_conditions(parameters: Sequence[Parameter], *, where: str) -> None:
    """Every `only_with` names a parameter that is declared beside it, and values that this one takes."""
    known = {parameter.name: parameter for parameter in parameters}
    for parameter in parameters:
        for name, allowed in parameter.conditions:
            if name not in known:
                raise UnknownNameError(kind=f"parameter of {where}", name=name, known=known)
            for value in allowed:
                if value is not None and value is not GIVEN:
                    known[name].check(value, where=f"{where}: only_with of {parameter.name}")


def conditions_schema(parameters: Sequence[Parameter]) -> list[dict[str, object]]:
    """Every `only_with` as a part of a JSON Schema of one object."""
    defaults = {parameter.name: parameter.default for parameter in parameters}
    found: list[dict[str, object]] = []
    for parameter in parameters:
        for name, allowed in parameter.conditions:
            one_of = [value for value in allowed if value is not GIVEN]
            shape: dict[str, object] = {"enum": one_of} if GIVEN not in allowed else {"not": {"type": "null"}}
            needs = {} if meets(defaults[name], allowed) else {"required": [name]}
            given = {"properties": {parameter.name: {"not": {"type": "null"}}}, "required": [parameter.name]}
            found.append({"if": given, "then": {"properties": {name: shape}, **needs}})
    return found
