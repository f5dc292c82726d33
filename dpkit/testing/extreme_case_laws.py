"""The laws of range: what holds at typical parameters and values holds at their ends, in long vectors, and in every release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpkit.auditing.betting.lower_bound import proportion_bounds
from dpkit.auditing.screening import EPSILONS, FALSE_ALARM
from dpkit.errors import DpkitError
from dpkit.privacy.claims import Claim
from dpkit.privacy.losses import GDP, ZCDP, Loss, PureDP
from dpkit.privacy.neighbours import Distance
from dpkit.testing.claim_laws import NEAR, audit_claims, grouped_claims, own_epsilons, profile_of
from dpkit.testing.mechanism_cases import Array, MechanismCase, MechanismSubject, built_or_none, ends_of, pairs_at, released
from dpkit.testing.run_laws import LawNotApplicable
from dpkit.testing.sampler_laws import rank_correlations, samples_gap

QUICKLY = 20_000
"""Draws on which an audit at one end decides: a factor of 1.2 in the noise is seen."""
MOST_ENDS = 10
STEPS = (7, 3_000, 3 * 10**6, 3 * 10**9)
"""Into how many steps a distance is divided."""
_NORMS = ("l1", "l2", "linf")
LONG = 100_000
AUDITED_LENGTH = 64
SPREAD = 16
"""Entries of a vector in which metrics differ: an L2 distance is a quarter of the L1 distance."""
WINDOW = 64
LARGE_INTEGERS = (2**31 - 1, -(2**31), 2**40)
LARGE = 1e12
LOOKED_AT, SINGLES, DECIDED_ON = 60_000, 20_000, 1_000_000
"""Draws that are looked through for the value itself, single releases, and draws that decide."""


def claims_hold_at_the_ends_of_parameters(case: MechanismCase) -> None:
    """With one parameter at an end of its range, or beyond the others, the claims survive a quick audit as elsewhere."""
    tried = 0
    for index, subject in enumerate(_at_ends(case)):
        try:
            at = case.distance(subject)
            if not at.value or not case.epsilon(subject.mechanism, at) <= 4.0:
                continue
            pairs = pairs_at(case, subject, at, case.claims(subject.mechanism, at)[0], most=6)
            for claims in grouped_claims(case, subject, at):
                audit_claims(case, subject, at, claims, salt=100 + index, pairs=pairs, deciding=QUICKLY)
        except (DpkitError, LawNotApplicable, OverflowError, IndexError):
            continue  # an end at which there is nothing to price
        tried += 1
    if not tried:
        raise LawNotApplicable("no parameter has an end at which a release costs between 0 and 4")


def _at_ends(case: MechanismCase) -> Iterator[MechanismSubject]:
    typical = case.subjects(1)[0].parameters
    count = 0
    for parameter in case.factory.parameters:
        for value in ends_of(parameter, typical):
            varied = {**typical, parameter.name: value}
            made = built_or_none(case.factory, varied)
            if made is not None and varied != typical and count < MOST_ENDS:
                count += 1
                yield MechanismSubject(parameters=varied, mechanism=made)


def claims_hold_for_large_values(case: MechanismCase) -> None:
    """Counts at 2**31 and sums at 10**12 are as private as zero, wherever the mechanism takes them."""
    if case.factory.values not in ("reals", "integers", "scores"):
        raise LawNotApplicable("the values are not numbers of any size")
    for index, subject in enumerate(case.subjects(2)[:2]):
        at = case.distance(subject)
        for claims in grouped_claims(case, subject, at) if at.value else ():
            near = pairs_at(case, subject, at, claims[0], most=200)
            shape = case.factory.shapes[0]
            moves = [other - value for value, other in near if value.shape == shape and not value.any()][:2]
            pairs = [(base, base + move) for move in moves for base in _large(case, shape, at.value)]
            exact = [(one, other) for one, other in pairs if _keeps_distance(one, other, at.value)]
            if exact:
                audit_claims(case, subject, at, claims, salt=200 + index, pairs=exact, deciding=QUICKLY)


def claims_of_small_steps_add_up(case: MechanismCase) -> None:
    """Many small steps make a large one: what is claimed of a step holds, by group privacy, for all of them together.

    So no step is free, however small: a price that is rounded, or left out below some size, falls here.
    """
    if case.factory.values == "categories" or case.factory.metrics[0] not in _NORMS:
        raise LawNotApplicable("a value cannot be moved in small steps")
    for index, subject in enumerate(case.subjects(2)[:2]):
        at = case.distance(subject)
        if not at.value or not case.epsilon(subject.mechanism, at):
            continue
        for step, steps in _small_steps(case, at):
            claims = case.claims(subject.mechanism, step)
            for claim in claims:
                free = (profile := profile_of(claim.loss, case)) is not None and profile(0.0) == 0.0
                assert not free, f"a release at {step} costs nothing, with parameters {subject.parameters}"
            groups = [replace(claim, loss=loss) for claim in claims if (loss := _of_group(claim.loss, steps)) is not None]
            for claim in groups if _says_more(case, groups, case.claims(subject.mechanism, at)) else ():
                pairs = pairs_at(case, subject, at, claim, most=4)
                audit_claims(case, subject, at, [claim], salt=300 + index, pairs=pairs, deciding=QUICKLY)


def _small_steps(case: MechanismCase, at: Distance) -> Iterator[tuple[Distance, int]]:
    """Steps that add up to a distance or more, and how many of them do."""
    for steps in STEPS:
        size = at.value / steps * (1.0 + 1e-12)
        if case.factory.values == "integers":
            size = float(math.ceil(at.value / min(steps, at.value)))
            steps = math.ceil(at.value / size)
        yield Distance(metric=at.metric, value=size), steps


def _of_group(loss: Loss, steps: int) -> Loss | None:
    """What this loss of one step makes of several, where a theorem is as short as that."""
    up = 1.0 + 1e-9
    if isinstance(loss, PureDP):
        return PureDP(epsilon=loss.epsilon * steps * up)
    if isinstance(loss, GDP):
        return GDP(mu=loss.mu * steps * up)
    if isinstance(loss, ZCDP) and not loss.delta:
        return ZCDP(rho=loss.rho * float(steps) ** 2 * up)  # BS16, Proposition 1.9
    return None


def _says_more(case: MechanismCase, groups: list[Claim], claims: list[Claim]) -> bool:
    """Whether the steps claim less loss than the whole does, which has been tried already."""
    profiles = [[profile_of(claim.loss, case) for claim in some] for some in (groups, claims)]
    read = (*EPSILONS, *own_epsilons(groups))
    one, other = ([[found(epsilon) for found in some if found] for epsilon in read] for some in profiles)
    return any(min(these, default=1.0) < 0.99 * min(those, default=1.0) - 1e-9 for these, those in zip(one, other, strict=True))


def claims_hold_for_near_neighbours(case: MechanismCase) -> None:
    """Where a release costs a few hundredths, high orders of a curve and tails decide; many draws see what they say."""
    for index, subject in enumerate(case.subjects(1)[:2]):
        at = case.distance(subject, target=NEAR)
        for claims in grouped_claims(case, subject, at) if at.value and case.factory.values != "integers" else ():
            if any(not isinstance(claim.loss, PureDP | GDP) for claim in claims):  # of those, the audits elsewhere see as much
                pairs = pairs_at(case, subject, at, claims[0], most=1)
                audit_claims(
                    case,
                    subject,
                    at,
                    claims,
                    salt=400 + index,
                    pairs=pairs,
                    epsilons=[share * NEAR for share in (0.5, 1.0, 1.1, 1.5, 2.0)],
                    choosing=LOOKED_AT,
                    deciding=DECIDED_ON,
                    chosen=1,
                )


def claims_hold_in_every_metric(case: MechanismCase) -> None:
    """A mechanism that takes its distance in several metrics keeps its claims in each, in vectors too."""
    others = [metric for metric in case.factory.metrics[1:] if metric in _NORMS]
    if not others or case.factory.values not in ("reals", "integers", "scores"):
        raise LawNotApplicable("it takes its distance in one metric only")
    if not any(len(shape) == 1 for shape in case.factory.shapes):
        raise LawNotApplicable("the mechanism takes no vectors")
    for index, subject in enumerate(case.subjects(1)[:1]):
        for metric in others:
            at = case.distance(subject, metric=metric)
            for claims in grouped_claims(case, subject, at) if at.value else ():
                audit_claims(case, subject, at, claims, salt=500 + index, pairs=_spread(case, at), chosen=1)


def _spread(case: MechanismCase, at: Distance) -> list[tuple[Array, Array]]:
    """Vectors at this distance that differ in all entries, by as much as that allows, and in one."""
    whole = case.factory.values == "integers"
    base = np.zeros(SPREAD, dtype=np.int64 if whole else np.float64)
    share = {"l1": 1.0 / SPREAD, "l2": 1.0 / math.sqrt(SPREAD), "linf": 1.0}[at.metric] * at.value * (1.0 - 1e-12)
    moves = [np.full(SPREAD, math.floor(share) if whole else share), np.zeros(SPREAD)]
    moves[1][0] = math.floor(at.value) if whole else at.value
    return [(base, base + move.astype(base.dtype)) for move in moves if move.any()]


def _large(case: MechanismCase, shape: tuple[int, ...], size: float) -> list[Array]:
    if case.factory.values == "integers":
        return [np.full(shape, number, dtype=np.int64) for number in LARGE_INTEGERS]
    unit = 2.0 ** math.floor(math.log2(size))
    numbers = [sign * min(LARGE, unit * 2.0**44) for sign in (1.0, -1.0)]
    return [np.full(shape, math.floor(number / unit) * unit) for number in numbers]


def _keeps_distance(one: Array, other: Array, size: float) -> bool:
    """Whether floats at this size can be moved by the distance and no more."""
    return 0.9 * size <= float(np.max(np.abs(np.subtract(other, one, dtype=np.float64)), initial=0.0)) <= size * (1.0 + 1e-6)


def long_vectors_have_fresh_noise(case: MechanismCase) -> None:
    """In one long vector no noise is used twice, forwards, with another sign or in another order; and none is weaker later."""
    if case.factory.values not in ("reals", "integers") or not any(len(shape) == 1 for shape in case.factory.shapes):
        raise LawNotApplicable("the mechanism takes no vectors of numbers")
    for index, subject in enumerate(case.subjects(1)[:2]):
        value = np.zeros(LONG, dtype=np.int64 if case.factory.values == "integers" else np.float64)
        try:
            output = np.asarray(subject.mechanism.release(value, case.rng(61, index)))
        except ValueError:
            raise LawNotApplicable("the mechanism takes no long vectors") from None
        if output.shape != value.shape:
            raise LawNotApplicable("the output is no vector of the same length")
        noise = output.astype(np.float64)
        assert np.ptp(noise) > 0.0, "all entries of a long vector get the same noise"
        gap, limit = samples_gap(noise[: LONG // 2], noise[LONG // 2 :])
        assert gap <= limit, f"the noise of later entries of a long vector follows another law: {gap:.4f}, chance {limit:.4f}"
        correlations = rank_correlations(noise, case.rng(62, index))
        lag = int(np.argmax(np.abs(correlations)))
        # correlation of ranks: deviation 1/sqrt(n), and beyond 8 deviations practically never
        assert abs(correlations[lag]) < 8.0 / math.sqrt(LONG), f"entries {lag + 1} apart of a long vector share their noise"
        assert not _repeats(np.abs(noise)), "a stretch of noise occurs twice in one long vector"
        alone = np.abs(np.concatenate([_entry(subject, value[:1], case.rng(63, index))]))
        distinct, usual = len(np.unique(np.abs(noise))), len(np.unique(alone))
        fresh = usual < LONG // 10 or distinct > 0.97 * usual
        assert fresh, f"of {LONG} entries of a long vector {LONG - distinct} have noise that others have"


def _entry(subject: MechanismSubject, value: Array, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return released(subject.mechanism, value, LONG, rng).reshape(LONG).astype(np.float64)


def _repeats(noise: npt.NDArray[np.float64]) -> bool:
    """Whether a run of entries of this length occurs again elsewhere; rows of few different values may, by chance."""
    starts = np.arange(0, len(noise) - WINDOW, 1)
    ranks = np.unique(noise, return_inverse=True)[1].astype(np.float64)
    weights = np.random.default_rng(5).random(WINDOW)
    keys = np.convolve(ranks, weights[::-1], mode="valid")[: len(starts)]
    order = np.argsort(keys)
    near = np.flatnonzero(np.diff(keys[order]) <= 1e-9 * np.abs(keys[order][1:]))
    for place in near[:2_000]:
        one, other = (ranks[starts[order[place + k]] :][:WINDOW] for k in (0, 1))
        if np.array_equal(one, other) and len(np.unique(one)) >= 8:
            return True
    return False


def claims_hold_in_long_vectors(case: MechanismCase) -> None:
    """A change in one entry of a vector longer than the usual ones is as hard to see as the claims say."""
    if case.factory.values not in ("reals", "integers", "scores") or not any(len(shape) == 1 for shape in case.factory.shapes):
        raise LawNotApplicable("the mechanism takes no vectors of numbers")
    subject = case.subjects(1)[0]
    at = case.distance(subject)
    base = np.zeros(AUDITED_LENGTH, dtype=np.int64 if case.factory.values == "integers" else np.float64)
    pairs = []
    for place in (0, AUDITED_LENGTH - 1):
        other = base.copy()
        other[place] = at.value
        pairs.append((base, other))
    if at.metric not in ("l1", "l2", "linf") or not at.value:
        raise LawNotApplicable("the kit knows no vectors at a distance in this metric")
    if at.metric == "linf" and case.factory.values != "scores":  # all but one entry the one way, that one the other way
        other = np.full(AUDITED_LENGTH, at.value).astype(base.dtype)
        other[-1] = -at.value
        pairs += [(base, other), (base, -other)]
    for claims in grouped_claims(case, subject, at):
        audit_claims(case, subject, at, claims, salt=300, pairs=pairs, deciding=QUICKLY, chosen=2)


def no_release_is_the_value_itself(case: MechanismCase) -> None:
    """The value comes out exactly no more often than claims allow: not even in one release of some thousands."""
    if case.factory.values not in ("reals", "symmetric"):
        raise LawNotApplicable("the outputs are whole numbers, which often are the value")
    for index, subject in enumerate(case.subjects(1)[:2]):
        at = case.distance(subject, target=0.5)
        shape = min(case.factory.shapes, key=math.prod)
        value = np.full(shape, at.value / 3.0 if at.value else 1.0 / 3.0)
        try:
            ties = _ties(released(subject.mechanism, value, LOOKED_AT, case.rng(71, index)), value)
            singles = np.stack([_single(subject, value, rng) for rng in [case.rng(72, index)] for _ in range(SINGLES)])
        except ValueError:
            continue  # a value that this mechanism does not take
        counts = np.unique(singles[~_tied(singles, value)].reshape(-1), return_counts=True)[1]
        raw = _ties(singles, value)
        assert ties or raw < max(4, 3 * counts.max(initial=1)), (
            f"{raw} of {SINGLES} single releases are the value itself to the last bit; no other output comes nearly as often"
        )
        if ties >= 3:
            for claims in grouped_claims(case, subject, at) if at.value else ():
                _decide_on_ties(case, subject, value, value + _moved(case, shape, at.value), [c.loss for c in claims], index)


def _moved(case: MechanismCase, shape: tuple[int, ...], size: float) -> Array:
    move = np.zeros(shape)
    move[(-1,) * len(shape)] = size
    return move


def _single(subject: MechanismSubject, value: Array, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return np.asarray(subject.mechanism.release(value, rng), dtype=np.float64)


def _tied(outputs: Array, value: Array) -> npt.NDArray[np.bool_]:
    if outputs.shape[1:] != value.shape:
        return np.zeros(len(outputs), dtype=np.bool_)
    return np.asarray((outputs == value).reshape(len(outputs), -1).all(axis=1))


def _ties(outputs: Array, value: Array) -> int:
    return int(np.sum(_tied(outputs, value)))


def _decide_on_ties(
    case: MechanismCase, subject: MechanismSubject, value: Array, other: Array, losses: list[object], salt: int
) -> None:
    hits = [
        _ties(released(subject.mechanism, x, DECIDED_ON, case.rng(73, salt, k)), value) for k, x in enumerate((value, other))
    ]
    low, high = (proportion_bounds(count, DECIDED_ON, alpha=FALSE_ALARM)[side] for side, count in enumerate(hits))
    for loss in losses:
        profile = profile_of(loss, case)  # type: ignore[arg-type]
        for epsilon in (0.0, 0.5, 1.0, 2.0) if profile is not None else ():
            assert low <= math.exp(epsilon) * high + profile(epsilon), (  # type: ignore[misc]
                f"the value itself comes out with probability {low:.2g} at least, and at most {high:.2g} for a neighbour: "
                f"{loss} allows less, with parameters {subject.parameters}"
            )
