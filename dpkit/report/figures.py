"""The figures of a report, from a plan or a result; a figure with nothing to show is empty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dpkit.analysis.plan import Plan
from dpkit.analysis.run_plan import Result
from dpkit.analysis.showing.answers import Coefficient, coefficients_of, is_number
from dpkit.analysis.showing.documents import jsonable
from dpkit.analysis.showing.pieces import Markup, element, joined
from dpkit.analysis.showing.text import at_most
from dpkit.contracts.mechanism import Scaled
from dpkit.numerics.rounding import in_full
from dpkit.report.pictures import bars, curves, intervals

_POINTS = 25
_MOST = 30


def errors_figure(result: Result) -> Markup:
    """Answers with the errors that were expected of them at 95%, where the algorithm knew them before it saw data."""
    figures = []
    for step in result.plan.steps:
        outcome = result.outcomes.get(step.id)
        answer = jsonable(outcome.result) if outcome is not None else None
        rows = list(_with_errors(answer, step.errors, step.id))[:_MOST]
        if rows:
            figures.append(_figure(f"{step.id}: answers with their errors at 95%", intervals(rows, title=step.id)))
    return joined(figures)


def _with_errors(answer: object, errors: Mapping[str, float], step: str) -> Iterator[tuple[str, float, float, float]]:
    """Answers that state an error (`estimate` or `estimates` with `error`), and those whose error was foretold by name."""
    if not isinstance(answer, Mapping):
        return
    for name, foretold in errors.items():
        value = answer.get(name)
        if is_number(value):
            yield name, value, value - foretold, value + foretold
    error = answer.get("error")
    if not is_number(error):
        return
    if is_number(answer.get("estimate")):
        value = answer["estimate"]
        yield step, value, value - error, value + error
    cells, values = answer.get("cells"), answer.get("estimates")
    if isinstance(cells, list) and isinstance(values, list) and len(cells) == len(values):
        for name, value in zip(cells, values, strict=True):
            if is_number(value):
                yield str(name), value, value - error, value + error


def coefficients_figure(result: Result) -> Markup:
    """Coefficients with their intervals; one picture for those of a like size: the slope of a mile and that of a level do not
    share a scale.
    """
    figures = []
    for name, outcome in result.outcomes.items():
        for group in _alike(coefficients_of(jsonable(outcome.result))[:_MOST]):
            rows = [(one.name, one.value, *one.ends) for one in group]
            figures.append(_figure(f"{name}: coefficients", intervals(rows, title=f"coefficients of {name}")))
    return joined(figures)


def _alike(found: Sequence[Coefficient]) -> list[list[Coefficient]]:
    """Groups of coefficients that one scale can show: within a factor of 50 of the group's largest."""
    groups: list[list[Coefficient]] = []
    for one in sorted(found, key=_reach, reverse=True):
        if groups and _reach(one) * 50.0 >= _reach(groups[-1][0]):
            groups[-1].append(one)
        else:
            groups.append([one])
    order = {one.name: place for place, one in enumerate(found)}
    return [sorted(group, key=lambda one: order[one.name]) for group in groups]


def _reach(one: Coefficient) -> float:
    return max(map(abs, (one.value, *one.ends)))


def signal_figure(result: Result) -> Markup:
    """How many times its noise each released value is: below 2 or so, it says little."""
    scales = {
        (step.id, query.name, repr(mechanism)): mechanism.scale if isinstance(mechanism, Scaled) else None
        for step in result.plan.steps
        for query, mechanism in step.asked
    }
    rows: list[tuple[str, float]] = []
    counts: dict[tuple[str, str], int] = {}
    for release in result.releases:
        step = release.key.split("/", 1)[0]
        for query, mechanism, value in zip(release.queries, release.mechanisms, release.values, strict=True):
            scale = scales.get((step, query, mechanism))
            array = np.abs(np.asarray(value, dtype=np.float64))
            if is_number(scale) and scale and array.size and np.isfinite(array).all():
                counts[step, query] = counts.get((step, query), 0) + 1
                again = f" {counts[step, query]}" if counts[step, query] > 1 else ""
                rows.append((f"{query}{again}", float(np.max(array)) / scale))
    if not rows:
        return Markup("")
    shown = bars(rows[:_MOST], title="largest released value over the scale of its noise", unit="x")
    more = f" The first {_MOST} of {len(rows)}." if len(rows) > _MOST else ""
    return _figure(f"The largest released value, in units of its noise.{more}", shown)


def steps_figure(plan: Plan) -> Markup:
    """The part of the price that each step has."""
    return bars([(step.id, 100.0 * step.part) for step in plan.steps], title="part of the price by step", unit="%")


def accountants_figure(plan: Plan) -> Markup:
    """What each accountant would have charged."""
    charged = [(plan.explanation.accountant, plan.explanation.epsilon), *plan.explanation.others]
    rows = sorted((row for row in charged if math.isfinite(row[1])), key=lambda row: row[1])
    caption = f"epsilon at delta = {in_full(plan.delta)}, as each accountant would have charged it"
    return _figure(caption, bars(rows, title="epsilon by accountant", shown=at_most))


def profile_figure(plan: Plan) -> Markup:
    """delta against epsilon, for the plan."""
    highest = 1.5 * plan.epsilon if math.isfinite(plan.epsilon) else 1.0
    points = []
    for place in range(_POINTS + 1):
        epsilon = highest * place / _POINTS
        delta = plan.guarantee.delta(epsilon=epsilon)
        if delta > 0.0:
            points.append((epsilon, math.log10(delta)))
    return curves([("profile", points)], title="privacy profile", across="epsilon", up="log10 delta")


def convergence_figure(result: Result) -> Markup:
    """How released values moved over iterations, for steps that release the same query again and again."""
    figures = []
    for step in result.plan.steps:
        moves: dict[str, list[float]] = {}
        before: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
        for release in result.releases:
            if release.key.split("/", 1)[0] != step.id:
                continue
            for query, value in zip(release.queries, release.values, strict=True):
                array = np.asarray(value, dtype=np.float64)
                if query in before and before[query].shape == array.shape:
                    moves.setdefault(query, []).append(float(np.linalg.norm(array - before[query])))
                before[query] = array
        series = [
            (query, [(float(n), move) for n, move in enumerate(path, start=2)])
            for query, path in moves.items()
            if len(path) > 1
        ]
        if series:
            shown = curves(series, title=f"convergence of {step.id}", across="iteration", up="change")
            figures.append(_figure(f"{step.id}: how far each released value is from the one before it", shown))
    return joined(figures)


def _figure(caption: str, picture: Markup) -> Markup:
    return joined([element("p", caption, cls="soft"), picture]) if str(picture) else picture
