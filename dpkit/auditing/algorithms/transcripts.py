"""Whole algorithms: the privacy loss of a transcript is the sum of the losses of its releases, given what came before."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.accounting import account
from dpkit.auditing.arguments import AuditPlan, plan_audit, seed_of
from dpkit.auditing.audit import audit
from dpkit.auditing.betting.bets import OutputEvent as Witnessed
from dpkit.auditing.betting.campaign import Finding
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.recipe import Recipe
from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.engine import Engine
from dpkit.contracts.mechanism import WhiteBox
from dpkit.contracts.registry import Registry
from dpkit.contracts.setting import Setting
from dpkit.data.summing.delivery import check_delivery, release_exactly
from dpkit.errors import DpkitError, InvalidValueError, PlanExceededError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.rounding import sqrt_up
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.events import Event
from dpkit.privacy.losses import GDP, ApproxDP, Loss, PureDP
from dpkit.release.curator import Purse
from dpkit.release.driver import drive
from dpkit.release.simulated import Request, SimulatedCurator

SIDES = ("first dataset", "second dataset")
_DELTA = 1e-3


def audit_algorithm(
    algorithm: AnyAlgorithm,
    noise: float,
    *,
    setting: Setting,
    engines: tuple[Engine, Engine],
    claim: Loss | None = None,
    confidence: float = 0.999,
    samples: int = 2_000,
    rng: np.random.Generator | int | None = None,
    time: float | None = None,
    name: str | None = None,
    registry: Registry | None = None,
    recipe: Recipe | None = None,
) -> list[AuditCertificate]:
    """Run an algorithm end to end on two neighbouring datasets, and try to refute what its plan says (or `claim`).

    Every transcript is scored by its privacy loss: ln of the ratio of its densities under both datasets, the sum over releases
    given the history, since queries depend on released values alone. Events in terms of it are events of the transcript, so
    the e-process of the white box holds as it stands, and by Neyman and Pearson none is more powerful. It sees wrong
    sensitivities, wrong events, and an adaptive choice that the plan does not cover; it cannot see what an algorithm reads
    past the curator. A run that asks for a release which its plan does not cover is proof, and ends the audit with a refuted
    certificate of plan coverage. Mechanisms need a `log_density`.
    """
    known = default_registry() if registry is None else registry
    plan = algorithm.plan(noise)
    stated = _plan_loss(plan, setting, known) if claim is None else claim
    locator = "the plan of the algorithm" if claim is None else "stated in the call to audit_algorithm"
    about = Claim(
        loss=stated,
        neighbours=setting.neighbours,
        because=Citation(key="caller", locator=locator),
        assuming=("real arithmetic",),
        status="unproved",
    )

    runs = 0

    def losses(side: object, n: int, stream: np.random.Generator) -> npt.ArrayLike:
        nonlocal runs
        found = []
        for _ in range(n):
            runs += 1
            found.append(_Transcript(engines, SIDES.index(str(side)), setting, plan, stream).loss_of(algorithm, noise))
        return asfloat(found)

    called = f"{type(algorithm).__module__}:{type(algorithm).__qualname__}" if name is None else name
    title, seed = f"transcripts of {called} at noise {noise!r}", seed_of(rng)
    try:
        return audit(
            losses, about, SIDES, confidence, samples, seed, density=_LossItself(), falsifiers=["white box"], time=time,
            name=title, registry=known, recipe={} if recipe is None else recipe,
        )  # fmt: skip
    except PlanExceededError as error:
        checked = plan_audit(
            losses, about, SIDES, confidence, samples, seed, at=None, neighbours=setting.neighbours, pairs=(), density=None,
            falsifiers=["white box"], floating_point=False, registry=known, name=title,
            recipe={} if recipe is None else recipe,
        )  # fmt: skip
        return [_overspent(checked, error, runs)]


def _overspent(plan: AuditPlan, error: PlanExceededError, runs: int) -> AuditCertificate:
    """Refuted by plan coverage: one run is enough, and no dataset makes it right."""
    event = Witnessed(
        words=f"run {runs} asked for {error.asked}, where its plan holds {error.plan}",
        code="Purse(plan).charge(event)",
    )
    found = Finding(falsifier="plan coverage", verdict="refuted", log_e=math.inf, samples=runs, event=event)
    return plan.certify(plan.subjects[0], found, hypothesis="records", level=1.0 - plan.confidence)


class _Transcript:
    """One simulated run: it releases from one dataset, and keeps what each release says about which it was."""

    def __init__(
        self, engines: tuple[Engine, Engine], side: int, setting: Setting, plan: Event, rng: np.random.Generator
    ) -> None:
        self._side, self._rng = side, rng
        purse = Purse(plan, run="transcript")
        self._curator = SimulatedCurator(self._released, setting=setting, purse=purse, engines=engines)
        self._logs = [0.0, 0.0]

    def loss_of(self, algorithm: AnyAlgorithm, noise: float) -> float:
        """The loss of a whole run; infinite where one dataset could not have given it."""
        drive(algorithm, self._curator, noise=noise)
        one, two = self._logs
        return 0.0 if one == two == -math.inf else one - two

    def _released(self, asked: Request) -> Array:
        """The total of one dataset with noise, scored by its density under both."""
        mechanism = asked.mechanism
        check_delivery(asked.query, mechanism)
        if not isinstance(mechanism, WhiteBox):
            raise InvalidValueError(
                field="mechanism", found=mechanism, allowed="mechanisms with a log_density", where="audit_algorithm"
            )
        value = np.asanyarray(release_exactly(asked.totals[self._side], mechanism, self._rng))
        for side in (0, 1):
            center = asked.totals[side].nearest()
            if value.dtype.kind in "iu":
                center = center.astype(np.int64)
            density = float(np.sum(mechanism.log_density(np.asarray(value), center)))
            self._logs[side] += -math.inf if math.isnan(density) else density
        return value


@dataclass(frozen=True, slots=True)
class _LossItself:
    """Outputs that are losses already: their log ratio is what they are."""

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> Array:
        """The loss under the first dataset, nothing under the second."""
        losses = asfloat(output)
        return losses if str(value) == SIDES[0] else np.zeros_like(losses)


def _plan_loss(plan: Event, setting: Setting, registry: Registry) -> Loss:
    """The plan's price in the tightest notion that it has a closed form in: pure, else Gaussian, else at one delta."""
    try:
        return PureDP(epsilon=account(plan, "pure", setting.neighbours, registry).epsilon(delta=0.0))
    except (DpkitError, ValueError):
        pass
    try:
        state = account(plan, "gdp", setting.neighbours, registry).state
        return GDP(mu=sqrt_up(state.mu_squared))
    except DpkitError:
        best = account(plan, "best", setting.neighbours, registry)
        return ApproxDP(epsilon=best.epsilon(delta=_DELTA), delta=_DELTA)
