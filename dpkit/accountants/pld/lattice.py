"""The route by a lattice: any composition whose profiles are known, by one Fourier transform, bounded from both sides.

docs/proofs/pld.md, theorems 5 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpkit.accountants.pld.moments import RealMoments, Terms, alias_bound
from dpkit.accountants.pld.routes import ErrorTerms, Reader, scaled
from dpkit.numerics.lattice_laws import LatticeLaw, log_moments, lower_masses, upper_masses
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.loss_pairs import LossDirection

Complex = np.typing.NDArray[np.complex128]

Number = TypeVar("Number", Array, Complex)

_NEGLIGIBLE = 1e-43
"""The size below which a frequency is only bounded, not summed."""

_TINY = 1e-140
"""Where moduli are cut off, upwards: their squares are still normal numbers."""

_FALL = 600.0
"""How far, in logarithms, the weights of a suffix sum may have fallen where it is read: e^-600 is a normal number."""

_MANY = 1 << 16
"""Up to how many frequencies are summed once more where suffix sums do not reach; with more, nothing is read there."""

_FEW = 2048
"""Up to how many frequencies a reading sums over them; with more, the law is transformed back."""


def transform_rounding(size: int) -> float:
    """How far each value of a Fourier transform of this length is off, relatively to the sum of the moduli that enter it.

    Each input reaches each output through log2(size) stages of a twiddle factor and a few additions: less than 8 units of
    rounding a stage for lengths of 2, 3 and 5 alone, and twice that is allowed (docs/proofs/pld.md, theorem 5).
    """
    return 16.0 * UNIT_ROUNDOFF * math.log2(max(2, size))


class LatticeSum:
    """The composition of lattice laws, each `count` times, tilted by e^(tilt * loss), read at any epsilon.

    Frequencies that are too small to matter are bounded and not summed. Where few remain, a reading sums over them; where
    many do, the law itself is transformed back once and a reading is a look-up in its suffix sums.
    """

    def __init__(self, laws: Sequence[tuple[LatticeLaw, int]], *, step: float, tilt: float, size: int, near: float) -> None:
        self.step, self.tilt, self.size = step, tilt, size
        self.log_moment, self.log_error = 0.0, 0.0
        self._kept, self._terms, self._spread, self._dropped = _product(self._transforms(laws), size, few=len(laws) <= 32)
        self.log_error += 8.0 * UNIT_ROUNDOFF * abs(self.log_moment)
        self._terms, self._spread, self._dropped = self._terms / size, self._spread / size, self._dropped / size
        twice = slice(1 if self._kept.size and self._kept[0] == 0 else 0, -1 if 2 * int(self._kept[-1]) == size else None)
        self._terms[twice] *= 2.0
        self._spread[twice] *= 2.0
        self._offset = sum(count * law.first for law, count in laws)
        self._window = self._suffix_sums(near) if self._kept.size > _FEW else None

    def _transforms(self, laws: Sequence[tuple[LatticeLaw, int]]) -> Iterator[tuple[Complex, int]]:
        """One transform at a time, with what its tilt does to the total."""
        for law, count in laws:
            transform, log_mass, exponent = _tilted_transform(law, self.step, self.tilt, self.size)
            self.log_moment += count * log_mass
            self.log_error += count * UNIT_ROUNDOFF * (64.0 + 4.0 * exponent)
            yield transform, count

    def readable(self, epsilon: float) -> bool:
        """Whether a reading here is cheap: by the suffix sums, or by a sum over not too many frequencies."""
        if self._window is None or self._kept.size <= _MANY:
            return True
        return 0 <= math.floor(epsilon / self.step) + 1 - self._window.first < self._window.readable

    def scaled_delta(self, epsilon: float) -> tuple[float, float, float]:
        """(value, error, log_scale), as `ContourSum` gives them; the aliases are those of the period size * step."""
        start = math.floor(epsilon / self.step) + 1
        gap = start * self.step - epsilon
        first, second = math.exp(-self.tilt * gap), math.exp(-(self.tilt + 1.0) * gap)
        log_scale = self.log_moment - self.tilt * epsilon
        if self._window is not None and 0 <= start - self._window.first < self._window.readable:
            value, error = self._window.read(start, first, second)
            return value, error, log_scale
        slow, fast = self._geometric(self._kept)
        kernel = np.exp(1j * self._turn(start - self._offset)) * (first / slow - second / fast)
        value = float(np.sum((self._terms * kernel).real))
        whole = self._weight(first, second)
        rounding = 64.0 * UNIT_ROUNDOFF * float(np.sum(np.abs(self._terms) * (np.abs(first / slow) + np.abs(second / fast))))
        error = float(np.sum(self._spread * np.abs(kernel))) + self._dropped * whole + rounding
        return value, error, log_scale

    def _geometric(self, kept: NDArray[np.int64]) -> tuple[Complex, Complex]:
        """1 - e^(-tilt step + i phase), and the same for tilt + 1: what geometric sums over the lattice are divided by."""
        phase = 2.0 * math.pi / self.size * kept
        return (
            -np.expm1(-self.tilt * self.step + 1j * phase),
            -np.expm1(-(self.tilt + 1.0) * self.step + 1j * phase),
        )

    def _weight(self, first: float, second: float) -> float:
        """The sum of all weights e^(-tilt u)(1 - e^-u): no frequency can count for more."""
        return first / -math.expm1(-self.tilt * self.step) - second / -math.expm1(-(self.tilt + 1.0) * self.step)

    def _suffix_sums(self, near: float) -> _Window:
        """The tilted law from below `near` on, with sums of e^(-tilt loss) over what lies above."""
        spectrum = np.zeros(self.size // 2 + 1, dtype=np.complex128)
        spectrum[self._kept] = self._terms
        spectrum[1 : (self.size + 1) // 2] *= 0.5
        law = np.fft.irfft(spectrum, self.size)
        law *= self.size
        first = math.floor((near - min(0.1 * self.size * self.step, 0.5 * _FALL / (self.tilt + 1.0))) / self.step)
        law = np.roll(law, -((first - self._offset) % self.size))
        transform = transform_rounding(self.size) * float(np.sum(np.abs(self._terms)))
        return _Window.build(
            law, first=first, step=self.step, tilt=self.tilt, blur=float(np.sum(self._spread)) + self._dropped + transform
        )

    def _turn(self, steps: int) -> Array:
        """The phases of a shift by `steps` steps, reduced exactly before they become floats."""
        return np.asarray(2.0 * math.pi / self.size * ((steps % self.size) * self._kept % self.size), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Window:
    """Suffix sums of a tilted law: slow[i] = sum over j >= i of law[j] e^(-tilt (j-i) step), fast the same at tilt + 1."""

    first: int
    slow: Array
    fast: Array
    blur: float
    weights: tuple[float, float]
    log_fall: float
    readable: int

    @classmethod
    def build(cls, law: Array, *, first: int, step: float, tilt: float, blur: float) -> _Window:
        sums = []
        for rate in (tilt, tilt + 1.0):
            fall = _geometric_sequence(-rate * step, law.size)
            total = np.cumsum((law * fall)[::-1])[::-1]
            total /= np.maximum(fall, 1e-290, out=fall)
            sums.append(total)
        weights = (1.0 / -math.expm1(-tilt * step), 1.0 / -math.expm1(-(tilt + 1.0) * step))
        readable = min(law.size // 2, math.floor(_FALL / ((tilt + 1.0) * step)))
        return cls(
            first=first, slow=sums[0], fast=sums[1], blur=blur, weights=weights, log_fall=-tilt * step, readable=readable
        )

    def read(self, start: int, first: float, second: float) -> tuple[float, float]:
        """The sum at one lattice point, and its error: the law's, that of the suffix sums, and what lies a period on."""
        index = start - self.first
        slow, fast = float(self.slow[index]) * first, float(self.fast[index]) * second
        whole = first * self.weights[0] - second * self.weights[1]
        rounding = UNIT_ROUNDOFF * (self.slow.size + 64.0) * (abs(slow) + abs(fast))
        beyond = 4.0 * math.exp(max(self.log_fall * (self.slow.size - index), -745.0))
        return slow - fast, self.blur * whole + rounding + beyond


def _geometric_sequence(log_ratio: float, size: int) -> Array:
    """e^(log_ratio * i) for i below size, as products of two short sequences: a relative error of a few units a value."""
    short = 512
    rows = np.exp(log_ratio * short * np.arange(-(-size // short)))
    sequence = np.multiply.outer(rows, np.exp(log_ratio * np.arange(short))).reshape(-1)[:size]
    return np.asarray(sequence, dtype=np.float64)


def _modulus(values: Complex) -> Array:
    """|values|, faster than a guarded hypotenuse: no value here is near the ends of the floats."""
    return np.asarray(np.sqrt(values.real * values.real + values.imag * values.imag), dtype=np.float64)


def _product(
    transforms: Iterable[tuple[Complex, int]], size: int, *, few: bool
) -> tuple[NDArray[np.int64], Complex, Array, float]:
    """Powers of transforms multiplied: (frequencies kept, their values, bounds of their errors, bound of the rest).

    A few transforms are held, and only the frequencies that count are raised to their powers; of many, one at a time is.
    """
    blur = transform_rounding(size)
    bound = np.ones(size // 2 + 1)
    running = None if few else np.ones(size // 2 + 1, dtype=np.complex128)
    held: list[tuple[Complex, int]] = []
    releases = factors = 0
    with np.errstate(under="ignore"):
        for transform, count in transforms:
            bound *= np.maximum(_power(_modulus(transform) + blur, count), _TINY)
            np.maximum(bound, _TINY, out=bound)
            releases, factors = releases + count, factors + 1
            if running is None:
                held.append((transform, count))
            else:
                running *= _power(transform, count)
    bound *= 1.0 + 8.0 * UNIT_ROUNDOFF * (releases + factors)
    kept = np.flatnonzero(bound > _NEGLIGIBLE)
    everything = kept.size == bound.size
    kept_bound = bound if everything else bound[kept]
    dropped = 0.0 if everything else 2.0 * (float(np.sum(bound)) - float(np.sum(kept_bound)) * (1.0 - 1e-9))
    value = np.ones(kept.size, dtype=np.complex128) if running is None else running[kept]
    for transform, count in held:
        value *= _power(transform if everything else transform[kept], count)
    # |prod (a + e)^k - prod a^k| <= prod (|a| + |e|)^k - prod |a|^k, and a few roundings a multiplication
    spread = np.maximum(kept_bound - _modulus(value), 0.0) + kept_bound * (16.0 * UNIT_ROUNDOFF * (releases + factors))
    return kept.astype(np.int64), value, spread, min(dropped, 2.0 * bound.size * _NEGLIGIBLE)


def _power(base: Number, count: int) -> Number:
    """base^count by repeated squaring: a relative error of at most 3 units of rounding a factor; tiny values are cut off."""
    result: Number | None = None
    square = base
    while True:
        if count & 1:
            result = square.copy() if result is None else result * square
        count >>= 1
        if not count:
            return base * 0.0 + 1.0 if result is None else result
        square = square * square
        if square.dtype.kind == "f":
            np.maximum(square, _TINY, out=square)  # numbers below the normal ones would be very slow


def _tilted_transform(law: LatticeLaw, step: float, tilt: float, size: int) -> tuple[Complex, float, float]:
    """The transform of the tilted, normalised law, folded to the size; ln of its total; the largest exponent used."""
    losses = (law.first + np.arange(law.masses.size)) * step
    top = float(losses[np.flatnonzero(law.masses)[-1]])  # a point without mass would let everything underflow
    weights = law.masses * np.exp(tilt * (np.minimum(losses, top) - top))
    total = float(np.sum(weights))
    folded = np.zeros(size)
    for start in range(0, weights.size, size):
        part = weights[start : start + size]
        folded[: part.size] += part
    exponent = abs(tilt) * float(losses[-1] - losses[0])
    return np.fft.rfft(folded / total), tilt * top + math.log(total), exponent


_LATTICE_SIZE = 1 << 21
"""The longest transform: 16 MB of floats, and a few times that in passing."""

_ALIGNMENTS = 20_000
"""How many steps are tried for the one on which the atoms of the losses lie best."""

_LOWER_WORK = 1 << 20
"""Distinct mechanisms times transform length for a lower bound whose atoms fit no lattice: a second, at most."""

_LATTICE_WORK = 1 << 26
"""Distinct mechanisms times transform length: half a gigabyte of transforms."""


def lattice_reader(
    terms: Terms, moments: RealMoments, *, tilt: float, period: float, epsilon: float, tail: float, width: float
) -> Reader:
    """A reader on a lattice as fine as the width asks for, or as the work allows; then the note says so."""
    releases = sum(count for _, count in terms)
    # dots add a variance of at most step^2/4 a release, which moves epsilon by half (tilt + 1) times that
    wanted = math.sqrt(4.2 * width / ((tilt + 1.0) * max(1, releases)))
    most = max(1024, min(_LATTICE_SIZE, _LATTICE_WORK // len(terms)))
    reaches = [direction.reach(tail) for direction, _ in terms]
    widest = max(high - low for low, high in reaches)
    step = _aligned(max(wanted, period / most, widest / _LATTICE_SIZE), terms)
    size = _fast_length(math.ceil(period / step))
    note = f"step {step:.3g}, {size} points"
    if step > wanted * 1.001:
        note += (
            f"; the width asked for would take {period / wanted:.2g} points, more than are allowed, so the interval is wider"
        )
    finest = max(period / (_LOWER_WORK // len(terms) + 1), widest / _LATTICE_SIZE)
    fine = _lower_step(terms, step=step, finest=finest, width=width)
    grids = (step, size), (fine, size if fine == step else _fast_length(math.ceil(period / fine)))
    return _lattice_bounds(terms, reaches, grids=grids, tilt=tilt, start=epsilon, note=note)


def _lattice_bounds(
    terms: Terms,
    reaches: list[tuple[float, float]],
    *,
    grids: tuple[tuple[float, int], tuple[float, int]],
    tilt: float,
    start: float,
    note: str,
) -> Reader:
    """Bounds on two lattices, each a step and a size: the upper one on the first, the lower one on the second."""
    (step, size), (fine, fine_size) = grids
    laws = [(_upper_law(direction, reach, step), n) for (direction, n), reach in zip(terms, reaches, strict=True)]
    spent = LatticeSum(laws, step=step, tilt=tilt, size=size, near=start)
    lost = sum(count * _beyond(direction, law, step) for (direction, count), (law, _) in zip(terms, laws, strict=True))
    del laws
    cache: list[tuple[LatticeSum, RealMoments] | None] = []

    def upper(at: float) -> tuple[float, ErrorTerms]:
        if not spent.readable(at):
            return 1.0, (("too far from where the lattice was tuned", 1.0),)
        value, error, log_scale = spent.scaled_delta(at)
        bound = scaled(value + error, log_scale + spent.log_error, size=tilt * abs(at)) + lost
        sizes = (("rounding", error / max(value, 1e-300) + spent.log_error), ("truncated tail", lost / max(bound, 1e-300)))
        return bound, sizes

    def lower(at: float) -> float:
        if not cache:
            cache.append(_lower_sum(terms, reaches, step=fine, tilt=tilt, size=fine_size, start=start))
        if cache[0] is None:
            return 0.0
        total, moments = cache[0]
        if not total.readable(at):
            return 0.0
        value, error, log_scale = total.scaled_delta(at)
        alias = alias_bound(moments, tilt=tilt, epsilon=at, period=fine_size * fine)
        return scaled(value - error, log_scale - total.log_error, size=tilt * abs(at), up=False) - alias * (1.0 + 1e-9)

    return Reader(upper=upper, lower=lower, route="lattice", start=start, tilt=tilt, note=note)


def _lower_sum(
    terms: Terms, reaches: list[tuple[float, float]], *, step: float, tilt: float, size: int, start: float
) -> tuple[LatticeSum, RealMoments] | None:
    """The lower laws composed, and their moments; None where the lattice is too coarse for every release."""
    below = [(_lower_law(direction, reach, step), n) for (direction, n), reach in zip(terms, reaches, strict=True)]
    # where the lattice is too coarse for a release, leaving that release out is the better lower bound
    below = [(law, n) for law, n in below if np.any(law.masses) and float(log_moments(law, step, np.array([tilt]))[0]) > 0.0]
    if not below:
        return None
    steeper: dict[float, float] = {}

    def log_moment(tilts: Array) -> Array:
        new = np.array([one for one in tilts.tolist() if one not in steeper])
        if new.size:
            found = np.zeros(new.size)
            for law, n in below:
                found += n * log_moments(law, step, new)
            steeper.update(zip(new.tolist(), found.tolist(), strict=True))
        return np.array([steeper[one] for one in tilts.tolist()])

    return LatticeSum(below, step=step, tilt=tilt, size=size, near=start), log_moment


def _upper_law(direction: LossDirection, reach: tuple[float, float], step: float) -> LatticeLaw:
    first, last = math.floor(reach[0] / step), math.ceil(reach[1] / step)
    profile, errors = direction.profile(asfloat(np.arange(first - 1, last + 1) * step))
    return upper_masses(profile, errors, first=first, step=step)


def _lower_law(direction: LossDirection, reach: tuple[float, float], step: float) -> LatticeLaw:
    first, last = math.floor(reach[0] / step) - 1, math.ceil(reach[1] / step) + 1
    middles = asfloat((np.arange(first - 1, last + 2) - 0.5) * step)
    profile, errors = direction.profile(middles)
    top = direction.top()
    slopes = direction.slope(middles)
    atom = float(direction.slope(asfloat([top * (1.0 - 2.0**-50)]))[0]) if 0.0 < top < math.inf else 0.0
    nearest = _place_below(top, step) if atom > 0.0 else 0
    if nearest <= 0:
        return lower_masses(profile, errors, slopes, first=first, step=step)
    return lower_masses(profile, errors, slopes, first=first, step=step, top=nearest, atom=atom)


def _place_below(loss: float, step: float) -> int:
    """The lattice point at a loss or next below it; a point that rounding alone lifts above it counts as at it."""
    return math.floor(loss / step * (1.0 + 8.0 * UNIT_ROUNDOFF))


def _beyond(direction: LossDirection, law: LatticeLaw, step: float) -> float:
    """What the profile still is at the last point: the mass that may lie above it."""
    last = (law.first + law.masses.size - 1) * step
    if direction.top() <= last:
        return 0.0
    value, error = direction.profile(np.array([last]))
    return float(value[0] + error[0]) if value[0] > 0.0 else 0.0


def _aligned(step: float, terms: Terms) -> float:
    """The step, a little smaller, so that atoms of the losses lie on lattice points, or hardly above.

    The heaviest atom is put on the lattice exactly; among the steps that do so, the one that serves the others best. An atom
    between points costs the lower bound what it lies above the lower one.
    """
    atoms = [(atom, count) for direction, count in terms for atom in direction.atoms() if atom > step]
    if not atoms:
        return step
    heaviest = max(atoms, key=lambda item: item[0] * item[1])[0]
    fewest = math.ceil(heaviest / step)
    parts = np.arange(fewest, fewest + min(_ALIGNMENTS, max(1, fewest // 4)))
    wasted = np.zeros(parts.size)
    for atom, count in atoms[:64]:
        position = atom / heaviest * parts
        wasted += count * (position - np.floor(position * (1.0 + 8.0 * UNIT_ROUNDOFF))) / parts
    return heaviest / float(parts[int(np.argmin(wasted))])


def _lower_step(terms: Terms, *, step: float, finest: float, width: float) -> float:
    """The step for a lower bound: a finer one where atoms between lattice points would cost it more than the width."""
    atoms = [(atom, count) for direction, count in terms for atom in direction.atoms()]

    def wasted(at: float) -> float:
        return sum(count * (atom - _place_below(atom, at) * at) for atom, count in atoms)

    best, least = step, wasted(step)
    while least > width and step > 4.0 * finest:
        step = _aligned(step / 4.0, terms)
        if (waste := wasted(step)) < least:
            best, least = step, waste
    return best


def _fast_length(size: int) -> int:
    from scipy.fft import next_fast_len

    length = int(next_fast_len(max(16, size), real=True))
    while length % 2:
        length = int(next_fast_len(length + 1, real=True))
    return length
