"""What the steps of `irls` are for, one after the other: from public facts, or a number of rows that was released."""

from __future__ import annotations

import math

from dpkit.authoring import dataclass
from dpkit_irls.bounded.step_query import Carried
from dpkit_irls.bounded.tuning import ABUNDANT, Tuning


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What each step carries. From step `fixed_from` on, threshold and frame stay; the frame is renewed after the steps
    `renewed`; step `probe` looks for ties. A redescending score is used from step `redescends_from` on, with the threshold
    `redescended`; that of a quantile away from the middle from step `tail_from` on.
    `threshold`, `near` and `far` are in scales and in median lengths. With `fresh` steps each stands for itself: what earlier
    ones told hardly counts, as in Newton's method.
    """

    carried: tuple[Carried, ...]
    fixed_from: int
    renewed: tuple[int, ...]
    probe: int
    threshold: float
    near: float
    far: float
    amplified: float
    few: bool
    redescends_from: int
    redescended: float
    tail_from: int
    fresh: bool = False


def schedule_for(
    plenty: float,
    iterations: int,
    tuning: Tuning,
    *,
    linked: bool = False,
    fresh: bool = False,
    dispersed: bool = False,
) -> Schedule:
    """For a number of rows, as a multiple of those that are needed. `linked`: the family has a link, and no ties; `fresh` where
    steps may be, if rows tell enough; `dispersed`: there is a dispersion, which steps that carry a scatter tell.
    """
    grown = min(max(math.log(plenty / 2.0) / math.log(6.0), 0.0), 1.0) if plenty > 0.0 else 0.0
    near = tuning.radius * (tuning.radius_most / tuning.radius) ** grown
    threshold = tuning.threshold * (tuning.threshold_most / tuning.threshold) ** grown
    few = plenty <= tuning.many
    early = _early(iterations, tuning)
    if few:
        late = iterations // 3 if plenty > tuning.few_curved and not linked else iterations
        carried = [Carried.CURVATURE if turn >= late and turn % 2 else Carried.SCATTER for turn in range(iterations)]
        every = range(tuning.gather - 1, iterations, tuning.gather)
        renewed = tuple(turn for turn in every if turn < tuning.until * iterations)
    else:
        carried = [Carried.CURVATURE if turn % 2 else Carried.SCATTER for turn in range(early)]
        carried += [Carried.MIDDLE if turn % 3 == 1 else Carried.CURVATURE for turn in range(iterations - early)]
        renewed = tuple(sorted({min(tuning.gather, early) - 1, early - 1}))
    fresh = fresh and plenty > tuning.ready
    if fresh or (linked and plenty > ABUNDANT):
        renewed = ()
    if fresh:
        carried = [Carried.CURVATURE] * iterations
        carried[-2:-1] = [Carried.MIDDLE] * (iterations > 2)
        if dispersed:
            carried[2:3] = [Carried.SCATTER] * (iterations > 2)
    if linked:
        carried = [Carried.WEIGHTED if each is Carried.CURVATURE else each for each in carried]
    return Schedule(
        carried=tuple(carried),
        fixed_from=iterations if few else early,
        renewed=renewed,
        probe=tuning.few_probe if few else min(tuning.probe, early - 1) or -1,
        threshold=threshold,
        near=near,
        far=tuning.cap * max(1.0, near),
        amplified=tuning.few_amplified if few else tuning.many_amplified,
        few=few,
        redescends_from=iterations // 2 if few else early,
        tail_from=min(tuning.few_probe + 2, iterations // 2) if few else early // 2,
        fresh=fresh,
        redescended=tuning.redescend * (tuning.redescend_most / tuning.redescend) ** grown,
    )


def step_shares(plenty: float, iterations: int, tuning: Tuning, *, fresh: bool = False) -> tuple[float, ...]:
    """How the steps divide their budget; the sum is 1. From public facts alone. Of fresh steps the last ones count."""
    early = _early(iterations, tuning)
    if fresh:
        weights = [2.0 ** -min(iterations - 1 - turn, 4) for turn in range(iterations)]
    elif plenty <= tuning.many:
        weights = [tuning.growth**turn for turn in range(iterations)]
    elif early < iterations:
        weights = [tuning.early_share / early] * early
        weights += [(1.0 - tuning.early_share) / (iterations - early)] * (iterations - early)
    else:
        weights = [1.0] * iterations
    whole = math.fsum(weights)
    return tuple(weight / whole for weight in weights)


def _early(iterations: int, tuning: Tuning) -> int:
    return max(1, round(tuning.early * iterations))
