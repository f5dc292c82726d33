"""Passes over many rows, compiled by numba (the extra `fast`): the same bits as numpy's, in one sweep, outside Python's lock.

Only `kernels` imports this module. Rows lie along the last axis and are done a few hundred at a time, so that everything
between reading a row and adding it up stays in a core's nearest cache. What is rounded is done in the order of the numpy path,
one correctly rounded operation at a time; what is exact may be reordered and fused, which `_exact` allows the compiler.
Truth values that are returned say whether all numbers were such as can be done here; if not, nothing is to be used.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

AT_ONCE = 512
ONE = 1048576.0  # 1 in steps of a factor, rows.LARGEST_STEP
LEAST_WEIGHT = 2.0**-21  # as frame's
SCATTER, CURVATURE, MIDDLE, WEIGHTED = 0, 1, 2, 3  # what a step carries, step_query.Carried
TABLED, BISQUARE = 1.0, 2.0  # scores.TABLED, scores.BISQUARE

_rounded = numba.njit(nogil=True, cache=True, error_model="numpy")
_exact = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@_rounded
def prepared(
    block: Array,
    centres: Array,
    inverse_units: Array,
    intercept: bool,
    turned: Array,
    scale: float,
    origin: float,
    near: float,
    far: float,
    clamp: float,
    found: Array,
) -> bool:
    """`Frame.prepared` of rows of numbers, into `found`; False where one is beyond the clamp, or NaN."""
    rows, features = block.shape[0], inverse_units.shape[0]
    width = features + 1 if intercept else features
    x = np.empty((width, AT_ONCE))
    largest, factors, lengths = np.empty(AT_ONCE), np.empty(AT_ONCE), np.empty(AT_ONCE)
    cells = block.reshape(rows * (features + 1))
    for start in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - start)
        part = cells[start * (features + 1) : (start + count) * (features + 1)]
        target = found[width + 1, start : start + count]
        if not _columns(part, count, centres, inverse_units, origin, clamp, x, largest, target):
            return False
        _directions(x, largest, intercept, turned, factors, found, start, lengths, count)
        _weighted_lengths(lengths, factors, scale, near, far, found[width, start : start + count], count)
        for place in range(width):
            _scaled(found[place, start : start + count], lengths, count)
    return True


@_rounded
def _columns(
    part: Array,
    count: int,
    centres: Array,
    inverse_units: Array,
    origin: float,
    clamp: float,
    x: Array,
    largest: Array,
    target: Array,
) -> bool:
    """Rows as columns, centred and in the units of the frame, their largest magnitudes, and the targets."""
    features, beyond = inverse_units.shape[0], 0
    largest[:count] = 0.0
    for row in range(count):
        for place in range(features):
            x[place, row] = part[row * (features + 1) + place]
        target[row] = part[row * (features + 1) + features]
    for place in range(features):
        centre, inverse_unit, column = centres[place], inverse_units[place], x[place]
        for row in range(count):
            value = (column[row] - centre) * inverse_unit
            column[row] = value
            size = abs(value)
            largest[row] = size if size > largest[row] or size != size else largest[row]  # NaN stays
    for row in range(count):
        value = target[row]
        target[row] = value - origin
        beyond += 0 if largest[row] <= clamp and abs(value) <= clamp else 1
    return beyond == 0


@_rounded
def _directions(
    x: Array,
    largest: Array,
    intercept: bool,
    turned: Array,
    factors: Array,
    found: Array,
    start: int,
    squares: Array,
    count: int,
) -> None:
    """Columns of x give way to whole steps of `factors` over the rows; of those z, `found` from `start` on, and its squares."""
    width = turned.shape[0]
    if intercept:
        _with_ones(x[width - 1], largest, count)
    _factors(largest.view(np.int64), factors.view(np.int64), count)
    for place in range(width):
        _scaled(x[place], factors, count)
    squares[:] = 0.0
    for place in range(0, width - 1, 2):
        z, other = found[place, start : start + count], found[place + 1, start : start + count]
        _combined_twice(turned[place], turned[place + 1], x, z, other, count)
    if width % 2:
        _combined(turned[width - 1], x, found[width - 1, start : start + count], count)
    for place in range(width):
        _add_squares(found[place, start : start + count], squares, count)


@_rounded
def length_exponents(
    block: Array,
    centres: Array,
    inverse_units: Array,
    intercept: bool,
    turned: Array,
    scale: float,
    clamp: float,
    counts: Integers,
) -> bool:
    """How many rows have lengths of each stored exponent, in a frame without weights; False as in `prepared`."""
    rows, features = block.shape[0], inverse_units.shape[0]
    width = features + 1 if intercept else features
    x, z = np.empty((width, AT_ONCE)), np.empty((width, AT_ONCE))
    largest, factors, lengths, target = np.empty(AT_ONCE), np.empty(AT_ONCE), np.empty(AT_ONCE), np.empty(AT_ONCE)
    reaches = np.empty(AT_ONCE)
    bits = reaches.view(np.int64)
    cells = block.reshape(rows * (features + 1))
    for start in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - start)
        part = cells[start * (features + 1) : (start + count) * (features + 1)]
        if not _columns(part, count, centres, inverse_units, 0.0, clamp, x, largest, target):
            return False
        _directions(x, largest, intercept, turned, factors, z, 0, lengths, count)
        for row in range(count):
            reaches[row] = np.sqrt(lengths[row]) * ((ONE / factors[row]) * scale)
        for row in range(count):
            counts[(bits[row] >> 52) & 0x7FF] += 1
    return True


@_rounded
def _with_ones(ones: Array, largest: Array, count: int) -> None:
    for row in range(count):
        ones[row] = 1.0
        largest[row] = 1.0 if largest[row] < 1.0 else largest[row]


@_rounded
def _factors(largest: Integers, factors: Integers, count: int) -> None:
    """2^20 over the power of two above each magnitude, or over 2^-1000, by their exponents."""
    for row in range(count):
        exponent = largest[row] >> 52
        exponent = exponent if exponent > 22 else 22
        factors[row] = (2065 - exponent) << 52


@_rounded
def _scaled(values: Array, factors: Array, count: int) -> None:
    """Products cut to whole steps; none exceeds a factor's."""
    for row in range(count):
        values[row] = float(np.int32(values[row] * factors[row]))


@_exact
def _combined(weights: Array, x: Array, z: Array, count: int) -> None:
    """A combination of columns, several at a time."""
    width = weights.shape[0]
    for row in range(count):
        z[row] = 0.0
    place = 0
    while place + 4 <= width:
        one, two, three, four = weights[place], weights[place + 1], weights[place + 2], weights[place + 3]
        a, b, c, d = x[place], x[place + 1], x[place + 2], x[place + 3]
        for row in range(count):
            z[row] += one * a[row] + two * b[row] + three * c[row] + four * d[row]
        place += 4
    while place < width:
        one, a = weights[place], x[place]
        for row in range(count):
            z[row] += one * a[row]
        place += 1


@_exact
def _combined_twice(weights: Array, others: Array, x: Array, z: Array, other: Array, count: int) -> None:
    """Two combinations of the same columns: each number that is read serves both."""
    width = weights.shape[0]
    for row in range(count):
        z[row] = 0.0
        other[row] = 0.0
    place = 0
    while place + 4 <= width:
        one, two, three, four = weights[place], weights[place + 1], weights[place + 2], weights[place + 3]
        five, six, seven, eight = others[place], others[place + 1], others[place + 2], others[place + 3]
        a, b, c, d = x[place], x[place + 1], x[place + 2], x[place + 3]
        for row in range(count):
            z[row] += one * a[row] + two * b[row] + three * c[row] + four * d[row]
            other[row] += five * a[row] + six * b[row] + seven * c[row] + eight * d[row]
        place += 4
    while place < width:
        one, five, a = weights[place], others[place], x[place]
        for row in range(count):
            z[row] += one * a[row]
            other[row] += five * a[row]
        place += 1


@_rounded
def _add_squares(z: Array, squares: Array, count: int) -> None:
    for row in range(count):
        squares[row] += z[row] * z[row]


@_rounded
def _weighted_lengths(
    squares: Array, factors: Array, scale: float, near: float, far: float, reaches: Array, count: int
) -> None:
    """Lengths over weights in the units of rows; the squares give way to weights times 2^20 over the lengths of x's."""
    for row in range(count):
        length = np.sqrt(squares[row])
        real = length * ((ONE / factors[row]) * scale)
        short, long = real / near, far / real
        weight = (short if short < 1.0 else 1.0) * (long if long < 1.0 else 1.0)  # 1 for NaN
        reaches[row] = 0.0 if weight < LEAST_WEIGHT else real / weight
        squares[row] = weight * (ONE / (1.0 if length == 0.0 else length))


@_exact
def _add_products(left: Array, right: Array, start: int, count: int, totals: Array) -> None:
    """The sum of products of one column with each of several."""
    for place in range(totals.shape[0]):
        other = right[place, start : start + count]
        total = 0.0
        for row in range(count):
            total += left[row] * other[row]
        totals[place] += total


@_exact
def _add_scatter(columns: Array, start: int, count: int, totals: Array) -> None:
    """The lower triangle, two columns by two: each number that is read serves two products."""
    width = columns.shape[0]
    for place in range(0, width - 1, 2):
        one, two = columns[place, start : start + count], columns[place + 1, start : start + count]
        for other in range(0, place + 1, 2):
            left, right = columns[other, start : start + count], columns[other + 1, start : start + count]
            a = b = c = d = 0.0
            for row in range(count):
                a += one[row] * left[row]
                b += two[row] * left[row]
                c += one[row] * right[row]
                d += two[row] * right[row]
            totals[place, other] += a
            totals[place + 1, other] += b
            totals[place, other + 1] += c if other < place else 0.0
            totals[place + 1, other + 1] += d
    if width % 2:
        _add_products(columns[width - 1, start : start + count], columns, start, count, totals[width - 1])


@_exact
def _sum_of(values: Array, count: int) -> float:
    total = 0.0
    for row in range(count):
        total += values[row]
    return total


@_rounded
def _scores(
    rows: Array,
    direction: Array,
    scale: float,
    shape: Array,
    table: Array,
    start: int,
    count: int,
    scores: Array,
    slopes: Array,
) -> None:
    """`Scores`, of some prepared rows; `slopes` are filled for tabled ones, and for Tukey's with 1 where it grows, else 0."""
    width = direction.shape[0]
    _combined(direction, rows[:width, start : start + count], scores, count)
    lengths, targets = rows[width, start : start + count], rows[width + 1, start : start + count]
    if shape[0] == TABLED:
        _tabled_scores(scores, lengths, targets, scale, shape, table, count, slopes)
        return
    if shape[0] == BISQUARE:
        step, peak, middle = shape[1], shape[2], shape[3]
        for row in range(count):
            value = (targets[row] - scores[row] * lengths[row] * scale) / step
            slopes[row] = 1.0 if value * value < middle else 0.0
            value = -1.0 if value < -1.0 else value
            value = 1.0 if value > 1.0 else value
            falls = 1.0 - value * value
            value = value * (falls * falls) * peak
            value = -ONE if value < -ONE else value
            value = ONE if value > ONE else value
            value = 0.0 if value != value else value
            scores[row] = float(np.int32(value))
        return
    step, shift, least, most = shape[1], shape[2], shape[3], shape[4]
    for row in range(count):
        value = (targets[row] - scores[row] * lengths[row] * scale) / step + shift
        value = least if value < least else value
        value = most if value > most else value
        value = 0.0 if value != value else value
        scores[row] = float(np.int32(value))


@_rounded
def _tabled_scores(
    scores: Array, lengths: Array, targets: Array, scale: float, shape: Array, table: Array, count: int, slopes: Array
) -> None:
    """The predictors in `scores` give way to scores. Looking up stands in a loop of its own: the others are vectorised."""
    low, per, last = shape[1], shape[2], shape[3]
    cells, parts, middles = np.empty(AT_ONCE, np.int32), np.empty(AT_ONCE), np.empty(AT_ONCE)
    for row in range(count):
        place = (scores[row] * lengths[row] * scale - low) * per
        place = place if place > 0.0 else 0.0  # 0 for NaN
        place = last if place > last else place
        cells[row] = np.int32(place)
        parts[row] = place - float(cells[row])
    for row in range(count):
        cell, part = cells[row], parts[row]
        middles[row] = table[1, cell] * part + table[0, cell]
        slopes[row] = table[5, cell] * part + table[4, cell]
        parts[row] = table[3, cell] * part + table[2, cell]
    for row in range(count):
        value = (targets[row] - middles[row]) * parts[row]
        value = -ONE if value < -ONE else value
        value = ONE if value > ONE else value
        value = 0.0 if value != value else value
        scores[row] = float(np.int32(value))


@_rounded
def _nearness(scores: Array, shape: Array, grows: Array, near: Array, count: int) -> None:
    if shape[0] == BISQUARE:
        for row in range(count):
            near[row] = float(np.int32(np.sqrt(ONE * ONE - scores[row] * scores[row]))) * grows[row]
        return
    least, most = (-ONE, ONE) if shape[0] == TABLED else (shape[3], shape[4])
    for row in range(count):
        inside = least < scores[row] < most
        near[row] = float(np.int32(np.sqrt(ONE * ONE - scores[row] * scores[row]))) if inside else 0.0


@_rounded
def gradient(rows: Array, direction: Array, scale: float, shape: Array, table: Array, run: int, totals: Array) -> None:
    """Of each run of prepared rows, the sum of scores times directions."""
    scores, slopes, width = np.empty(AT_ONCE), np.empty(AT_ONCE), direction.shape[0]
    for number in range(totals.shape[0]):
        end = min(rows.shape[1], (number + 1) * run)
        for start in range(number * run, end, AT_ONCE):
            count = min(AT_ONCE, end - start)
            _scores(rows, direction, scale, shape, table, start, count, scores, slopes)
            _add_products(scores, rows[:width], start, count, totals[number])


@_rounded
def step(
    rows: Array,
    direction: Array,
    scale: float,
    shape: Array,
    table: Array,
    run: int,
    carried: int,
    inverse_far: float,
    gradients: Array,
    matrices: Array,
    nears: Array,
) -> None:
    """Of each run of prepared rows, the gradient, the lower triangle of what it carries, and nearness."""
    scores, near, width = np.empty(AT_ONCE), np.empty(AT_ONCE), direction.shape[0]
    factors, shrunk = np.empty(AT_ONCE), np.empty((width, AT_ONCE))
    for number in range(gradients.shape[0]):
        end = min(rows.shape[1], (number + 1) * run)
        for start in range(number * run, end, AT_ONCE):
            count = min(AT_ONCE, end - start)
            _scores(rows, direction, scale, shape, table, start, count, scores, factors)
            reaches = rows[width, start : start + count]
            if carried == WEIGHTED:
                for row in range(count):
                    factors[row] = np.sqrt(factors[row] * (reaches[row] * inverse_far))
            else:
                _nearness(scores, shape, factors, near, count)
                nears[number] += _sum_of(near, count)
            if carried != MIDDLE:
                _add_products(scores, rows[:width], start, count, gradients[number])
            if carried == SCATTER:
                _add_scatter(rows[:width], start, count, matrices[number])
                continue
            if carried == CURVATURE:
                for row in range(count):
                    factors[row] = np.sqrt((near[row] * (1.0 / ONE)) * (reaches[row] * inverse_far))
            elif carried == MIDDLE:
                for row in range(count):
                    factors[row] = scores[row] * (1.0 / ONE)
            for place in range(width):
                column, into = rows[place, start : start + count], shrunk[place]
                for row in range(count):
                    into[row] = float(np.int32(column[row] * factors[row]))
                if carried == MIDDLE:
                    gradients[number, place] += _sum_of(into, count)
            _add_scatter(shrunk, 0, count, matrices[number])


@_rounded
def _factor_steps(
    rows: Array, direction: Array, scale: float, cap: float, balance: float, start: int, count: int, w: Array
) -> bool:
    """`Factors` with p = 1, of some prepared rows."""
    width = direction.shape[0]
    roots = w[width]
    _combined(direction, rows[:width, start : start + count], roots, count)
    targets = rows[width, start : start + count]
    least, whole = 1.0 / cap, True
    for row in range(count):
        value = abs(targets[row] - roots[row] * scale)
        whole = whole and bool(value == value)
        value = least if value < least else value
        value = (1.0 / value) / cap
        roots[row] = np.sqrt(1.0 if value > 1.0 else value) * ONE
    for place in range(width):
        column, into = rows[place, start : start + count], w[place]
        for row in range(count):
            into[row] = float(np.int32(column[row] * roots[row]))
    for row in range(count):
        roots[row] = float(np.int32(float(np.int32(targets[row] * roots[row])) * balance))
    return whole


@_rounded
def moments(rows: Array, direction: Array, scale: float, cap: float, balance: float, run: int, totals: Array) -> bool:
    """Of each run of prepared rows, the lower triangle of the sum of w w'; False where a residual is NaN."""
    w = np.empty((rows.shape[0], AT_ONCE))
    for number in range(totals.shape[0]):
        end = min(rows.shape[1], (number + 1) * run)
        for start in range(number * run, end, AT_ONCE):
            count = min(AT_ONCE, end - start)
            if not _factor_steps(rows, direction, scale, cap, balance, start, count, w):
                return False
            _add_scatter(w, 0, count, totals[number])
    return True


@_rounded
def exponents(block: Array, centres: Array, inverse_units: Array, clamp: float, counts: Integers, zeros: Integers) -> bool:
    """How many entries of each column have each stored exponent, and how many are zero; False as in `prepared`."""
    features = inverse_units.shape[0]
    cells = block.reshape(block.shape[0] * (features + 1))
    value = np.empty(1)
    bits = value.view(np.int64)
    for row in range(block.shape[0]):
        part = cells[row * (features + 1) : (row + 1) * (features + 1)]
        for place in range(features):
            value[0] = (part[place] - centres[place]) * inverse_units[place]
            if not abs(value[0]) <= clamp:
                return False
            counts[place, (bits[0] >> 52) & 0x7FF] += 1
            zeros[place] += value[0] == 0.0
    return True


@_rounded
def bins(
    block: Array,
    centres: Array,
    inverse_units: Array,
    origin: float,
    clamp: float,
    lows: Array,
    inverse_widths: Array,
    counts: Integers,
) -> bool:
    """How many entries of each column, and last the target where `counts` has a row for it, are in each of equal bins; False as
    in `prepared`.
    """
    rows, features, last = block.shape[0], inverse_units.shape[0], counts.shape[1] - 1.0
    x, largest, target = np.empty((features, AT_ONCE)), np.empty(AT_ONCE), np.empty(AT_ONCE)
    cells = block.reshape(rows * (features + 1))
    for start in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - start)
        part = cells[start * (features + 1) : (start + count) * (features + 1)]
        if not _columns(part, count, centres, inverse_units, origin, clamp, x, largest, target):
            return False
        for place in range(counts.shape[0]):
            column, found = x[place] if place < features else target, counts[place]
            low, inverse_width = lows[place], inverse_widths[place]
            for row in range(count):
                value = (column[row] - low) * inverse_width
                value = value if value > 0.0 else 0.0
                column[row] = last if value > last else value
            for row in range(count):
                found[np.int32(column[row])] += 1
    return True


@_rounded
def squares(rows: Array, run: int, totals: Array) -> None:
    """Of each run, the lower triangle of the sum of w w'."""
    for number in range(totals.shape[0]):
        end = min(rows.shape[1], (number + 1) * run)
        for start in range(number * run, end, AT_ONCE):
            _add_scatter(rows, start, min(AT_ONCE, end - start), totals[number])
