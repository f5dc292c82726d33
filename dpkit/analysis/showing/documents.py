"""Plans and results as JSON documents; they hold public facts and released values, and nothing else. And what an answer says
of coefficients, whatever algorithm gave it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from dpkit._version import __version__
from dpkit.pricing.serialise import dump
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan
    from dpkit.analysis.run_plan import Result

TWO_SIDED_95 = 1.959963984540054
_SHOWN_AS_COEFFICIENTS = ("coefficients", "features", "names", "intercept", "intercept_error", "standard_errors", "intervals")


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


def plan_document(plan: Plan, *, compared: bool = True) -> dict[str, object]:
    """A plan as JSON; `compared` with what other accountants would charge, which interests before a run."""
    spec, explained, ledger = plan.spec, plan.explanation, plan.ledger
    return {
        "dpkit-plan": 1,
        "dpkit": __version__,
        "analysis": spec.fingerprint,
        "file": spec.path.name,
        "dataset": spec.data.name,
        "neighbours": str(spec.data.neighbours),
        "unit": spec.data.unit.terms,
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
                "expected_error_rests_on": step.errors_rest_on,
                "advice": list(step.advice),
                "computed_by": step.computed_by,
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
            name: jsonable(epsilon)
            for name, epsilon in ((explained.accountant, explained.epsilon), *(explained.others if compared else ()))
        },
        "cannot_price": list(explained.refused) if compared else [],
        "ledger": None
        if ledger is None
        else {
            "path": str(ledger.path),
            "id": ledger.id,
            "run": ledger.run,
            "is_paid": ledger.is_paid,
            "price": json.loads(dump(ledger.price)),
            "spent": json.loads(dump(ledger.balance.spent)),
            "held": json.loads(dump(ledger.balance.reserved)),
            "remaining": json.loads(dump(ledger.balance.remaining)),
            "epsilon": {"price": ledger.price_epsilon, **ledger.purse.as_json()},
        },
        "plugins": [
            {"name": plugin.name, "distribution": plugin.distribution, "version": plugin.version}
            for plugin in spec.installed.plugins
            if plugin.healthy
        ],
    }


def result_document(result: Result) -> dict[str, object]:
    """A result as JSON: the plan that was paid for, and the answers."""
    from dpkit.analysis.showing.notes import answer_notes

    return {
        "dpkit-result": 1,
        "run": result.run,
        "simulation": result.simulation,
        "complete": result.is_complete,
        "earlier": result.earlier,
        "ledger_digest": result.digest or None,
        "ledger_epsilon": None if result.purse is None else result.purse.as_json(),
        "guarantee": result.sentence,
        "notes": answer_notes(result),
        "answers": {name: jsonable(outcome.result) for name, outcome in result.outcomes.items()},
        "endings": {name: {"ending": outcome.ending, "steps": outcome.steps} for name, outcome in result.outcomes.items()},
        "plan": plan_document(result.plan, compared=False),
        "declared": result.plan.spec.document,
    }


def accepted_lines(plan: Plan) -> list[str]:
    """What `budget.accept` names, whose word it is, and whether the price rests on it."""
    registry, lines = plan.spec.registry, []
    for rule in registry.rules:
        if rule.name not in plan.spec.budget.accept:
            continue
        whose = registry.foreign.get(rule.name, f"the rule is {rule.status} ({rule.because}).")
        used = "The price rests on it" if rule.name in plan.guarantee.unsound else "It did not lower this price"
        lines.append(f"{rule.name}: {whose} {used}.")
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One coefficient; `lower` and `upper` are None where the answer says nothing about its error."""

    name: str
    value: float
    lower: float | None = None
    upper: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Where its interval ends: at the value itself where there is none."""
        low = self.value if self.lower is None else self.lower
        return low, self.value if self.upper is None else self.upper


def split_coefficients(answer: object) -> tuple[tuple[Coefficient, ...], object]:
    """The coefficients of a JSON answer (`coefficients`: a mapping, or a list with `features` or `names`), and the rest of it.

    Intervals come from `intervals` (pairs), or from `standard_errors`, both in the same form and at 95%. An `intercept` is the
    last, with the error that `standard_errors` has for it: by that name, or as the last of the list.
    """
    if not isinstance(answer, Mapping) or "coefficients" not in answer:
        return (), answer
    values = _by_name(answer["coefficients"], answer.get("features") or answer.get("names"))
    names = list(values)
    if is_number(answer.get("intercept")) and "intercept" not in values:
        values["intercept"] = answer["intercept"]
    errors = _named_after(answer.get("standard_errors"), names, list(values))
    if "intercept" in values and is_number(answer.get("intercept_error")):
        errors["intercept"] = answer["intercept_error"]
    ends = _named_after(answer.get("intervals"), names, list(values))
    found = []
    for name, value in values.items():
        if not is_number(value):
            continue
        lower, upper = _ends(value, ends.get(name), errors.get(name))
        found.append(Coefficient(name=name, value=value, lower=lower, upper=upper))
    if not found:
        return (), answer
    return tuple(found), {key: value for key, value in answer.items() if key not in _SHOWN_AS_COEFFICIENTS}


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _ends(value: float, pair: object, error: object) -> tuple[float | None, float | None]:
    if isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair)):
        return pair[0], pair[1]
    if is_number(error):
        return value - TWO_SIDED_95 * error, value + TWO_SIDED_95 * error
    return None, None


def _by_name(values: object, names: object) -> dict[str, object]:
    if isinstance(values, Mapping):
        return {str(name): value for name, value in values.items()}
    if not isinstance(values, list):
        return {}
    known = [str(name) for name in names] if isinstance(names, list) and len(names) == len(values) else None
    return dict(zip(known or [f"[{place}]" for place in range(len(values))], values, strict=True))


def _named_after(values: object, names: list[str], longer: list[str]) -> dict[str, object]:
    """A mapping as it is; a list by the names of the coefficients, with or without the intercept."""
    if isinstance(values, list):
        return next((dict(zip(found, values, strict=True)) for found in (names, longer) if len(found) == len(values)), {})
    return {str(name): value for name, value in values.items()} if isinstance(values, Mapping) else {}
