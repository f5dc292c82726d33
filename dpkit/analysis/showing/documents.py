"""Plans and results as JSON documents; they hold public facts and released values, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dpkit._version import __version__
from dpkit.analysis.showing.text import accepted_lines
from dpkit.pricing.serialise import dump

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan
    from dpkit.analysis.reading.spec import Spec
    from dpkit.analysis.run_plan import Result


def jsonable(value: object) -> object:
    """A released answer as JSON. A number that is not finite becomes its name; what has no form becomes its type's name."""
    for form in ("as_json", "to_dict"):
        if hasattr(value, form) and not isinstance(value, type):
            return jsonable(getattr(value, form)())
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer | np.bool_):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, np.ndarray):
        return jsonable(np.asarray(value).tolist())
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: jsonable(getattr(value, item.name)) for item in dataclasses.fields(value)}
    return type(value).__name__


def plugins_document(spec: Spec) -> list[dict[str, object]]:
    """Which plugins were in use, and their versions."""
    return [
        {"name": plugin.name, "distribution": plugin.distribution, "version": plugin.version}
        for plugin in spec.installed.plugins
        if plugin.healthy
    ]


def plan_document(plan: Plan) -> dict[str, object]:
    """A plan as JSON."""
    spec, explained = plan.spec, plan.explanation
    return {
        "dpkit-plan": 1,
        "dpkit": __version__,
        "analysis": spec.fingerprint,
        "file": spec.path.name,
        "dataset": spec.data.name,
        "neighbours": str(spec.data.neighbours),
        "unit": spec.data.unit_terms,
        "budget": {"epsilon": spec.budget.epsilon, "delta": spec.budget.delta, "accountant": spec.budget.accountant},
        "epsilon": jsonable(plan.epsilon),
        "delta": plan.delta,
        "holds": plan.guarantee.holds,
        "accepted": accepted_lines(plan),
        "guarantee": plan.sentence,
        "steps": [
            {
                "id": step.id,
                "run": step.run,
                "share": step.share,
                "part": step.part,
                "noise": step.noise,
                "epsilon": jsonable(step.epsilon),
                "event": json.loads(dump(step.event)),
                "releases": [jsonable(release) for release in step.releases],
                "expected_error_95": dict(step.errors),
                "advice": list(step.advice),
            }
            for step in plan.steps
        ],
        "relies_on": [
            {
                "rule": line.rule,
                "conversion": line.conversion,
                "because": [str(citation) for citation in line.because],
                "status": line.status,
                "times": line.times,
                "part": line.share,
            }
            for line in explained.lines
        ],
        "claims": [
            {"because": str(claim.because), "status": claim.status, "assuming": list(claim.assuming)} for claim in plan.claims
        ],
        "accountants": {
            name: jsonable(epsilon) for name, epsilon in ((explained.accountant, explained.epsilon), *explained.others)
        },
        "cannot_price": list(explained.refused),
        "ledger": _ledger(plan),
        "plugins": plugins_document(spec),
    }


def _ledger(plan: Plan) -> object:
    found = plan.ledger
    if found is None:
        return None
    losses = {"price": found.price, "spent": found.balance.spent, "remaining": found.balance.remaining}
    return {
        "path": str(found.path),
        "run": found.run,
        "is_paid": found.is_paid,
        **{name: json.loads(dump(loss)) for name, loss in losses.items()},
    }


def result_document(result: Result) -> dict[str, object]:
    """A result as JSON: the plan that was paid for, and the answers."""
    return {
        "dpkit-result": 1,
        "run": result.run,
        "simulation": result.simulation,
        "earlier": result.earlier,
        "ledger_digest": result.digest or None,
        "guarantee": result.sentence,
        "answers": {name: jsonable(outcome.result) for name, outcome in result.outcomes.items()},
        "endings": {name: {"ending": outcome.ending, "steps": outcome.steps} for name, outcome in result.outcomes.items()},
        "plan": plan_document(result.plan),
        "declared": result.plan.spec.document,
    }
