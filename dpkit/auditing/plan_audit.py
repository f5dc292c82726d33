"""An audit before it starts: what `audit` was asked to do, checked, and how its findings become certificates."""

from __future__ import annotations

import platform
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpkit._version import __version__
from dpkit.auditing.betting.campaign import GROWTH, Finding, Watch
from dpkit.auditing.certificates.certificate import Arithmetic, AuditCertificate, Witness
from dpkit.auditing.certificates.pins import installed_version, pins_of, place_of
from dpkit.auditing.certificates.recipe import Recipe, encode_distance, encode_pairs, named_mechanism, written_recipe
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import Sampler
from dpkit.auditing.falsifiers.builtin_falsifiers import Falsifier, Stage, others
from dpkit.auditing.relation import difference_of, stated_relation
from dpkit.auditing.search.pairs import (
    TRIES,
    Pair,
    PairGenerator,
    pairs_at,
    registered_pairs,
    search_extremes,
    takes_any_number,
    worst_pair,
)
from dpkit.auditing.search.search_time import SearchTime
from dpkit.auditing.targets.many_processes import ManyProcesses
from dpkit.auditing.targets.one_release import as_sampler
from dpkit.auditing.targets.programs import CommandTarget, HttpTarget
from dpkit.contracts.auditor import Auditor
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.privacy.checks import finite_number, whole_number
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

_SEARCH_STREAM = 0x5EA2C4
_NO_PAIR = (None, None)
_SHOWN = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlan:
    """An audit before it starts."""

    target: str
    subjects: tuple[ClaimAtPair, ...]
    confidence: float
    samples: int
    seed: int
    floating_point: bool
    falsifiers: tuple[str, ...] | None
    own: tuple[Falsifier, ...] = ()
    auditors: tuple[Auditor, ...] = ()
    recipe: str = ""
    timeout: float | None = None
    pilots: int = 0
    """Samples that were drawn to find the pairs."""
    stop: int | None = None
    """Samples of a campaign after which to end though the budget is larger: those of a run that time ended."""
    growth: int = GROWTH

    def at(self, stage: Stage) -> tuple[Falsifier, ...]:
        """The falsifiers that take part at a stage, in the order of their registration."""
        return tuple(falsifier for falsifier in self.own if falsifier.stage == stage)

    def certify(
        self, subject: ClaimAtPair, found: Finding, *, hypothesis: Arithmetic, level: float, pilots: int = 0
    ) -> AuditCertificate:
        """The certificate of one hypothesis, with the samples drawn before it by which it was made ready."""
        drawn = pilots + self.pilots if found.samples else 0
        bound, event = found.bound, found.event
        lower = found.exact_epsilon if bound is None else bound.epsilon
        witness = Witness(
            pair=(shown(subject.pair[0]), shown(subject.pair[1])),
            event="" if event is None else event.words,
            code="" if event is None else event.code,
            hits=None if bound is None else bound.hits,
            trials=0 if bound is None else bound.trials,
            output=found.output,
            forward=event is None or event.forward,
            encoding=found.encoding,
        )
        return AuditCertificate(
            target=self.target,
            claim=subject.claim,
            hypothesis=hypothesis,
            verdict=found.verdict,
            falsifier=found.falsifier,
            tried=found.tried or (found.falsifier,),
            epsilon_lower=lower,
            delta=subject.delta if bound is None else bound.delta,
            samples=found.samples + drawn,
            pilot_samples=drawn,
            relation=subject.relation,
            bound_samples=found.bound_samples,
            confidence=self.confidence,
            log_e_value=found.log_e,
            level=level,
            witness=witness,
            power=None if hypothesis == "declared law" else found.power,
            power_event=None if hypothesis == "declared law" else found.power_event,
            fresh_log_e_value=found.fresh_log_e,
            note=found.note,
            seed=self.seed,
            budget=self.samples,
            floating_point=self.floating_point,
            recipe=self.recipe,
            software=software(),
        )


def software() -> tuple[tuple[str, str], ...]:
    """What runs here, by name and version."""
    return (
        ("dpkit", __version__),
        ("numpy", np.__version__),
        ("scipy", installed_version("scipy")),
        ("python", platform.python_version()),
    )


def shown(dataset: object) -> str:
    """A dataset in a few words: an audit's datasets are made up, and still they are not copied at length."""
    text = repr(np.asarray(dataset).tolist()) if isinstance(dataset, np.ndarray | np.generic) else repr(dataset)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def plan_audit(
    target: Sampler | Mechanism,
    claim: Loss | Claim | None,
    pair: Pair | None,
    confidence: float,
    samples: int,
    rng: np.random.Generator | int | None,
    *,
    at: Distance | None,
    neighbours: Neighbours | None,
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
    timeout: float | None = None,
    unit: str | None = None,
    stop: int | None = None,
    growth: int = GROWTH,
    deadline: float | None = None,
    watch: Watch | None = None,
) -> AuditPlan:
    """Check everything, before a sample is drawn; then search pairs, within a share of the time until the deadline."""
    target = as_sampler(target)  # type: ignore[assignment]
    growth = whole_number(growth, field="growth", where="audit", minimum=1)
    level = finite_number(confidence, field="confidence", where="audit", minimum=0.0, below=1.0, strict=True)
    budget = whole_number(samples, field="samples", where="audit", minimum=2)
    known = [auditor.name for auditor in registry.auditors]
    for falsifier in falsifiers or ():
        if falsifier not in known:
            raise UnknownNameError(kind="falsifier", name=falsifier, known=known)
    given = tuple(pairs) if pair is None else (_checked_pair(pair), *pairs)
    limit = None if timeout is None else finite_number(timeout, field="timeout", where="audit", minimum=0.0, strict=True)
    tries = whole_number(tries, field="tries", where="audit", minimum=1)
    seed = seed_of(rng)
    stream = np.random.SeedSequence([seed, _SEARCH_STREAM])

    pilots = 0

    def find_worst(subject: ClaimAtPair) -> tuple[Pair, ...]:
        """The worst of the candidates, by random numbers that no campaign uses; nothing where there are no candidates."""

        def counted(dataset: object, n: int, stream: np.random.Generator) -> np.typing.ArrayLike:
            nonlocal pilots
            pilots += n
            if watch is not None:
                watch(pilots, 0.0)
            return subject.sampler(dataset, n, stream)

        looking = replace(subject, sampler=counted)
        worst = (
            None
            if search is None
            else worst_pair(looking, search, seed=stream, tries=tries, at=subject.at, clock=SearchTime.before(deadline))
        )
        return () if worst is None else (worst,)

    if isinstance(target, Mechanism):
        subject, claims = _of_mechanism(target, claim, at, neighbours)
        if search is None and not given:
            given = _usual_pairs(target, at, registry)
            if at is not None and takes_any_number(target, at):
                given = (*given, *search_extremes(subject, given, at, seed=stream, clock=SearchTime.before(deadline)))
        real = any("real arithmetic" in assumption for one in claims for assumption in one.assuming)
        rounding = not real if floating_point is None else floating_point
    elif callable(target):
        if claim is None or not (given or search is not None):
            allowed = "a loss such as PureDP(epsilon=1.0)" if claim is None else "two neighbouring datasets"
            raise InvalidValueError(field="claim" if claim is None else "pair", found=None, allowed=allowed, where="audit")
        claims = (_as_claim(claim, neighbours or Neighbours.ADD_REMOVE),)
        subject = ClaimAtPair(sampler=target, claim=claims[0], pair=_NO_PAIR, density=density)
        rounding = bool(floating_point)
    else:
        allowed = "a function fn(dataset, n, rng) or a mechanism"
        raise InvalidValueError(field="target", found=type(target).__name__, allowed=allowed, where="audit")
    tested = (*given, *find_worst(subject))
    if not tested:
        raise InvalidValueError(field="search", found="no pair", allowed="at least one pair of datasets", where="audit")
    made = isinstance(target, Mechanism)
    stated = claim.neighbours if isinstance(claim, Claim) else neighbours
    subjects = tuple(
        replace(subject, pair=each, claim=about, relation=words)
        for one in claims
        for each in tested
        for about, words in [_of_mechanism_at(one, at, each) if made else _related(one, each, stated, unit)]
    )
    chosen = tuple(one for one in registry.auditors if falsifiers is None or one.name in falsifiers)
    auditors = others(chosen)
    taking_part = tuple(
        one
        for one in chosen
        if isinstance(one, Falsifier) and (one.stage != "exact" or checks is None or one.name.replace(" ", "_") in checks)
    )
    rounding = rounding and any(one.stage == "rounding" for one in taking_part)
    parts = {
        "target": _described(target, registry) if recipe is None else recipe,
        "claim": "own" if claim is None else "whole" if isinstance(claim, Claim) else "given",
        "format": 2,
        "growth": growth,
        "neighbours": None if neighbours is None else neighbours.value,
        "unit": unit,
        "timed": deadline is not None,
        "processes": isinstance(target, ManyProcesses),
        "label": name,
        "pinned": pins_of(target),
        "place": place_of(target),
        "pairs": encode_pairs(list({id(subject.pair): subject.pair for subject in subjects}.values())),
        "at": encode_distance(at),
        "density": None if density is None else named_mechanism(density, registry) or "unnamed",
        "falsifiers": None if falsifiers is None else list(falsifiers),
        "floating point": rounding,
        "checks": [one.name.replace(" ", "_") for one in taking_part if one.stage == "exact"],
        "auditors": [auditor.name for auditor in auditors],
        **({} if limit is None else {"timeout": limit}),
    }
    called = _identity(parts["target"], name_of(target, at))
    return AuditPlan(
        target=called if name is None or name == called else f"{name}: {called}",
        pilots=pilots,
        stop=stop,
        growth=growth,
        subjects=subjects,
        confidence=level,
        samples=budget,
        seed=seed,
        floating_point=rounding,
        falsifiers=None if falsifiers is None else tuple(falsifiers),
        own=taking_part,
        auditors=auditors,
        recipe=written_recipe(parts),
        timeout=limit,
    )


def claims_about(
    target: object,
    claim: Loss | Claim | None,
    pair: Pair,
    *,
    at: Distance | None,
    neighbours: Neighbours | None,
    unit: str | None,
) -> tuple[tuple[Claim, str], ...]:
    """What an audit of this target at this pair tests, each claim with the relation in words."""
    if isinstance(target, Mechanism):
        return tuple(_of_mechanism_at(one, at, pair) for one in _of_mechanism(target, claim, at, neighbours)[1])
    if claim is None:
        return ()
    one = _as_claim(claim, neighbours or Neighbours.ADD_REMOVE)
    return (_related(one, pair, one.neighbours if isinstance(claim, Claim) else neighbours, unit),)


_KINDS = (
    ("function", ""),
    ("primitive", "primitive "),
    ("command", "command: "),
    ("http", "service: "),
    ("zoo", "zoo:"),
    ("transcripts", "transcripts of "),
)


def _identity(described: object, fallback: str) -> str:
    """How a certificate calls what its recipe describes: nobody's choice of words."""
    if isinstance(described, Mapping):
        for kind, prefix in _KINDS:
            if kind in described:
                return f"{prefix}{described[kind]}"
    return fallback


def _of_mechanism_at(claim: Claim, at: Distance | None, pair: Pair) -> tuple[Claim, str]:
    apart = difference_of(pair).words if at is None else f"values at most {at} apart"
    return claim, f"{claim.neighbours}, as the mechanism claims; {apart}"


def _related(claim: Claim, pair: Pair, stated: Neighbours | None, unit: str | None) -> tuple[Claim, str]:
    """The claim under the relation of the pair, and that relation in words."""
    relation, words = stated_relation(pair, stated, unit)
    return (claim if relation in (None, claim.neighbours) else replace(claim, neighbours=relation or claim.neighbours)), words


def identity_of(target: object, at: Distance | None) -> str:
    """How a certificate calls this target, by itself."""
    return _identity(_program(target), name_of(target, at))


def _program(target: object) -> dict[str, object] | None:
    if isinstance(target, CommandTarget):
        return {"command": target.text}
    return {"http": target.url} if isinstance(target, HttpTarget) else None


def _described(target: object, registry: Registry) -> object:
    """How a replay finds the target again: by the registry, by its import path, or not at all."""
    if isinstance(target, Mechanism):
        return named_mechanism(target, registry)
    program = _program(target)
    if program is not None:
        return program
    path = name_of(target, None)
    return {"function": path} if ":" in path and "<" not in path else None


def _of_mechanism(
    mechanism: Mechanism, claim: Loss | Claim | None, at: Distance | None, neighbours: Neighbours | None
) -> tuple[ClaimAtPair, tuple[Claim, ...]]:
    """The mechanism as a subject, at no pair yet, and what is claimed of it."""
    if claim is None and at is None:
        raise InvalidValueError(field="at", found=None, allowed="a distance such as l1(1.0), or a claim", where="audit")
    under = neighbours or Neighbours.ADD_REMOVE
    claims = (_as_claim(claim, under),) if claim is not None else mechanism.claims(at) if at is not None else ()
    if not claims:
        raise InvalidValueError(field="target", found=mechanism, allowed="a mechanism that claims something", where="audit")

    def sampler(value: object, n: int, rng: np.random.Generator) -> np.typing.ArrayLike:
        return mechanism.release_many(value, n, rng)  # type: ignore[arg-type]

    vars(sampler)["independent"] = True  # a law of the conformance kit
    density = mechanism if isinstance(mechanism, WhiteBox) else None
    return ClaimAtPair(sampler=sampler, claim=claims[0], pair=_NO_PAIR, density=density, mechanism=mechanism, at=at), claims


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
        said = re.sub(r" object at 0x[0-9a-f]+", "", repr(target))  # the same in every process
        return said if at is None else f"{said} at {at.metric}({at.value!r})"
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    return f"{module}:{name}" if module and name else f"a {type(target).__name__}"
