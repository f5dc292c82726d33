"""Outputs of a mechanism as arrays that can be scored: numbers, vectors, matrices, or any outcome made canonical."""

from __future__ import annotations

import copy
import json
import math
from collections import deque
from collections.abc import Callable, Sequence, Sized

import numpy as np
import numpy.typing as npt

from dpkit.auditing.call_timer import TimeUp
from dpkit.auditing.outcomes import NoOutput, apart, canonical, encode, finite, kind_code
from dpkit.auditing.single_calls import call_once
from dpkit.errors import InvalidValueError, SerialisationError
from dpkit.numerics.special import Array
from dpkit.values import dataclass

Sampler = Callable[[object, int, np.random.Generator], npt.ArrayLike]
"""fn(dataset, n, rng): n outputs along the first axis."""

_WIDEST, _SHOWN = 64, 8
_KEPT = 2_048
"""Outputs of a side that are remembered in the order in which they were drawn."""
_Numbers = npt.NDArray[np.generic]


class NotABatch(Exception):  # noqa: N818 - it says how to go on, and an audit catches it
    """A batch came to something else than n outputs of one form: what a single call comes to is to be looked at instead."""

    def __init__(self, drawn: int) -> None:
        super().__init__("single calls are needed")
        self.drawn = drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How outputs are drawn: see PairOutputs."""

    any_outcome: bool = False
    one_by_one: bool = False
    timeout: float | None = None

    def source(self, fn: Sampler, pair: tuple[object, object], seed: np.random.SeedSequence) -> PairOutputs:
        """Outputs of a pair, drawn so."""
        return PairOutputs(fn, pair, seed, self)


NUMBERS = Drawing()
"""Batches of numbers, and nothing else."""


class PairOutputs:
    """Both sides of a pair, each from its own stream of random numbers, and how many outputs were drawn.

    Each call gets a copy of its dataset: a function that changes what it is given would otherwise be audited at another pair.
    With `any_outcome`, an exception, a text or another shape is an output too: items of a list are made canonical one by one,
    and a batch that is no batch raises NotABatch. What a batch as a whole does (raise, have a dtype) is no property of one
    output, so an audit begins anew with `one_by_one`, where every call is for one output. `timeout` (seconds) is for a call.
    """

    def __init__(
        self,
        fn: Sampler,
        pair: tuple[object, object],
        seed: np.random.SeedSequence,
        drawing: Drawing = NUMBERS,
    ) -> None:
        self._fn, self._pair = fn, pair
        one, two = seed.spawn(2)
        self._streams = np.random.default_rng(one), np.random.default_rng(two)
        self._drawing = drawing
        self._shape: tuple[int, ...] | None = None
        self._form = ""
        """What every output is, where all of the first batch were alike; other outcomes stand apart."""
        self._lists = False
        self._wide = False
        self.drawn = 0
        self._recent: deque[tuple[Array, Array]] = deque()
        self._kept = 0
        self.kinds: dict[str, None] = {}
        """The kinds of outcomes that were seen beside numbers of one form."""

    @property
    def mixed(self) -> bool:
        """Whether outputs are rows of a kind, a count and numbers."""
        return self._shape is not None and self._drawing.any_outcome and not self._form

    @property
    def legend(self) -> str:
        """What the numbers of an output stand for, where outcomes of other kinds than numbers were seen."""
        if not self.kinds:
            return ""
        seen = ", ".join(f"{int(kind_code(kind))}: {kind}" for kind in list(self.kinds)[:_SHOWN])
        blind = any(kind.startswith("object ") for kind in self.kinds)
        form = "an output is a row of the code of its kind, how many numbers it has, and these"
        apart_form = "an outcome of another kind stands in for a number below -3e300, by its code"
        words = f"{form if self.mixed else apart_form}; kinds: {seen}"
        return words + ("; of objects the type alone is seen" if blind else "")

    @property
    def in_batches(self) -> bool:
        """Whether one call gives many outputs, and nobody knows that they are independent."""
        return not self._drawing.one_by_one and not getattr(self._fn, "independent", False)

    def draw_singly(self) -> None:
        """From now on every output is drawn by a call of its own, unless the function is known to draw them independently."""
        from dpkit.auditing.independence import SingleCalls

        if self.in_batches:
            self._fn = SingleCalls(self._fn)

    @property
    def encoding(self) -> str:
        """How outcomes became numbers, where they may be anything: by it other draws of the same target become the same."""
        if not self._drawing.any_outcome or self._shape is None:
            return ""
        parts = [self._drawing.one_by_one, self._drawing.timeout, self._lists, self._wide, self._form, list(self._shape)]
        return json.dumps(parts)

    def draw_as(self, encoding: str) -> None:
        """Draw, and make numbers, as another source did."""
        try:
            singly, timeout, lists, wide, form, shape = json.loads(encoding)
            self._drawing = Drawing(any_outcome=True, one_by_one=bool(singly), timeout=timeout)
            self._lists, self._wide, self._form = bool(lists), bool(wide), str(form)
            self._shape = tuple(int(size) for size in shape)
        except (TypeError, ValueError):
            raise SerialisationError(reason="the witness does not say how its outputs became numbers.") from None

    def draw(self, n: int) -> tuple[Array, Array]:
        """n outputs of each side."""
        one, two = self._draw_any(n) if self._drawing.any_outcome else self._draw_numbers(n)
        self.drawn += 2 * n
        self._recent.append((one[-_KEPT:], two[-_KEPT:]))
        self._kept += min(n, _KEPT)
        while self._kept - len(self._recent[0][0]) >= _KEPT:
            self._kept -= len(self._recent.popleft()[0])
        return one, two

    def recent(self) -> tuple[Array, Array]:
        """The last outputs of either side, some thousand, in the order in which they were drawn."""
        one, two = (np.concatenate([both[side] for both in self._recent]) for side in (0, 1))
        return one, two

    def _draw_numbers(self, n: int) -> tuple[Array, Array]:
        raw = [_asked(self._fn, dataset, n, rng) for dataset, rng in zip(self._pair, self._streams, strict=True)]
        if self._shape is None:
            self._wide = any(_beyond_floats(outputs) for outputs in raw)
        one, two = (_halves(outputs) if self._wide else _numbers(outputs) for outputs in raw)
        expected = one.shape[1:] if self._shape is None else self._shape
        for found in (one.shape[1:], two.shape[1:]):
            if found != expected:
                allowed = "outputs of one shape, in every call and for both datasets"
                raise _refusal(f"outputs of shapes {expected} and {found}", allowed)
        self._shape = expected
        return one, two

    def _draw_any(self, n: int) -> tuple[Array, Array]:
        if self._drawing.one_by_one:
            return self._items(self._draw_singly(n))
        try:
            returned = [self._fn(copied(dataset), n, rng) for dataset, rng in zip(self._pair, self._streams, strict=True)]
        except (KeyboardInterrupt, TimeUp):
            raise
        except BaseException:  # noqa: BLE001 - whatever it raises, single calls tell whether it tells the datasets apart
            raise NotABatch(self.drawn) from None
        lists = all(_is_list(side, n) for side in returned)
        if self._shape is None:
            self._lists = lists
        if lists != self._lists:
            raise NotABatch(self.drawn)
        if lists:
            return self._items([list(side) for side in returned])  # type: ignore[arg-type]
        return self._arrays(returned, n)

    def _arrays(self, returned: Sequence[object], n: int) -> tuple[Array, Array]:
        """Both sides as arrays of numbers of one form, the same in every batch."""
        arrays = [side for side in map(_as_array, returned) if side is not None and _is_batch(side, n)]
        forms = {f"{side.shape[1:]} {side.dtype}" for side in arrays}
        wide = any(_beyond_floats(side) for side in arrays)
        if self._shape is None and len(forms) == 1:
            self._wide, (self._form,) = wide, forms
        if len(arrays) < 2 or forms != {self._form} or (wide and not self._wide):
            raise NotABatch(self.drawn)
        one, two = (_halves(side) if self._wide else _numbers(side) for side in arrays)
        self._shape = one.shape[1:]
        return one, two

    def _draw_singly(self, n: int) -> list[list[object]]:
        """n calls for one output of either side, in turn, so that what changes with time changes for both."""
        found: list[list[object]] = [[], []]
        for _ in range(n):
            for side, (dataset, rng) in enumerate(zip(self._pair, self._streams, strict=True)):
                given = copied(dataset)
                found[side].append(call_once(lambda given=given, rng=rng: self._fn(given, 1, rng), self._drawing.timeout))  # type: ignore[misc]
        return found

    def _items(self, sides: list[list[object]]) -> tuple[Array, Array]:
        """Numbers of one shape where the first batch had one form alone, other kinds standing apart; else rows of any kind."""
        forms = [[form_of(item) for item in side] for side in sides]
        if self._shape is None:
            _refuse_failing([item for side in sides for item in side])
            seen = {form for side in forms for form in side}
            self._form = seen.pop() if len(seen) == 1 else ""
            first = np.asarray(sides[0][0]).shape if self._form else ()
            widest = 1 if self._form else max(len(canonical(item).numbers) for side in sides for item in side)
            self._shape = (first or (1,)) if self._form else (2 + min(max(widest, 1), _WIDEST),)
        one, two = (self._rows(items, form) for items, form in zip(sides, forms, strict=True))
        return one, two

    def _rows(self, items: Sequence[object], forms: Sequence[str]) -> Array:
        assert self._shape is not None
        if not self._form:
            outcomes = [canonical(item) for item in items]
            self.kinds |= dict.fromkeys(outcome.kind for outcome in outcomes)
            return encode(outcomes, self._shape[0] - 2)
        rows = np.empty((len(items), *self._shape))
        for row, item, form in zip(rows, items, forms, strict=True):
            if form == self._form:
                row[...] = item
            else:
                kind = canonical(item).kind
                self.kinds[kind] = None
                row[...] = apart(kind)
        return finite(rows)


def _refuse_failing(items: Sequence[object]) -> None:
    """Refuse what does nothing but fail, in one and the same way at both datasets."""
    if not all(isinstance(item, NoOutput | BaseException) for item in items):
        return
    outcomes = [canonical(item) for item in items]
    # programs fail by codes that may tell something; a function that raises is broken, whatever it says
    ways = {one.kind if isinstance(item, NoOutput) else one for one, item in zip(outcomes, items, strict=True)}
    if len(ways) == 1:
        allowed = "something that gives an output, for at least one of the datasets"
        from dpkit.auditing.targets.programs import ProgramFailed

        how, fix = outcomes[0].kind, "Run it by itself on one dataset to see why; a function fn(dataset, n, rng) with n = 1."
        if isinstance(items[0], ProgramFailed):
            how, fix = str(items[0]) or "no answer", "Run the command, or ask the address, by itself on one dataset to see why."
        raise _refusal(f"nothing but one outcome that is no output: {how}", allowed, fix=fix)


def _is_list(returned: object, n: int) -> bool:
    """Whether these are n objects, each an output of its own."""
    objects = isinstance(returned, list | tuple) or (isinstance(returned, np.ndarray) and returned.dtype == object)
    return objects and isinstance(returned, Sized) and len(returned) == n


def form_of(item: object) -> str:
    """Type and shape of a number or an array of numbers that float64 holds; empty for anything else."""
    if isinstance(item, bool | np.bool_):
        return "bool"
    if isinstance(item, int | float | np.integer | np.floating):
        whole = isinstance(item, int | np.integer)
        name = type(item).__name__ if isinstance(item, np.generic) or whole else "float64"
        return "" if whole and abs(int(item)) > 2**53 else name
    if (
        isinstance(item, np.ndarray)
        and item.dtype.kind in "biuf"
        and item.size
        and not _beyond_floats(item)
        and not masked(item)
    ):
        return f"array {item.shape} {item.dtype}"
    return ""


def _as_array(returned: object) -> _Numbers | None:
    try:
        return None if masked(returned) else np.asarray(returned)
    except Exception:  # noqa: BLE001 - what cannot be an array is no batch
        return None


def masked(item: object) -> bool:
    """Whether it is an array that hides entries: a mask is an output, too."""
    return isinstance(item, np.ma.MaskedArray)


def _is_batch(outputs: _Numbers, n: int) -> bool:
    return outputs.ndim > 0 and outputs.shape[0] == n and outputs.size > 0 and outputs.dtype.kind in "biuf"


def _asked(fn: Sampler, dataset: object, n: int, rng: np.random.Generator) -> _Numbers:
    """What the function returns, as an array of numbers with n entries along its first axis."""
    returned = fn(copied(dataset), n, rng)
    try:
        outputs = np.asarray(returned)
    except ValueError:
        raise _refusal("outputs of different lengths", "outputs of one shape") from None
    if outputs.ndim == 0 or outputs.shape[0] != n or outputs.size == 0:
        allowed = f"a function fn(dataset, n, rng) whose output has n = {n} entries along its first axis"
        raise _refusal(f"an array of shape {outputs.shape}", allowed)
    if outputs.dtype.kind not in "biuf":
        raise _refusal(f"outputs of type {outputs.dtype}", "numbers, or categories as integers")
    return outputs


def _refusal(found: str, allowed: str, *, fix: str = "") -> InvalidValueError:
    return InvalidValueError(field="target", found=found, allowed=allowed, where="audit", fix=fix)


def copied(dataset: object) -> object:
    """A copy for one call: what a function does to its dataset stays there."""
    try:
        return copy.deepcopy(dataset)
    except Exception:  # noqa: BLE001 - a handle that cannot be copied is passed as it is, as it was before
        return dataset


def _numbers(outputs: _Numbers) -> Array:
    """As floats, all finite."""
    if _beyond_floats(outputs):
        found = "whole numbers beyond 2**53 after a first batch without any"
        raise _refusal(found, "categories that float64 tells apart", fix="Number the categories from 0.")
    numbers = outputs.astype(np.float64)
    return finite(numbers.reshape(len(numbers), 1) if numbers.ndim == 1 else numbers)


def _beyond_floats(outputs: _Numbers) -> bool:
    """Whether two of these whole numbers may be one float64: hashes as categories are."""
    whole = outputs if outputs.dtype.kind in "iu" and outputs.dtype.itemsize == 8 else None
    return whole is not None and (int(whole.max()) > 2**53 or int(whole.min()) < -(2**53))


def _halves(outputs: _Numbers) -> Array:
    """Large whole numbers by their upper and lower 32 bits, along a new last axis: nothing is lost."""
    if outputs.dtype.kind not in "iu":
        return _numbers(outputs)
    wide = outputs.astype(np.uint64) if outputs.dtype.kind == "u" else outputs.astype(np.int64)
    base = wide.dtype.type(2**32)
    return np.stack(np.divmod(wide, base), axis=-1).astype(np.float64)


class Rounder:
    """Rounds outputs to a grid that is fixed by the first batch: 2**-30 of its spread, a power of two, at most 1.

    Rounding is post-processing, so it cannot break a claim that holds. It takes away the events that only floating-point
    arithmetic decides, which are a verdict of their own; whole numbers stay as they are.
    """

    def __init__(self) -> None:
        self._grid: float | None = None

    @property
    def grid(self) -> float:
        """What outputs are rounded to; 0 where they are not."""
        return self._grid or 0.0

    def __call__(self, outputs: Array) -> Array:
        """The outputs on the grid."""
        if self._grid is None:
            self._grid = _grid(outputs)
        if self._grid == 0.0:
            return outputs
        with np.errstate(over="ignore"):
            scaled = outputs / self._grid
        return np.where(np.abs(scaled) < 2.0**62, np.round(scaled) * self._grid, outputs)


def _grid(outputs: Array) -> float:
    spread = float(np.median(np.abs(outputs - np.median(outputs, axis=0))))
    if not 0.0 < spread < 1e200:
        spread = float(np.mean(np.abs(np.clip(outputs - np.median(outputs, axis=0), -1e6, 1e6))))
    return min(1.0, 2.0 ** (math.floor(math.log2(spread)) - 30)) if spread > 0.0 else 0.0


def flat(outputs: Array) -> Array:
    """Every output as one row of numbers."""
    return outputs.reshape(outputs.shape[0], -1)


def as_value(dataset: object, shape: tuple[int, ...]) -> Array | None:
    """The dataset as a value of the shape of an output, where it is one: then outputs can be compared with it."""
    try:
        value = np.asarray(dataset, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if value.shape == () and shape == (1,):
        return value.reshape(1)
    if value.shape != shape or not np.isfinite(value).all():
        return None
    return value
