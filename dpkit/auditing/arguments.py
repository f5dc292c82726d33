"""What `audit` was asked to do, checked: which subjects, at which confidence, with which budget and seed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpkit.auditing.certificates.recipe import Recipe, encoded_distance, encoded_pairs, named_mechanism, written_recipe
from dpkit.auditing.falsifiers.registered import Falsifier, Stage, others, own
from dpkit.auditing.outputs import Sampler
from dpkit.auditing.search.pair_search import TRIES, PairGenerator, searched, worst_pair
from dpkit.auditing.search.pairs import Pair, pairs_at, registered_pairs, takes_any_number
from dpkit.auditing.subject import Subject
from dpkit.contracts.auditor import Auditor
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.privacy.checks import finite_number, whole_number
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Distance, Neighbours

_SEARCH_STREAM = 0x5EA2C4


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlan:
    """An audit before it starts."""

    target: str
    subjects: tuple[Subject, ...]
    confidence: float
    samples: int
    seed: int
    floating_point: bool
    falsifiers: tuple[str, ...] | None
    own: tuple[Falsifier, ...] = ()
    auditors: tuple[Auditor, ...] = ()
    recipe: str = ""

    def at(self, stage: Stage) -> tuple[Falsifier, ...]:
        """The falsifiers that take part at a stage, in the order of their registration."""
        return tuple(falsifier for falsifier in self.own if falsifier.stage == stage)


def planned(
    target: Sampler | Mechanism,
    claim: Loss | Claim | None,
    pair: Pair | None,
    confidence: float,
    samples: int,
    rng: np.random.Generator | int | None,
    *,
    at: Distance | None,
    neighbours: Neighbours,
    pairs: Sequence[Pair],
    density: WhiteBox | None,
    falsifiers: Sequence[str] | None,
    floating_point: bool | None,
    registry: Registry,
    name: str | None = None,
    checks: Sequence[str] | None = None,
    recipe: Recipe | None = None,
    search: PairGenerator | Iterable[Pair] | None = None,
    tries: int = TRIES,
) -> AuditPlan:
    """Check everything, before a sample is drawn."""
    level = finite_number(confidence, field="confidence", where="audit", minimum=0.0, below=1.0, strict=True)
    budget = whole_number(samples, field="samples", where="audit", minimum=2)
    known = [auditor.name for auditor in registry.auditors]
    for falsifier in falsifiers or ():
        if falsifier not in known:
            raise UnknownNameError(kind="falsifier", name=falsifier, known=known)
    given = tuple(pairs) if pair is None else (_checked_pair(pair), *pairs)
    tries = whole_number(tries, field="tries", where="audit", minimum=1)
    seed = seed_of(rng)
    looking = _Search(candidates=search, tries=tries, seed=np.random.SeedSequence([seed, _SEARCH_STREAM]))
    if isinstance(target, Mechanism):
        subjects = _of_mechanism(target, claim, given, at, neighbours, registry, looking)
        real = any("real arithmetic" in assumption for subject in subjects for assumption in subject.claim.assuming)
        rounding = not real if floating_point is None else floating_point
    elif callable(target):
        subjects = _of_function(target, claim, given, density, neighbours, looking)
        rounding = bool(floating_point)
    else:
        allowed = "a function fn(dataset, n, rng) or a mechanism"
        raise InvalidValueError(field="target", found=type(target).__name__, allowed=allowed, where="audit")
    chosen = tuple(one for one in registry.auditors if falsifiers is None or one.name in falsifiers)
    auditors = others(chosen)
    taking_part = tuple(
        one for one in own(chosen) if one.stage != "exact" or checks is None or one.name.replace(" ", "_") in checks
    )
    rounding = rounding and any(one.stage == "rounding" for one in taking_part)
    parts = {
        "target": _described(target, registry) if recipe is None else recipe,
        "claim": "own" if claim is None else "given",
        "pairs": encoded_pairs(list({id(subject.pair): subject.pair for subject in subjects}.values())),
        "at": encoded_distance(at),
        "density": None if density is None else named_mechanism(density, registry) or "unnamed",
        "falsifiers": None if falsifiers is None else list(falsifiers),
        "floating point": rounding,
        "checks": [one.name.replace(" ", "_") for one in taking_part if one.stage == "exact"],
        "auditors": [auditor.name for auditor in auditors],
    }
    return AuditPlan(
        target=name_of(target, at) if name is None else name,
        subjects=subjects,
        confidence=level,
        samples=budget,
        seed=seed,
        floating_point=rounding,
        falsifiers=None if falsifiers is None else tuple(falsifiers),
        own=taking_part,
        auditors=auditors,
        recipe=written_recipe(parts),
    )


def _described(target: object, registry: Registry) -> object:
    """How a replay finds the target again: by the registry, by its import path, or not at all."""
    if isinstance(target, Mechanism):
        return named_mechanism(target, registry)
    path = name_of(target, None)
    return {"function": path} if ":" in path and "<" not in path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """Where pairs are searched for, on a stream of random numbers that no campaign uses."""

    candidates: PairGenerator | Iterable[Pair] | None
    tries: int
    seed: np.random.SeedSequence

    def found(self, subject: Subject, at: Distance | None) -> tuple[Pair, ...]:
        """The worst of the candidates; none where there are no candidates."""
        if self.candidates is None:
            return ()
        worst = worst_pair(subject, self.candidates, seed=self.seed, tries=self.tries, at=at)
        return () if worst is None else (worst,)


def _of_function(
    fn: Sampler,
    claim: Loss | Claim | None,
    pairs: Sequence[Pair],
    density: WhiteBox | None,
    neighbours: Neighbours,
    looking: _Search,
) -> tuple[Subject, ...]:
    if claim is None or not (pairs or looking.candidates is not None):
        missing, allowed = (
            ("claim", "a loss such as PureDP(epsilon=1.0)") if claim is None else ("pair", "two neighbouring datasets")
        )
        raise InvalidValueError(field=missing, found=None, allowed=allowed, where="audit")
    stated = _as_claim(claim, neighbours)
    found = looking.found(Subject(sampler=fn, claim=stated, pair=(None, None), density=density), None)
    if not (pairs or found):
        raise InvalidValueError(field="search", found="no pair", allowed="at least one pair of datasets", where="audit")
    return tuple(Subject(sampler=fn, claim=stated, pair=pair, density=density) for pair in (*pairs, *found))


def _of_mechanism(
    mechanism: Mechanism,
    claim: Loss | Claim | None,
    pairs: Sequence[Pair],
    at: Distance | None,
    neighbours: Neighbours,
    registry: Registry,
    looking: _Search,
) -> tuple[Subject, ...]:
    if claim is None and at is None:
        raise InvalidValueError(field="at", found=None, allowed="a distance such as l1(1.0), or a claim", where="audit")
    if claim is not None:
        claims: tuple[Claim, ...] = (_as_claim(claim, neighbours),)
    else:
        assert at is not None
        claims = mechanism.claims(at)
    if not claims:
        raise InvalidValueError(field="target", found=mechanism, allowed="a mechanism that claims something", where="audit")

    def sampler(value: object, n: int, rng: np.random.Generator) -> np.typing.ArrayLike:
        return mechanism.release_many(value, n, rng)  # type: ignore[arg-type]

    density = mechanism if isinstance(mechanism, WhiteBox) else None
    judged = Subject(sampler=sampler, claim=claims[0], pair=(None, None), density=density, mechanism=mechanism, at=at)
    if looking.candidates is not None:
        pairs = (*pairs, *looking.found(judged, at))
    elif not pairs:
        pairs = _usual_pairs(mechanism, at, registry)
        if at is not None and takes_any_number(mechanism, at):
            pairs = (*pairs, *searched(judged, pairs, at, seed=looking.seed))
    return tuple(
        Subject(sampler=sampler, claim=one, pair=pair, density=density, mechanism=mechanism, at=at)
        for one in claims
        for pair in pairs
    )


def _usual_pairs(mechanism: Mechanism, at: Distance | None, registry: Registry) -> tuple[Pair, ...]:
    if at is None:
        raise InvalidValueError(field="pair", found=None, allowed="a pair of values, or a distance `at`", where="audit")
    hard = registered_pairs(mechanism, at, registry)
    try:
        return (*hard, *pairs_at(mechanism, at))
    except InvalidValueError:
        if not hard:
            raise
        return hard


def _as_claim(claim: Loss | Claim, neighbours: Neighbours) -> Claim:
    if isinstance(claim, Claim):
        return claim
    if not isinstance(claim, Loss):
        raise InvalidValueError(
            field="claim", found=claim, allowed="a loss such as PureDP(epsilon=1.0), or a Claim", where="audit"
        )
    because = Citation(key="caller", locator="stated in the call to audit")
    return Claim(loss=claim, neighbours=neighbours, because=because, assuming=("real arithmetic",), status="unproved")


def _checked_pair(pair: object) -> Pair:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidValueError(field="pair", found=type(pair).__name__, allowed="two datasets: (d1, d2)", where="audit")
    return pair[0], pair[1]


def seed_of(rng: np.random.Generator | int | None) -> int:
    """The seed that a certificate holds: as given, drawn from a generator, or drawn afresh."""
    if rng is None:
        return secrets.randbits(63)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    return whole_number(rng, field="rng", where="audit")


def name_of(target: object, at: Distance | None) -> str:
    """How a certificate calls the target: an import path where there is one, else what it says of itself."""
    if isinstance(target, Mechanism):
        return repr(target) if at is None else f"{target!r} at {at.metric}({at.value!r})"
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    return f"{module}:{name}" if module and name else f"a {type(target).__name__}"
