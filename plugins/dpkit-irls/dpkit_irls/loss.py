"""The scores: what one row says about its prediction, bounded by 1. One entry a family (docs/add-a-family.md).

A family of residuals scores r = y - eta in units of a released threshold. A family with a link scores y given the predictor
eta: it says which target scores 0, how far from it a target scores 1, and what its law tells of slopes and squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from functools import cache, partial
from typing import Literal

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.count_law import count_law
from dpkit_irls.rows.fixed_point import Array
from dpkit_irls.rows.scores import PEAK, Scores, bisquare_scores, clipped_scores, tabled_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualScore:
    """clip(r/k + shift, low, high), for residuals r and a released threshold k; Huber's by default.

    What it tells of a scale is told for normal residuals, of which the share `quantile` is below 0; `ratio` is k over their sd.
    """

    name: str = "huber"
    shift: float = 0.0
    low: float = -1.0
    high: float = 1.0
    quantile: float = 0.5

    def at(self, position: Array, threshold: float) -> Scores:
        """At a released position and threshold."""
        return clipped_scores(position, threshold, shift=self.shift, low=self.low, high=self.high)

    def of(self, residuals: Array, threshold: float) -> Array:
        """Of residuals, without rounding."""
        return np.clip(residuals / threshold + self.shift, self.low, self.high)

    def slopes_of(self, residuals: Array, threshold: float) -> Array:
        """How fast it grows with a residual."""
        found = residuals / threshold + self.shift
        return np.asarray(((found > self.low) & (found < self.high)) / threshold)

    def share_near(self, ratio: float) -> float:
        """The mean of nearness, sqrt(1 - s^2) between the ends."""
        return share_near(ratio) if self == HUBER else self._mean(ratio, lambda s: np.sqrt(1.0 - s * s))

    def ratio_of_share(self, share: float) -> float:
        """The ratio at which that is the share near."""
        if self == HUBER:
            return ratio_of_share(share)
        ratios, shares = _shares_of(self)
        return float(np.interp(share, shares, ratios))

    def inside(self, ratio: float) -> float:
        """The share of residuals between the ends, where the score has a slope."""
        from scipy.special import ndtr

        below, above = self._ends(ratio)
        return float(ndtr(above) - ndtr(below))

    def mean_square(self, ratio: float) -> float:
        """The mean of s^2."""
        from scipy.special import ndtr

        if self == HUBER:
            return mean_squared_score(ratio)
        below, above = self._ends(ratio)
        return self._mean(ratio, np.square) + self.low**2 * float(ndtr(below)) + self.high**2 * float(ndtr(-above))

    def _ends(self, ratio: float) -> tuple[float, float]:
        from scipy.special import ndtri

        centre = float(ndtri(self.quantile))
        return ratio * (self.low - self.shift) + centre, ratio * (self.high - self.shift) + centre

    def _mean(self, ratio: float, of: Callable[[Array], Array]) -> float:
        """Of a function of the score, between the ends."""
        nodes, weights = _gauss_nodes()
        below, above = self._ends(ratio)
        places = below + (above - below) * (nodes + 1.0) / 2.0
        scores = np.clip(self.low + (self.high - self.low) * (nodes + 1.0) / 2.0, -1.0, 1.0)
        density = np.exp(-0.5 * places * places) / math.sqrt(2.0 * math.pi)
        return float(np.sum(weights * density * of(scores)) * (above - below) / 2.0)


HUBER = ResidualScore()


def quantile_score(quantile: float) -> ResidualScore:
    """The check loss of a quantile, smoothed over a width h either side: k is 2 max(quantile, 1 - quantile) h.

    Convolution with a uniform kernel (Fernandes, Guerre and Horta 2021; He et al. 2023): the score is quantile - 1 far below 0,
    quantile far above, straight between, over the larger of both.
    """
    most = max(quantile, 1.0 - quantile)
    return ResidualScore(
        name="quantile",
        shift=(quantile - 0.5) / most,
        low=-(1.0 - quantile) / most,
        high=quantile / most,
        quantile=quantile,
    )


def is_tail(score: RobustScore) -> bool:
    """Whether it is that of a quantile away from the middle."""
    return score.name == "quantile" and abs(score.quantile - 0.5) > 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class BisquareScore:
    """Tukey's: u (1 - u^2)^2 for u = r/k within -1 and 1, and 0 beyond, over its largest value, which it has at 1/sqrt(5).

    It falls again beyond that, so it counts wild rows less the wilder they are; steps come to it from Huber's fit.
    """

    name: str = "bisquare"
    quantile: float = 0.5

    def at(self, position: Array, threshold: float) -> Scores:
        """At a released position and threshold."""
        return bisquare_scores(position, threshold)

    def of(self, residuals: Array, threshold: float) -> Array:
        """Of residuals, without rounding."""
        u = np.clip(residuals / threshold, -1.0, 1.0)
        return np.asarray(PEAK * u * (1.0 - u * u) ** 2)

    def slopes_of(self, residuals: Array, threshold: float) -> Array:
        """How fast it grows with a residual; below 0 beyond its largest value."""
        u = np.clip(residuals / threshold, -1.0, 1.0)
        return np.asarray(PEAK * (1.0 - u * u) * (1.0 - 5.0 * u * u) / threshold)

    def share_near(self, ratio: float) -> float:
        """The mean of nearness, sqrt(1 - s^2) where the score grows."""
        return self._mean(ratio, lambda u: np.sqrt(np.maximum(1.0 - self.of(u, 1.0) ** 2, 0.0)), 0.2**0.5)

    def ratio_of_share(self, share: float) -> float:
        """The ratio at which that is the share near."""
        ratios, shares = _shares_of(self)
        return float(np.interp(share, shares, ratios))

    def inside(self, ratio: float) -> float:
        """The mean slope, in units of 1 over the threshold."""
        return self._mean(ratio, lambda u: self.slopes_of(u, 1.0), 1.0)

    def mean_square(self, ratio: float) -> float:
        """The mean of s^2."""
        return self._mean(ratio, lambda u: self.of(u, 1.0) ** 2, 1.0)

    def _mean(self, ratio: float, of: Callable[[Array], Array], end: float) -> float:
        """Of a function of u up to an end, for normal residuals."""
        nodes, weights = np.polynomial.legendre.leggauss(96)
        reach = min(end, 9.0 / ratio)
        u = reach * nodes
        density = ratio * np.exp(-0.5 * (ratio * u) ** 2) / math.sqrt(2.0 * math.pi)
        return float(np.sum(weights * density * of(u)) * reach)


BISQUARE = BisquareScore()
RobustScore = ResidualScore | BisquareScore


@cache
def _shares_of(score: RobustScore) -> tuple[Array, Array]:
    """Ratios and shares near, as long as these grow."""
    ratios = np.geomspace(1e-3, 1e2, 400)
    shares = np.array([score.share_near(float(ratio)) for ratio in ratios])
    top = int(np.argmax(shares)) + 1
    return ratios[:top], np.maximum.accumulate(shares[:top])


Law = Callable[[float], tuple[Array, Array]]
"""Targets and their probabilities, at a predictor."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkScore:
    """clip((y - middle) / width, -1, 1), by predictors eta from `low` on, `per` a unit; beyond the ends it is as there.

    At every eta the mean of the score is 0 under the family's law, whose mean slope -ds/deta and mean square are `slopes` and
    `squares`; `nears` are means of sqrt(1 - s^2), for families whose `dispersion` is found by them. So any weights of rows that
    depend on features and released values alone leave the truth a root.
    """

    name: str
    low: float
    per: float
    middles: Array = field(repr=False)
    widths: Array = field(repr=False)
    slopes: Array = field(repr=False)
    squares: Array = field(repr=False)
    law: Law = field(repr=False)
    nears: Array | None = field(default=None, repr=False)
    dispersion: float = 1.0

    def at(self, position: Array, threshold: float = 1.0) -> Scores:
        """At a released position."""
        parts = self.slopes / self.steepest
        return tabled_scores(position, low=self.low, per=self.per, middles=self.middles, widths=self.widths, slopes=parts)

    @property
    def steepest(self) -> float:
        """The largest mean slope."""
        return float(np.max(self.slopes))

    def looked_up(self, values: Array, predictors: Array) -> Array:
        """What one of the lists says at predictors."""
        return np.interp((predictors - self.low) * self.per, np.arange(values.size, dtype=np.float64), values)


def _logistic_law(predictor: float) -> tuple[Array, Array]:
    yes = 1.0 / (1.0 + math.exp(-predictor)) if predictor > 0.0 else math.exp(predictor) / (1.0 + math.exp(predictor))
    return np.array([0.0, 1.0]), np.array([1.0 - yes, yes])


@cache
def logistic() -> LinkScore:
    """s = (y - p) / max(p, 1 - p): near p = 1/2 twice as steep as y - p, within the same bound.

    The mean of s^2 is min(p, 1 - p) / max(p, 1 - p), the mean slope min(p, 1 - p). It falls as the predictor grows.
    """
    low, per = -32.0, 64.0
    odds = np.exp(-np.abs(np.arange(2.0 * -low * per + 1.0) / per + low))
    less, more = odds / (1.0 + odds), 1.0 / (1.0 + odds)
    yes = np.where(np.arange(odds.size) < odds.size // 2, less, more)
    return LinkScore(name="logistic", low=low, per=per, middles=yes, widths=more, slopes=less, squares=odds, law=_logistic_law)


CUT = 2.0
"""Counts further from their mean than this number of standard deviations count as if they were at that distance."""
_ABOVE = 1.5
"""Beyond so much above the middle, on the logarithm, counts weigh as proportions: the slope grows no more."""


@cache
def poisson(dispersion: float = 1.0, middle: float = 0.0) -> LinkScore:
    """s = clip((y - m)/h, -1, 1) with the log-mean as predictor, h of `CUT` standard deviations and at least 1, and m next to
    the mean, so that the mean of s is 0 under a law of this dispersion. Above the `middle` of predictors h grows as the mean.
    """
    low, per, coarse = -12.0, 64.0, 16.0
    places = np.arange(36.0 * coarse + 1.0) / coarse + low
    widths = _count_widths(places, dispersion, middle)
    found = np.array(
        [_count_moments(*count_law(eta, dispersion), math.exp(eta), h) for eta, h in zip(places, widths, strict=True)]
    )
    fine = np.arange(36.0 * per + 1.0) / per + low
    parts, squares, nears = (np.interp(fine, places, column) for column in found.T)
    means, h = np.exp(fine), _count_widths(fine, dispersion, middle)
    middles = means * parts
    centred = np.array([_count_slope(eta, dispersion, middle, fine, middles) for eta in places])
    slopes = np.maximum(np.interp(fine, places, centred), 0.0)
    return LinkScore(
        name="poisson", low=low, per=per, middles=middles, widths=h, slopes=slopes, squares=squares, nears=nears,
        dispersion=dispersion, law=partial(count_law, dispersion=dispersion),
    )  # fmt: skip


def _count_widths(predictors: Array, dispersion: float, middle: float) -> Array:
    top = math.exp(middle + _ABOVE)
    means = np.exp(predictors)
    return np.asarray(np.maximum(CUT * np.sqrt(dispersion * means) * np.sqrt(np.maximum(means / top, 1.0)), 1.0))


def _count_moments(targets: Array, shares: Array, mean: float, width: float) -> tuple[float, float, float]:
    """The target of score 0 over the mean, the mean square of the score, and of nearness."""
    low, high, centre = 0.0, 2.0 * mean, mean
    for _ in range(60):
        scores = np.clip((targets - centre) / width, -1.0, 1.0)
        off, slope = float(shares @ scores), float(shares @ (np.abs(scores) < 1.0)) / width
        if abs(off) < 1e-15:
            break
        low, high = (centre, high) if off > 0.0 else (low, centre)
        step = centre + off / slope if slope > 0.0 else math.inf  # Newton's: between its bends the mean is a line
        centre = step if low < step < high else (low + high) / 2.0
    scores = np.clip((targets - centre) / width, -1.0, 1.0)
    return centre / mean, float(shares @ scores**2), float(shares @ np.sqrt(1.0 - scores**2))


def _count_slope(predictor: float, dispersion: float, middle: float, fine: Array, middles: Array) -> float:
    """-d mean(s) / d eta, for the law at the predictor."""
    targets, shares = count_law(predictor, dispersion)
    ends = np.clip(np.array([predictor - 0.02, predictor + 0.02]), fine[0], fine[-1])
    centres, widths = np.interp(ends, fine, middles), _count_widths(ends, dispersion, middle)
    means = [float(shares @ np.clip((targets - m) / h, -1.0, 1.0)) for m, h in zip(centres, widths, strict=True)]
    return (means[0] - means[1]) / max(float(ends[1] - ends[0]), 1e-12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An algorithm's own part: its score, what its target is, and what is believed before anything is released.

    Predictors of a family with a link spread by about `spread`, and `needs` times the rows of `irls` are needed.
    """

    name: str
    target: Literal["number", "yes or no", "count", "class"] = "number"
    residuals: RobustScore = HUBER
    link: Callable[[], LinkScore] | None = None
    spread: float = 1.0
    needs: float = 1.0


ROBUST = Family(name="irls")
QUANTILE = Family(name="quantile-regression", residuals=quantile_score(0.5))
LOGISTIC = Family(name="logistic", target="yes or no", link=logistic, spread=1.2, needs=1.5)
MULTINOMIAL = Family(name="multinomial", target="class", link=logistic, spread=1.2, needs=1.5)
POISSON = Family(name="poisson", target="count", link=poisson, needs=1.5)
FAMILIES: tuple[Family, ...] = (ROBUST, LOGISTIC, MULTINOMIAL, POISSON, QUANTILE)


def share_near(ratio: float) -> float:
    """The mean of sqrt(1 - (r/k)^2) where |r| < k, for a normal r with k / sd = ratio; it grows from 0 to 1.

    The integral of sqrt(1 - s^2) exp(-2 a s^2) over [-1, 1] is (pi/2) exp(-a) (I0(a) + I1(a)), here with a = ratio^2 / 4.
    """
    from scipy.special import ive

    quarter = ratio * ratio / 4.0
    return float(ratio * math.sqrt(math.pi / 8.0) * (ive(0, quarter) + ive(1, quarter)))


def ratio_of_share(share: float) -> float:
    """The inverse of `share_near` between 1e-3 and 1e2: two steps of Newton's from a table."""
    ratios, shares = _share_table()
    ratio = float(np.interp(share, shares, ratios))
    for _ in range(2):
        slope = (share_near(ratio * 1.001) - share_near(ratio)) / (0.001 * ratio)
        ratio = min(max(ratio + (share - share_near(ratio)) / max(slope, 1e-12), 0.9 * ratio), 1.1 * ratio)
    return min(max(ratio, 1e-3), 1e2)


@cache
def _gauss_nodes() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(96)
    return nodes, weights


@cache
def _share_table() -> tuple[Array, Array]:
    ratios = np.geomspace(1e-3, 1e2, 256)
    return ratios, np.array([share_near(float(ratio)) for ratio in ratios])


def mean_squared_score(threshold: float) -> float:
    """The mean of min(|r| / threshold, 1)^2 for a normal r of standard deviation 1."""
    from scipy.special import ndtr

    inside = 2.0 * float(ndtr(threshold)) - 1.0
    density = math.exp(-0.5 * min(threshold * threshold, 1400.0)) / math.sqrt(2.0 * math.pi)
    small = max(threshold, 1e-6)
    return min(1.0, (inside - 2.0 * threshold * density) / (small * small) + 1.0 - inside)
