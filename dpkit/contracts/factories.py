"""Factories: how a named thing (a mechanism, a query, an algorithm ...) is made from declared parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Generic, Literal, TypeVar, get_args

from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.engine import Engine
from dpkit.contracts.groups import read_groups
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.parameters import Parameter, check_conditions, checked_parameters, conditions_schema
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.contracts.table import Source
from dpkit.errors import DuplicateNameError, InvalidValueError
from dpkit.privacy.checks import checked, function, nonempty_text, one_of, positive, tuple_of, whole_number
from dpkit.privacy.neighbours import Distance
from dpkit.values import dataclass

Product = TypeVar("Product")

Values = Literal["reals", "symmetric", "integers", "categories", "scores"]
VALUES: tuple[str, ...] = get_args(Values)
"""What a mechanism takes: arrays of numbers, symmetric matrices, arrays of integers or categories, or a vector of scores."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def checked_name(name: object, *, where: str, field: str = "name") -> str:
    """A name that YAML and the command line can hold: lower-case words joined by hyphens."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "lower-case words joined by hyphens, such as 'truncated-laplace'"
        raise InvalidValueError(field=field, found=name, allowed=allowed, where=where)
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(
    name=checked_name,
    doc=nonempty_text,
    make=partial(function, allowed="a function of the parameters"),
    parameters=partial(tuple_of, kind=Parameter, allowed="Parameter declarations"),
)
class Factory(Generic[Product]):
    """`make(**parameters)` gives the thing of this name; the parameters are declared once, here.

    `former` tells whoever still gives a parameter of an earlier version what to write now.
    """

    name: str
    doc: str
    make: Callable[..., Product]
    parameters: tuple[Parameter, ...] = ()
    former: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        where = f"{type(self).__name__}({self.name})"
        names = [parameter.name for parameter in self.parameters]
        for name in names:
            if names.count(name) > 1:
                raise DuplicateNameError(kind=f"parameter of {where}", name=name, owners=["two declarations"])
        check_conditions(self.parameters, where=where)

    def checked(self, values: Mapping[str, object]) -> dict[str, object]:
        """Every parameter with its value or default, or an error that says what is allowed."""
        return checked_parameters(self.parameters, values, where=self.name, former=self.former)

    def build(self, **values: object) -> Product:
        """The thing, from checked parameters."""
        return self.make(**self.checked(values))

    def json_schema(self) -> dict[str, object]:
        """The parameters as a JSON Schema of one object."""
        conditions = conditions_schema(self.parameters)
        return {
            "type": "object",
            "description": self.doc,
            "properties": {parameter.name: parameter.json_schema() for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters if parameter.required],
            "additionalProperties": False,
            **({"allOf": conditions} if conditions else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismFactory(Factory[Mechanism]):
    """A mechanism: what values it takes, and in which metrics `event(at=...)` takes its distance, the natural one first.

    `scale` names the parameter that its noise is proportional to: a plan solves that one, and an analysis may give the others.
    A larger scale must never cost more. Without a number of that name there is none, and no plan can fit the mechanism to a
    budget. `deviation` is the standard deviation of an entry at scale one; it decides what the
    shares of steps with different noises mean. `shapes` are the shapes of values that the conformance kit tries.
    """

    metrics: tuple[str, ...]
    values: Values = "reals"
    shapes: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2))
    scale: str = "scale"
    deviation: float = 1.0

    def __post_init__(self) -> None:
        Factory.__post_init__(self)
        where = f"MechanismFactory({self.name})"
        allowed = "names of metrics, at least one, such as ('l1',)"
        object.__setattr__(self, "metrics", tuple_of(self.metrics, str, field="metrics", where=where, allowed=allowed, least=1))
        one_of(self.values, VALUES, field="values", where=where)
        object.__setattr__(self, "shapes", _checked_shapes(self.shapes, where=where))
        numbers = [parameter.name for parameter in self.parameters if parameter.kind == "number"]
        if self.scale == "scale" and "scale" not in numbers:
            object.__setattr__(self, "scale", "")
        elif self.scale and self.scale not in numbers:
            allowed = f"a declared parameter that is a number ({', '.join(numbers) or 'there is none'}), or ''"
            raise InvalidValueError(field="scale", found=self.scale, allowed=allowed, where=where)
        object.__setattr__(self, "deviation", positive(self.deviation, field="deviation", where=where))

    def scaled(self, deviation: float, **given: object) -> Mechanism:
        """The mechanism with this standard deviation in an entry (or the smallest it can have), and what was given beside."""
        (parameter,) = [parameter for parameter in self.parameters if parameter.name == self.scale]
        least = math.nextafter(parameter.minimum, math.inf) if parameter.exclusive else parameter.minimum
        return self.build(**given, **{parameter.name: max(deviation / self.deviation, least)})


def _checked_shapes(shapes: object, *, where: str) -> tuple[tuple[int, ...], ...]:
    allowed = "at least one shape, each a tuple of whole numbers, such as ((), (3,))"
    listed = tuple_of(shapes, tuple, field="shapes", where=where, allowed=allowed, least=1)
    sizes = (shape for shape in listed if isinstance(shape, tuple))
    return tuple(tuple(whole_number(size, field="shapes", where=where, minimum=1) for size in shape) for shape in sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFactory(Factory[Any]):
    """A source of data whose opening reads no row, only names of tables and columns: `dpkit check` opens it. One that is a
    plain `Factory` is opened by a run alone.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFactory(Factory[Query]):
    """A query with its sensitivities. `width(query)` is how many columns its rows have."""

    width: Callable[[Query], int]

    def __post_init__(self) -> None:
        Factory.__post_init__(self)
        function(self.width, field="width", where=f"QueryFactory({self.name})", allowed="a function of the query")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmFactory(Factory[AnyAlgorithm]):
    """An iterative algorithm, which a step of an analysis runs by this name: `make(setting, **parameters)`.

    `settings()` gives settings in which the conformance kit tries the examples of the parameters; without it the kit uses its
    own, whose columns are the numbers `x` and `y` and the category `c`. With `takes_groups`, a step may say `by`, and
    `make(setting, by=Groups, **parameters)` gives the algorithm for a table of cells.
    """

    settings: Callable[[], Sequence[Setting]] | None = None
    takes_groups: bool = False

    def __post_init__(self) -> None:
        Factory.__post_init__(self)
        if self.settings is not None:
            function(self.settings, field="settings", where=f"AlgorithmFactory({self.name})", allowed="a function, or None")

    def prepare(self, setting: Setting, **values: object) -> AnyAlgorithm:
        """The algorithm for a setting, from checked parameters. Only public facts can be refused here.

        `by` is what a step says under this key: columns, and mappings with `levels` or `edges` (docs/groups.md).
        """
        if "by" not in values or any(parameter.name == "by" for parameter in self.parameters):
            return self.make(setting, **self.checked(values))
        if not self.takes_groups:
            raise InvalidValueError(
                field="by", found=values["by"], allowed=f"nothing: {self.name} has no groups", where=self.name
            )
        others = {name: value for name, value in values.items() if name != "by"}
        return self.make(setting, by=read_groups(setting, values["by"]), **self.checked(others))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFactory(Factory[Engine]):
    """An engine, on which an analysis runs by this name: `make(source, **parameters)`.

    Only public facts may be refused there, such as a cluster that does not answer. An engine that holds something to give
    back has a method `close()`, which is called when the run is over, however it ended.
    """

    def over(self, source: Source, **values: object) -> Engine:
        """The engine over a source, from checked parameters."""
        return self.make(source, **self.checked(values))


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(name=checked_name, mechanism=checked_name, pairs=partial(function, allowed="a function of mechanism and distance"))
class NeighbourPairs:
    """Hard pairs of neighbouring values for the mechanism of this name, which audits try first.

    `pairs(mechanism, distance)` returns pairs of values that are at most `distance` apart.
    """

    name: str
    mechanism: str
    pairs: Callable[[Mechanism, Distance], object]
