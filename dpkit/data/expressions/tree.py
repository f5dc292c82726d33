"""A checked expression as a tree: what is computed, from what, and what is promised of the outcome. It holds no code to run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field

import numpy as np
import numpy.typing as npt

from dpkit.data.expressions.facts import NOTHING, Fact, ValueKind, number, one_of_texts, truth
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`operation` is a name that `evaluate` knows; `given` are its constants: numbers, or the name of a column.

    `unmatched` are texts that were compared, and that the value can never be: whoever wrote them should hear of it. `table` is
    what texts are looked up in. `columns` are those that are read, `depth` is how deep it is nested, `size` how many
    operations it holds.
    """

    operation: str
    fact: Fact
    inputs: tuple[Node, ...] = ()
    given: tuple[float | str, ...] = ()
    unmatched: tuple[str, ...] = field(default=(), repr=False, compare=False)

    table: npt.NDArray[np.float64] | None = field(init=False, repr=False, compare=False)
    columns: frozenset[str] = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        own = frozenset(map(str, self.given)) if self.operation == "column" else frozenset[str]()
        object.__setattr__(self, "columns", own.union(*(inner.columns for inner in self.inputs)))
        entries = [*map(float, self.given), math.nan] if self.operation == "table" else None  # the last one is for NULL
        object.__setattr__(self, "table", None if entries is None else np.array(entries))
        object.__setattr__(self, "depth", 1 + max((inner.depth for inner in self.inputs), default=0))
        object.__setattr__(self, "size", 1 + sum(inner.size for inner in self.inputs))

    @property
    def value(self) -> float | None:
        """The code of a constant; None for anything else."""
        found = self.given[0] if self.operation == "constant" else None
        return found if isinstance(found, float) else None

    @property
    def kind(self) -> ValueKind:
        """What it is."""
        return self.fact.kind

    def walk(self) -> Iterator[Node]:
        """Itself, and every operation inside."""
        yield self
        for inner in self.inputs:
            yield from inner.walk()


NULL = Node(operation="constant", fact=NOTHING, given=(float("nan"),))


def column(name: str, fact: Fact) -> Node:
    """A column's code."""
    return Node(operation="column", fact=fact, given=(name,))


def constant(value: float, kind: ValueKind = ValueKind.NUMBER) -> Node:
    """A number, a date or a time that does not depend on the row."""
    fact = number(value, value, nullable=False, whole=float(value).is_integer())
    return Node(
        operation="constant", fact=Fact(kind=kind, lower=value, upper=value, nullable=False, whole=fact.whole), given=(value,)
    )


def truth_value(value: bool) -> Node:
    """TRUE or FALSE."""
    return Node(operation="constant", fact=truth(nullable=False), given=(float(value),))


def text(value: str) -> Node:
    """A text in quotes."""
    return Node(operation="constant", fact=one_of_texts((value,), nullable=False), given=(0.0,))
