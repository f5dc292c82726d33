"""What accountants share whose states are exact sums: `pure`, `cdp`, `zcdp` and `gdp`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from dpkit.contracts.accountant import Accountant
from dpkit.numerics.rounding import exact_sum

S = TypeVar("S")


class SumAccountant(Accountant[S]):
    """States are of the class `state`, a slotted dataclass of fractions: each field adds up, and more of it costs more.

    The first field is what a release weighs. Of several proofs of one release the smaller last field is best, then the one
    before it: slacks and spreads stand last, since a sum of them can make the whole answer useless.
    """

    __slots__ = ()
    state: ClassVar[Any]  # a class

    def zero(self) -> S:
        """Nothing spent."""
        return self.combine()

    def combine(self, *states: S) -> S:
        """Field by field the exact sum."""
        made: S = self.state(**{name: exact_sum((getattr(one, name), 1) for one in states) for name in self.state.__slots__})
        return made

    def repeat(self, state: S, times: int) -> S:
        """Field by field the product."""
        made: S = self.state(**{name: getattr(state, name) * times for name in self.state.__slots__})
        return made

    def join(self, *states: S) -> S:
        """Field by field the largest."""
        largest = {name: max((getattr(one, name) for one in states), default=Fraction(0)) for name in self.state.__slots__}
        made: S = self.state(**largest)
        return made

    def best(self, *states: S) -> S:
        """The smallest, the last field first."""
        return min(states, key=lambda state: [getattr(state, name) for name in reversed(self.state.__slots__)])

    def weight(self, state: S, total: S, *, delta: float) -> Fraction:
        """The first field."""
        first: Fraction = getattr(state, self.state.__slots__[0])
        return first
