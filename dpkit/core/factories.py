"""Factories: how a named thing (a mechanism, a query, an algorithm ...) is made from declared parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar, get_args

from dpkit.core.algorithm import AnyAlgorithm
from dpkit.core.checks import nonempty_text, one_of, tuple_of, whole_number
from dpkit.core.distances import Distance
from dpkit.core.engine import Engine
from dpkit.core.mechanism import Mechanism
from dpkit.core.parameter_sets import check_conditions, checked_parameters, conditions_schema
from dpkit.core.parameters import Parameter
from dpkit.core.query import Query
from dpkit.core.setting import Setting
from dpkit.core.source import Source
from dpkit.errors import DuplicateNameError, InvalidValueError

Product = TypeVar("Product")

Values = Literal["reals", "symmetric", "integers", "categories", "scores"]
VALUES: tuple[str, ...] = get_args(Values)
"""What a mechanism takes: arrays of numbers, symmetric matrices, arrays of integers or categories, or a vector of scores."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
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
        checked_name(self.name, where=type(self).__name__)
        where = f"{type(self).__name__}({self.name})"
        nonempty_text(self.doc, field="doc", where=where)
        if not callable(self.make):
            raise InvalidValueError(field="make", found=self.make, allowed="a function of the parameters", where=where)
        declared = tuple_of(self.parameters, Parameter, field="parameters", where=where, allowed="Parameter declarations")
        object.__setattr__(self, "parameters", declared)
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

    `shapes` are the shapes of values that the conformance kit tries.
    """

    metrics: tuple[str, ...]
    values: Values = "reals"
    shapes: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2))

    def __post_init__(self) -> None:
        Factory.__post_init__(self)
        where = f"MechanismFactory({self.name})"
        metrics = tuple_of(self.metrics, str, field="metrics", where=where, allowed="names of metrics, such as ('l1',)")
        if not metrics:
            raise InvalidValueError(field="metrics", found=(), allowed="at least one metric, such as ('l1',)", where=where)
        object.__setattr__(self, "metrics", metrics)
        one_of(self.values, VALUES, field="values", where=where)
        object.__setattr__(self, "shapes", _checked_shapes(self.shapes, where=where))


def _checked_shapes(shapes: object, *, where: str) -> tuple[tuple[int, ...], ...]:
    allowed = "at least one shape, each a tuple of whole numbers, such as ((), (3,))"
    listed = tuple_of(shapes, tuple, field="shapes", where=where, allowed=allowed)
    if not listed:
        raise InvalidValueError(field="shapes", found=(), allowed=allowed, where=where)
    return tuple(
        tuple(whole_number(size, field="shapes", where=where, minimum=1) for size in shape)
        for shape in listed
        if isinstance(shape, tuple)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFactory(Factory[Query]):
    """A query with its sensitivities. `width(query)` is how many columns its rows have."""

    width: Callable[[Query], int]

    def __post_init__(self) -> None:
        Factory.__post_init__(self)
        if not callable(self.width):
            where = f"QueryFactory({self.name})"
            raise InvalidValueError(field="width", found=self.width, allowed="a function of the query", where=where)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmFactory(Factory[AnyAlgorithm]):
    """An iterative algorithm, which a step of an analysis runs by this name: `make(setting, **parameters)`.

    `settings()` gives settings in which the conformance kit tries the examples of the parameters; without it the kit uses its
    own, whose columns are the numbers `x` and `y` and the category `c`.
    """

    settings: Callable[[], Sequence[Setting]] | None = None

    def __post_init__(self) -> None:
        Factory.__post_init__(self)
        if self.settings is not None and not callable(self.settings):
            where = f"AlgorithmFactory({self.name})"
            raise InvalidValueError(field="settings", found=self.settings, allowed="a function, or None", where=where)

    def prepare(self, setting: Setting, **values: object) -> AnyAlgorithm:
        """The algorithm for a setting, from checked parameters. Only public facts can be refused here."""
        return self.make(setting, **self.checked(values))


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
class NeighbourPairs:
    """Hard pairs of neighbouring values for the mechanism of this name, which audits try first.

    `pairs(mechanism, distance)` returns pairs of values that are at most `distance` apart.
    """

    name: str
    mechanism: str
    pairs: Callable[[Mechanism, Distance], object]

    def __post_init__(self) -> None:
        checked_name(self.name, where="NeighbourPairs")
        checked_name(self.mechanism, where=f"NeighbourPairs({self.name})", field="mechanism")
        if not callable(self.pairs):
            where = f"NeighbourPairs({self.name})"
            raise InvalidValueError(
                field="pairs", found=self.pairs, allowed="a function of mechanism and distance", where=where
            )


def checked_name(name: object, *, where: str, field: str = "name") -> None:
    """A name that YAML and the command line can hold: lower-case words joined by hyphens."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "lower-case words joined by hyphens, such as 'truncated-laplace'"
        raise InvalidValueError(field=field, found=name, allowed=allowed, where=where)
