"""Noise that knows what it is added to: the sum is the noisy answer, and the same answer is given to another dataset."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpkit.auditing.recording.tape import Call, Tape


class NoiseDraw:
    """A draw of additive noise, times a factor. Added to a value it is that value's noisy answer, which the tape holds.

    Anything else that is done with it (a comparison, a logarithm) makes it a plain number, which the recorder cannot follow,
    and which the tape notes.
    """

    __array_ufunc__ = None
    """Arrays and numpy's numbers leave additions to this class."""

    def __init__(self, call: Call, tape: Tape, factor: float = 1.0, part: Any = None) -> None:
        self._call, self._tape, self._factor, self._part = call, tape, factor, part

    @property
    def _noise(self) -> Any:
        drawn = np.asarray(self._call.answer if self._part is None else np.asarray(self._call.answer)[self._part])
        return self._factor * drawn

    def _added(self, value: Any) -> Any:
        """The noisy answer of a value: of the first run's value, in both runs."""
        if isinstance(value, NoiseDraw):
            return self._plain() + value._plain()
        call, factor = self._call, self._factor
        added = np.asarray(value, dtype=np.float64)
        replaying = self._tape.replaying
        here = call.other_value if replaying else call.value
        here = here if isinstance(here, dict) else {}
        before = [one for name, one in here.items() if name[0] == repr(self._part)]
        again = any(np.array_equal(one, added, equal_nan=True) and scale == factor for one, scale in before)
        key = repr(self._part), len(before)  # the second time that it is added in one run answers the second of the other
        here[key] = added, factor
        other = bool(before) and not again
        if not replaying:
            call.value, call.used = here, call.used + other
            call.given.append(added + self._noise)
            return _shaped(call.given[-1])
        call.other_value, call.other_used = here, call.other_used + other
        first, scale = call.value.get(key, (added, factor)) if isinstance(call.value, dict) else (added, factor)
        drawn = np.asarray(call.answer if self._part is None else np.asarray(call.answer)[self._part])
        call.other_given.append(first + scale * drawn)
        return _shaped(call.other_given[-1])

    def _plain(self) -> Any:
        self._call.escaped = True
        return _shaped(self._noise)

    def __add__(self, value: Any) -> Any:
        return self._added(value)

    __radd__ = __add__
    __iadd__ = __add__

    def __sub__(self, value: Any) -> Any:
        return self._added(-np.asarray(value, dtype=np.float64))

    def __rsub__(self, value: Any) -> Any:
        return (-self)._added(value)

    def __neg__(self) -> NoiseDraw:
        return NoiseDraw(self._call, self._tape, -self._factor, self._part)

    def __mul__(self, factor: Any) -> Any:
        if np.ndim(factor) == 0 and not isinstance(factor, NoiseDraw):
            return NoiseDraw(self._call, self._tape, self._factor * float(factor), self._part)
        return self._plain() * factor

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Any:
        return self * (1.0 / float(factor))

    def __getitem__(self, part: Any) -> Any:
        return NoiseDraw(self._call, self._tape, self._factor, part) if self._part is None else self._plain()[part]

    def __len__(self) -> int:
        return len(self._noise)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the draw."""
        return tuple(np.shape(self._noise))

    @property
    def size(self) -> int:
        """How many numbers were drawn."""
        return int(np.size(self._noise))

    def item(self) -> Any:
        """The draw itself where it is one number."""
        return NoiseDraw(self._call, self._tape, self._factor, ()) if self._part is None else self

    def __float__(self) -> float:
        return float(self._plain())

    def __int__(self) -> int:
        return int(self._plain())

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self._plain()), digits)

    def __abs__(self) -> Any:
        return abs(self._plain())

    def __bool__(self) -> bool:
        return bool(self._plain())

    def __lt__(self, other: Any) -> Any:
        return self._plain() < other

    def __gt__(self, other: Any) -> Any:
        return self._plain() > other

    def __le__(self, other: Any) -> Any:
        return self._plain() <= other

    def __ge__(self, other: Any) -> Any:
        return self._plain() >= other

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._plain(), dtype=dtype)


def _shaped(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
