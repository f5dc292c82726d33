"""What checked expressions come to, for some rows at a time. Total: whatever the codes are, nothing raises, and NaN is NULL.

Truth has three values. Instead of a third code, each condition is asked twice: where it is true, and where it is false. A
comparison with NaN is neither, as SQL wants it, and AND, OR and NOT are plain operations on such pairs.

Every operation works row by row on contiguous arrays, so a row's outcome is the same bits in every block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dpkit.data.expressions import calendar
from dpkit.data.expressions.facts import ValueKind
from dpkit.data.expressions.tree import Node

Codes = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
Rows = Mapping[str, Codes]
"""The codes of columns by name, all equally long."""

_FEW = 4
"""Up to this number of levels are compared one by one; more are looked up."""


def values(node: Node, rows: Rows) -> Codes:
    """The code of each row, or one code for all of them."""
    operation = node.operation
    if operation == "column":
        return rows[str(node.given[0])]
    if operation == "constant":
        return np.float64(node.given[0])  # type: ignore[return-value]
    if operation in _CONDITIONS:
        return np.where(is_true(node, rows), 1.0, np.where(is_false(node, rows), 0.0, np.nan))
    if operation == "case":
        return _case(node, rows)
    found = _VALUES[operation](node, *(values(inner, rows) for inner in node.inputs))
    return np.asarray(found, dtype=np.float64)


def is_true(node: Node, rows: Rows) -> Truths:
    """Where a condition is true."""
    return _CONDITIONS[node.operation][0](node, rows) if node.operation in _CONDITIONS else _said(node, rows, 1.0)


def is_false(node: Node, rows: Rows) -> Truths:
    """Where a condition is false. Where it is neither, it is NULL."""
    return _CONDITIONS[node.operation][1](node, rows) if node.operation in _CONDITIONS else _said(node, rows, 0.0)


def _said(node: Node, rows: Rows, value: float) -> Truths:
    return np.asarray(values(node, rows) == value)


def _is_null(node: Node, rows: Rows) -> Truths:
    if node.kind is ValueKind.BOOLEAN:
        return ~(is_true(node, rows) | is_false(node, rows))
    return np.isnan(values(node, rows))


Condition = Callable[[Node, Rows], Truths]


def _compared(holds: Callable[[Codes, Codes], Truths], fails: Callable[[Codes, Codes], Truths]) -> tuple[Condition, Condition]:
    def asked(function: Callable[[Codes, Codes], Truths]) -> Condition:
        return lambda node, rows: function(values(node.inputs[0], rows), values(node.inputs[1], rows))

    return asked(holds), asked(fails)


def _differs(one: Codes, other: Codes) -> Truths:
    """`<>`, but not for NaN, which numpy says differs from everything."""
    return np.asarray((one < other) | (one > other))


def _all_of(asked: Condition) -> Condition:
    def condition(node: Node, rows: Rows) -> Truths:
        found = asked(node.inputs[0], rows)
        for inner in node.inputs[1:]:
            found = found & asked(inner, rows)
        return found

    return condition


def _some_of(asked: Condition) -> Condition:
    def condition(node: Node, rows: Rows) -> Truths:
        found = asked(node.inputs[0], rows)
        for inner in node.inputs[1:]:
            found = found | asked(inner, rows)
        return found

    return condition


def _inner(asked: Condition) -> Condition:
    return lambda node, rows: asked(node.inputs[0], rows)


def _not(asked: Condition) -> Condition:
    return lambda node, rows: ~asked(node, rows)


def _same(node: Node, rows: Rows) -> Truths:
    one, other = values(node.inputs[0], rows), values(node.inputs[1], rows)
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))


def _among(node: Node, rows: Rows, *, wanted: bool) -> Truths:
    """Whether a code is listed; NULL is neither listed nor not."""
    codes = values(node.inputs[0], rows)
    listed = [float(code) for code in node.given]
    if len(listed) <= _FEW:
        found: Truths = np.zeros(np.shape(codes), dtype=np.bool_)
        for code in listed:
            found = found | (codes == code)
        return found if wanted else ~found & ~np.isnan(codes)
    table = np.full(int(node.inputs[0].fact.upper) + 2, not wanted)
    table[np.array(listed, dtype=np.intp)] = wanted
    table[-1] = False
    return np.asarray(table[_places(codes, len(table) - 1)])


def _one_of(node: Node, rows: Rows) -> Truths:
    codes = values(node.inputs[0], rows)
    if len(node.given) > _FEW:
        return np.isin(codes, np.array([float(code) for code in node.given]))
    found = np.asarray(codes == float(node.given[0]))
    for code in node.given[1:]:
        found = found | (codes == float(code))
    return found


def _none_of(node: Node, rows: Rows) -> Truths:
    return np.asarray(~_one_of(node, rows) & ~np.isnan(values(node.inputs[0], rows)))


def _places(codes: Codes, last: int) -> npt.NDArray[np.intp]:
    """Codes of texts as places in a table whose last entry is for NULL."""
    return np.asarray(np.where(np.isnan(codes), last, codes)).astype(np.intp)


_CONDITIONS: dict[str, tuple[Condition, Condition]] = {
    "<": _compared(np.less, np.greater_equal),
    "<=": _compared(np.less_equal, np.greater),
    ">": _compared(np.greater, np.less_equal),
    ">=": _compared(np.greater_equal, np.less),
    "=": _compared(np.equal, _differs),
    "<>": _compared(_differs, np.equal),
    "and": (_all_of(is_true), _some_of(is_false)),
    "or": (_some_of(is_true), _all_of(is_false)),
    "not": (_inner(is_false), _inner(is_true)),
    "is null": (_inner(_is_null), _not(_inner(_is_null))),
    "is true": (_inner(is_true), _not(_inner(is_true))),
    "is false": (_inner(is_false), _not(_inner(is_false))),
    "same": (_same, _not(_same)),
    "one of": (_one_of, _none_of),
    "among": (
        lambda node, rows: _among(node, rows, wanted=True),
        lambda node, rows: _among(node, rows, wanted=False),
    ),
}
"""By operation: where it is true, and where it is false."""


def _case(node: Node, rows: Rows) -> Codes:
    """Conditions and values by turns, and what holds where no condition is true; the first true one decides."""
    *branches, otherwise = node.inputs
    found = values(otherwise, rows)
    for condition, chosen in reversed(list(zip(branches[::2], branches[1::2], strict=True))):
        found = np.where(is_true(condition, rows), values(chosen, rows), found)
    return found


def _divided(node: Node, one: Codes, other: Codes) -> Codes:
    found = one / other
    divisor = node.inputs[1].fact
    return np.where(other == 0.0, np.nan, found) if divisor.lower <= 0.0 <= divisor.upper else found


def _remainder(node: Node, one: Codes, other: Codes) -> Codes:
    return np.asarray(np.fmod(one, other))  # NaN for a divisor of 0


def rounded(number: Codes, digits: float = 0.0) -> Codes:
    """Rounded to `digits` digits after the point, halves away from zero."""
    scale = 10.0 ** abs(digits)
    scaled = number * scale if digits >= 0.0 else number / scale
    whole = np.trunc(scaled)
    whole = whole + np.sign(scaled) * (np.abs(scaled - whole) >= 0.5)
    back = whole / scale if digits >= 0.0 else whole * scale
    return np.where(np.isfinite(scaled), back, number)


def _first(node: Node, *found: Codes) -> Codes:
    """The first that is not NULL."""
    result = found[-1]
    for one in reversed(found[:-1]):
        result = np.where(np.isnan(one), result, one)
    return result


def _looked_up(node: Node, codes: Codes) -> Codes:
    assert node.table is not None
    return np.asarray(node.table[_places(codes, len(node.table) - 1)])


def _clipped(function: Callable[..., Codes]) -> Callable[..., Codes]:
    """What a function gives, within the range that was promised for it; NaN stays NaN."""

    def value(node: Node, *found: Codes) -> Codes:
        return np.clip(function(*found), node.fact.lower, node.fact.upper)

    return value


def _pure(function: Callable[..., Codes]) -> Callable[..., Codes]:
    return lambda node, *found: function(*found)


def _no_pole(function: Callable[..., Codes]) -> Callable[..., Codes]:
    """NULL instead of an infinity that finite numbers came to: a logarithm or a negative power of 0."""

    def value(*found: Codes) -> Codes:
        result = function(*found)
        pole = np.isinf(result) & np.isfinite(found[0]) & (found[0] == 0.0)
        return np.where(pole, np.nan, result)

    return value


def _extreme(function: Callable[[Codes, Codes], Codes]) -> Callable[..., Codes]:
    def value(node: Node, *found: Codes) -> Codes:
        result = found[0]
        for one in found[1:]:
            result = function(result, one)  # NaN where one of them is
        return result

    return value


_VALUES: dict[str, Callable[..., Codes]] = {
    "+": _pure(np.add),
    "-": _pure(np.subtract),
    "*": _pure(np.multiply),
    "/": _divided,
    "%": _remainder,
    "negative": _pure(np.negative),
    "abs": _pure(np.abs),
    "sign": _pure(np.sign),
    "floor": _pure(np.floor),
    "ceil": _pure(np.ceil),
    "trunc": _pure(np.trunc),
    "round": lambda node, number: np.clip(rounded(number, float(node.given[0])), node.fact.lower, node.fact.upper),
    "sqrt": _pure(np.sqrt),
    "exp": _clipped(np.exp),
    "ln": _clipped(_no_pole(np.log)),
    "log10": _clipped(_no_pole(np.log10)),
    "log2": _clipped(_no_pole(np.log2)),
    "power": _clipped(_no_pole(np.power)),
    "least": _extreme(np.minimum),
    "greatest": _extreme(np.maximum),
    "first": _first,
    "table": _looked_up,
    "clip": _clipped(lambda codes: codes),
    "part": lambda node, codes: calendar.part(codes, str(node.given[0])),
    "truncated": lambda node, codes: calendar.truncated(codes, str(node.given[0])),
    "months later": lambda node, codes, months: calendar.months_later(codes, months),
}

OPERATIONS: Sequence[str] = ("column", "constant", "case", *_CONDITIONS, *_VALUES)
"""Every operation that a tree may hold."""
