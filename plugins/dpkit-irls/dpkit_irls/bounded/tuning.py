"""Constants of `irls`: how the budget is divided, and how released values are used. How they were found: the docs.

Shares are public and fixed before the run; the rest is post-processing. Neither can touch the guarantee.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpkit.authoring import dataclass
from dpkit_irls.bounded.histograms import UnitPrior
from dpkit_irls.loss import Family, is_tail

_PRIOR = UnitPrior()


def needed(width: int) -> float:
    """About how many rows are needed for this number of coefficients at (0.9, 1e-6) under replace-one, where mu is 0.2146."""
    return 130.0 + 60.0 * width


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Relative shares of mu^2. What a fit does not release costs nothing: `rows` is released where their number is not public,
    `units` of numbers unless the bounds are taken, `places` with an intercept, `levels` with categories.
    """

    rows: float = 0.02
    units: float = 0.045
    targets: float = 0.03
    places: float = 0.06
    levels: float = 0.05
    scatter: float = 0.08
    lengths: float = 0.02
    steps: float = 0.7

    def weight(self, kind: str, width: int) -> float:
        """Narrow regressions need few rows, among which a histogram of the same noise would see nothing: there it gets more."""
        alone = max(1.0, (needed(10) / needed(width)) ** 2) if kind in ("lengths", "targets") else 1.0
        return alone * float(getattr(self, kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What is done with few rows (up to `many` times the need) and with many.

    Steps: with few rows all carry a scatter, every other late one a curvature above `few_curved` times the need, and their
    shares grow by `growth`. With many, a part `early` of them finds the
    scale with `early_share` of the budget; the threshold and the frame are then fixed, and the variance of the position is
    multiplied by `forget`, so that the rest estimates one thing. Every `gather` steps, up to a part `until`, frames change.

    Estimand: the threshold over the scale of residuals grows from `threshold` to `threshold_most` (of Tukey's score from
    `redescend` to `redescend_most`), the radius of rows with full
    weight over the median length from `radius` to `radius_most`, as the rows grow from 2 to 12 times the need; rows beyond
    `cap` radii (or lengths) are weighted down.

    Filter: `inflation` is added to the variance each step (its model is not exact); `trust` bounds a step, in scales,
    `turning` a step back by that much of the one before; a gradient `surprise` times what was expected widens the variance; a
    curvature is at least `least_of_scatter` of all rows'.

    Shapes: `floor` bounds eigenvalues by that much of the noise, `least` by that much of the mean; whitening lengthens a
    coordinate at most `few_amplified` or `many_amplified` times; with few rows the scatter that did it counts as if its noise
    were `first_scatter` times as large: after whitening it says that no direction is short; `overlap` is the curvature's share
    that scatters do not see.
    Rows of a rare level lie at most `apart` spreads from the others. An entry whose noise is a part `well_known` of its size or
    less is pulled towards what is expected by at most `pulled` standard deviations of its noise (Efron and Morris, 1972); of a
    curvature that is on the diagonal, and twice that.

    Ties: `atom` and `tie_share` are how far a share of small residuals may exceed the normal law's, in one probing step with a
    quarter of the threshold, and in `tie_steps` others.

    Places: the default place of a column has a start of `place_gain` nats; rows that the noise could hide at the far end are at
    most 1 / `hide` of their scale away; where bins hold a part `loud` of the rows, their mean is the centre; rows apart from an
    atom are at most 1 / `far` lengths away, or 1 / `hidden_far` where they are not seen.

    Targets: octaves are sure of how large they are from `surely_seen` standard deviations of the noise on; else an octave away
    from 1 costs `unseen_octave` nats.

    Beliefs: before the steps a level moves the target by `level_prior` spreads, a number over its length by `number_prior`,
    and one unit of any entry by `coefficient`; of what that pulls the length of a position down, a part `lengthen` is given
    back; across the range of a column the target moves by `range_prior` spreads, between levels by `level_range`.

    Evidence, with few rows: gradients at thresholds apart by a factor exp(`other_threshold`) count for less, and so do large
    ones, as the curvature bends by a part `bending`. A curvature that is half of what its shape says, along the signal or the
    slow direction, must be more likely by `doubted` nats to be believed. From step `correct_from` on it is looked for; a
    correction below `correct_least` scales is not made. For intervals its logarithm along those directions is about `along`,
    its centre lies `off_centre` spreads of the rows away from theirs, and entries differ by about a part `entries`; now and
    then by far more. From `many` times the needed rows on these parts become
    smaller, down to nothing at `ready` times.

    Errors: `draws` curvatures are drawn from what was released, `draw_width` times as wide; their eigenvalues fall freely by a
    part `cut`. With a link, where no step carried a curvature, its centre lies `tilt` spreads of the rows away from theirs.
    How far shapes lie from what is expected is known up to `unsure` standard errors, and sampling moves a shape of one row by
    `one_row`. Below `unseen` times the need units of columns may be wrong, and what is left of the start counts for more. For
    intervals the start is `start_wide` times as wide (a variance), and times the power `start_along` of how much wider it is
    along sums of columns that go together, `start_widest` times at most, and `believed_less` is the part that precisions of
    single columns count for; `start_found` times the square of what was found is added, or the start is as narrow as
    `start_trusted` times what was found says. Where no step with a link carried a
    curvature, it is what the scatter tells up to `bends`, and its diagonal up to `entries`. At
    `arrived` times the need or less (a little above in part), what is hidden may be all that is believed. Levels whose count is
    hidden, and whose shape is known up to a part `empty` or worse, have no rows in half of the draws. The variance is `wide`
    times what they give where the curvature is not doubted, plus `widen` over the rows' multiple of the need. A coefficient
    is hidden where a part `hidden` of its variance is what it started with, and a note tells intervals that doubts about the
    curvature make more than `wider` times as wide. Beside a column whose values are not told apart others may stand for what
    it does: by a part `stands_in` of the residuals' scale over their spread. A number of which nothing is seen may reach
    `unseen_wide` times less far than the noise could hide.

    Quantiles away from the middle: steps for them begin at the part `tail_jump` of the way to where normal residuals have them,
    because from within, where residuals are many, the way shows. Columns may move them `tail_slopes` times as much as the
    start's beliefs are per spread; a step may fall short by `tail_short` of itself. The share of residuals near is that of
    normal ones up to a part `near_believed`, and earlier steps tell it `near_fades` times as much, step by step.

    Links: curvatures and middles of earlier positions count `older` times as much, step by step. The curvature
    changes along a step: what counts is that in its middle, found in `middles` rounds, and a step is off by a part `bent` of
    the change. With few rows all steps are weighed again by the curvature of now, if that moves predictors by `again` at most.
    Where the noise hides how far a curvature of classes is from that of the law at normal rows, that is believed
    to be `off_law` at most, a variance in parts.
    """

    many: float = 5.0
    growth: float = 1.12
    early: float = 0.375
    early_share: float = 0.2
    forget: float = 10.0
    few_curved: float = 1.7
    gather: int = 3
    until: float = 0.6
    threshold: float = 0.45
    threshold_most: float = 1.345
    redescend: float = 3.0
    redescend_most: float = 4.685
    radius: float = 0.6
    radius_most: float = 2.0
    cap: float = 2.0
    inflation: float = 0.1
    trust: float = 3.0
    turning: float = 0.5
    surprise: float = 3.0
    least_of_scatter: float = 0.3
    floor: float = 0.4
    least: float = 0.02
    few_amplified: float = 8.0
    many_amplified: float = 1.25
    overlap: float = 1.05
    first_scatter: float = 10.0
    apart: float = 3.0
    pulled: float = 0.7
    well_known: float = 0.2
    probe: int = 3
    few_probe: int = 6
    atom: float = 0.15
    tie_share: float = 0.14
    tie_steps: int = 4
    number_prior: float = 1.0
    level_prior: float = 1.0
    coefficient: float = 2.0
    range_prior: float = 4.0
    level_range: float = 2.0
    place_gain: float = 10.0
    hide: float = 0.3
    loud: float = 0.8
    far: float = 0.8
    hidden_far: float = 0.4
    draws: int = 24
    draw_width: float = 1.2
    tilt: float = 0.65
    off_centre: float = 0.5
    along: float = 0.25
    entries: float = 0.12
    other_threshold: float = 0.25
    bending: float = 0.3
    doubted: float = 5.0
    ready: float = 10.0
    correct_from: int = 5
    correct_least: float = 0.02
    one_row: float = 1.0
    unseen: float = 1.2
    arrived: float = 0.5
    start_wide: float = 1.0
    start_along: float = 0.0
    start_widest: float = 1000.0
    believed_less: float = 0.0
    start_found: float = 1.0
    start_trusted: float = math.inf
    bends: float = 0.0
    empty: float = 0.4
    unsure: float = 1.0
    cut: float = 0.9
    least_curve: float = 0.02
    overshoot: float = 1.5
    wide: float = 1.08
    widen: float = 0.0
    hidden: float = 0.25
    wider: float = 1.15
    stands_in: float = 0.35
    unseen_wide: float = 5.0
    tail_jump: float = 0.7
    tail_slopes: float = 2.5
    tail_short: float = 1.0
    near_believed: float = 0.7
    near_fades: float = 0.8
    older: float = 0.6
    bent: float = 0.5
    middles: int = 4
    again: float = 0.5
    off_law: float = 0.002
    lengthen: float = 0.0
    octave: int = 3
    length_window: int = 3
    target_window: int = 4
    surely_seen: float = 3.5
    unseen_octave: float = 0.3
    units: UnitPrior = _PRIOR


SHARES = Shares()
TUNING = Tuning()
LINK_SHARES = Shares(units=0.02, targets=0.008, places=0.03, scatter=0.02, lengths=0.008)
"""For families with a link: the target needs no place and no scale, and rough places and units do."""
LINK_TUNING = Tuning(
    inflation=0.01,
    growth=1.0,
    widen=0.4,
    start_wide=1.4,
    start_along=7.0,
    believed_less=0.1,
    start_found=0.0,
    bends=0.03,
    entries=0.25,
    cut=0.15,
    first_scatter=1.0,
)
"""For families with a link, whose curvature follows from the law: all steps tell as much."""
ANSWER_TUNING = replace(LINK_TUNING, number_prior=0.6, lengthen=0.25)
"""For answers of yes and no: a start that pulls directions to zero, but not the length so found."""
COUNT_TUNING = replace(LINK_TUNING, widen=0.6, start_wide=6.0, bends=0.0, start_trusted=5.0)
"""For counts, whose curvature grows with the predictor without end."""


ABSOLUTE = replace(TUNING, threshold=0.35, threshold_most=0.25)
"""For absolute errors: Huber's score with a threshold of a quarter of a scale."""


def link_steps(rows: int | None, width: int, *, most: int = 16) -> int:
    """How many steps a family with a link makes, where that is not chosen: from the public number of rows.

    The curvature changes along the way, so with few rows many small steps lose less; with many rows few steps arrive (`most`
    where rows abound), and each costs a pass. Far below the need nothing helps.
    """
    plenty = 5.0 if rows is None else rows / needed(width)
    if plenty < 0.3:
        return 12
    return 30 if plenty < 20.0 else 16 if plenty < ABUNDANT else most


MOST_FRESH = 8
"""So many steps at most stand each for itself: of more, earlier ones need not be as good as forgotten."""
ABUNDANT = 200.0
"""From this multiple of the needed rows on, directions are known after one look, and frames need not be renewed."""


def _widen(family: Family) -> float:
    return 0.5 if is_tail(family.residuals) else TUNING.widen


def tuning_for(family: Family) -> Tuning:
    """The constants of a family. A quantile is smoothed the less the more rows there are, over 0.45 to 0.3 scales;
    far from the middle the scale is found more slowly, in more of the steps.
    """
    if family.link:
        return {"count": COUNT_TUNING, "yes or no": ANSWER_TUNING}.get(family.target, LINK_TUNING)
    if family.residuals.name == "quantile":
        wide = 2.0 * max(family.residuals.quantile, 1.0 - family.residuals.quantile)
        return replace(
            TUNING, threshold=0.45 * wide, threshold_most=0.3 * wide, early=0.6, early_share=0.3, widen=_widen(family)
        )
    return TUNING
