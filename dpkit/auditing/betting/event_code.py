"""Events as code: a lambda of an output that runs wherever numpy is, read here by a grammar that lets nothing else run.

A certificate comes from a stranger, and its event is code. So only arithmetic, comparisons, indexing, lambdas that are called
at once, numbers, and the functions of numpy listed below are read; anything else is refused before it is run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.errors import SerialisationError
from dpkit.numerics.special import Array, asfloat

LogDensity = Callable[[Array, int], Array]
"""ln of the declared density of outputs under the first (0) or the second dataset (1)."""

FUNCTIONS = (
    "abs", "all", "any", "argmax", "argmin", "array", "asarray", "clip", "count_nonzero", "diff", "einsum", "exp",
    "fmod", "isin", "log", "max", "min", "newaxis", "inf", "pi", "reshape", "round", "searchsorted", "shape", "sort", "sqrt",
    "square", "stack", "sum", "where",
)  # fmt: skip
"""Names of numpy that an event may use; of `np.linalg` those of `LINEAR`."""
LINEAR = ("eigvalsh", "inv", "slogdet")
_CHUNK = 4_096
_LONGEST = 400_000
_NODES = (
    ast.Expression, ast.Lambda, ast.arguments, ast.arg, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Starred, ast.Call, ast.keyword, ast.Attribute, ast.operator, ast.unaryop,
    ast.cmpop,
)  # fmt: skip
_NAMESPACE = SimpleNamespace(
    **{name: getattr(np, name) for name in FUNCTIONS},
    linalg=SimpleNamespace(**{name: getattr(np.linalg, name) for name in LINEAR}),
)


class EventCode:
    """One event, `lambda y: ...`, of an output y: a number, or an array of the output's shape.

    `density` is what `log_density(y, d1)` means, where the event speaks of the declared law. It is evaluated on many outputs at
    once, along the first axis, and gives the same for one alone: entries are asked for as `y[..., j]`.
    """

    def __init__(self, text: str, *, density: LogDensity | None = None) -> None:
        self.text = text
        names: dict[str, Any] = {"__builtins__": {}, "np": _NAMESPACE, "d1": 0, "d2": 1}
        if density is not None:
            names["log_density"] = density
        made = eval(_compiled(text), names)
        if not callable(made):
            raise _refusal("it is no lambda")
        self._event = made

    @property
    def speaks_of_density(self) -> bool:
        """Whether it can be evaluated with the declared density only."""
        return speaks_of_density(self.text)

    def scores(self, outputs: Array) -> Array:
        """What the lambda says of each output, as numbers."""
        plain = outputs[:, 0] if outputs.shape[1:] == (1,) and not self.speaks_of_density else outputs
        if 0 < len(plain) <= _CHUNK:
            return self._score(plain)  # the very array: its densities are known where somebody asked for them before
        parts = [self._score(plain[start : start + _CHUNK]) for start in range(0, len(plain), _CHUNK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def hits(self, outputs: Array) -> npt.NDArray[np.bool_]:
        """Which outputs lie in the event."""
        return np.asarray(self.scores(outputs) != 0.0, dtype=np.bool_)

    def _score(self, outputs: Array) -> Array:
        try:
            with np.errstate(all="ignore"):
                found = asfloat(self._event(outputs))
        except Exception as error:  # noqa: BLE001 - a stranger's expression may not suit these outputs
            raise _refusal(f"it does not suit these outputs ({type(error).__name__})") from None
        if found.shape != (len(outputs),):
            raise _refusal("it does not say one thing of each output")
        return found


def speaks_of_density(text: str) -> bool:
    """Whether an event asks the declared density."""
    return "log_density(" in text


@lru_cache(maxsize=64)
def _compiled(text: str) -> CodeType:
    if len(text) > _LONGEST:
        raise _refusal(f"it has {len(text)} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refusal("it is no expression of Python") from None
    if not isinstance(tree.body, ast.Lambda):
        raise _refusal("it is no lambda")
    _check(tree)
    return compile(tree, "<event>", "eval")


def _check(tree: ast.Expression) -> None:
    known = {"np", "d1", "d2", "log_density"}
    known |= {argument.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for argument in node.args.args}
    for node in ast.walk(tree):
        if not isinstance(node, _NODES) or isinstance(node, ast.MatMult):
            raise _refusal(f"it holds a {type(node).__name__}")
        if isinstance(node, ast.Name) and (node.id not in known or node.id.startswith("_")):
            raise _refusal(f"it uses the name {node.id!r}")
        if isinstance(node, ast.Attribute) and not _is_of_numpy(node):
            raise _refusal(f"it uses the attribute {node.attr!r}")
        if isinstance(node, ast.Constant) and not (type(node.value) in (int, float, bool) or _is_word(node.value)):
            raise _refusal("it holds a constant that is no number")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _is_small_power(node):
            raise _refusal("it holds a power of something else than 2.0, or above 2")
        if isinstance(node, ast.BinOp) and any(isinstance(side, ast.List | ast.Tuple) for side in (node.left, node.right)):
            raise _refusal("it does arithmetic with a list")
        if isinstance(node, ast.Lambda) and (node.args.defaults or node.args.vararg or node.args.kwarg or node.args.kwonlyargs):
            raise _refusal("it holds a lambda with other arguments than names")


def _is_of_numpy(node: ast.Attribute) -> bool:
    owner = node.value
    if isinstance(owner, ast.Name):
        return owner.id == "np" and (node.attr in FUNCTIONS or node.attr == "linalg")
    of_linalg = isinstance(owner, ast.Attribute) and owner.attr == "linalg"
    return of_linalg and isinstance(owner.value, ast.Name) and owner.value.id == "np" and node.attr in LINEAR  # type: ignore[attr-defined]


def _is_word(value: object) -> bool:
    return value is Ellipsis or value is None or value in ("left", "right") or _is_sum(value)


def _is_sum(value: object) -> bool:
    """The subscripts of a sum, as np.einsum reads them."""
    return isinstance(value, str) and len(value) <= 20 and set(value) <= set("ij.,->")


def _is_small_power(node: ast.BinOp) -> bool:
    """A square, or a whole power of 2.0: huge powers of whole numbers would never end."""
    right = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    if not isinstance(right, ast.Constant):
        return False
    return right.value == 2 or (isinstance(node.left, ast.Constant) and type(node.left.value) is float)


def _refusal(reason: str) -> SerialisationError:
    return SerialisationError(reason=f"the event of the certificate cannot be run: {reason}.")
