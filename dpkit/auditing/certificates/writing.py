"""From a finding to a certificate."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy as np

from dpkit._version import __version__
from dpkit.auditing.arguments import AuditPlan
from dpkit.auditing.betting.campaign import Finding
from dpkit.auditing.certificates.certificate import Arithmetic, AuditCertificate, Witness
from dpkit.auditing.subject import Subject
from dpkit.privacy.losses import ApproxDP, PureDP

_SHOWN = 400


def written(plan: AuditPlan, subject: Subject, found: Finding, *, hypothesis: Arithmetic, level: float) -> AuditCertificate:
    """The certificate of one hypothesis."""
    bound, event = found.bound, found.event
    loss = subject.claim.loss
    lower = 0.0 if bound is None else bound.epsilon
    delta = subject.delta if bound is None else bound.delta
    if found.verdict == "refuted" and hypothesis == "real arithmetic" and isinstance(loss, PureDP | ApproxDP):
        lower = max(lower, loss.epsilon)  # that is what refuting it means
    witness = Witness(
        pair=(shown(subject.pair[0]), shown(subject.pair[1])),
        event="" if event is None else event.words,
        code=bound.code if bound is not None else "" if event is None else event.code,
        hits=None if bound is None else bound.hits,
        trials=0 if bound is None else bound.trials,
        output=found.output,
    )
    return AuditCertificate(
        target=plan.target,
        claim=subject.claim,
        hypothesis=hypothesis,
        verdict=found.verdict,  # type: ignore[arg-type]
        falsifier=found.falsifier,
        tried=found.tried or (found.falsifier,),
        epsilon_lower=lower,
        delta=delta,
        samples=found.samples,
        bound_samples=found.bound_samples,
        confidence=plan.confidence,
        log_e_value=found.log_e,
        level=level,
        witness=witness,
        power=None if hypothesis == "declared law" else found.power,
        power_event=None if hypothesis == "declared law" else found.power_event,
        note=found.note,
        seed=plan.seed,
        budget=plan.samples,
        floating_point=plan.floating_point,
        recipe=plan.recipe,
        software=(
            ("dpkit", __version__),
            ("numpy", np.__version__),
            ("scipy", version("scipy")),
            ("python", platform.python_version()),
        ),
    )


def shown(dataset: object) -> str:
    """A dataset in a few words: an audit's datasets are made up, and still they are not copied at length."""
    text = repr(np.asarray(dataset).tolist()) if isinstance(dataset, np.ndarray | np.generic) else repr(dataset)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
