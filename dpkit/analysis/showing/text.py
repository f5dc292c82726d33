"""Plans and results as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpkit.analysis.showing.documents import Coefficient, accepted_lines, jsonable, split_coefficients
from dpkit.analysis.showing.notes import answer_notes
from dpkit.analysis.showing.tables import split_tables
from dpkit.errors import visible
from dpkit.numerics.rounding import format_down, format_up, in_full, outward
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.ledger.balance_in_epsilon import loss_text

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan, PlannedStep
    from dpkit.analysis.rehearsal import PlannedRelease
    from dpkit.analysis.run_plan import Result
    from dpkit.pricing.explain import Line


def guarantee_sentence(plan: Plan) -> str:
    """The guarantee in one sentence, or that there is none."""
    found, unit, explained = plan.guarantee, plan.spec.data.unit, plan.explanation
    who = (
        "one row" if unit.column is None else f"one person (`{one_line(unit.column)}`, at most {counted(unit.at_most, 'row')})"
    )
    claim = _claimed(plan.epsilon, plan.delta)
    if not found.holds:
        return f"NO GUARANTEE: {claim} is what rules say that were accepted by name ({', '.join(found.unsound)})."
    reader = f"by the accountant {explained.accountant!r} ({explained.because})"
    return f"{release_sentence(plan.epsilon, plan.delta, who=who, neighbours=found.neighbours)}, {reader}."


def release_sentence(epsilon: float, delta: float, *, who: str, neighbours: Neighbours) -> str:
    """What a release tells of `who`, in a sentence without its full stop."""
    how = "is replaced by another" if neighbours is Neighbours.REPLACE_ONE else "is there or not"
    rest = f" and an addition of {in_full(delta)}" if delta else ""
    changed = f"whether {who} {how} changes the probability of any outcome by a factor of at most {factor_text(epsilon)}{rest}"
    return f"What is released is {_claimed(epsilon, delta)}: {changed}"


def _claimed(epsilon: float, delta: float) -> str:
    return f"(epsilon = {format_up(epsilon)}, delta = {in_full(delta)})-differentially private"


def odds(epsilon: float) -> float:
    """e^epsilon, rounded up; infinity where no float holds it."""
    try:
        grown = math.exp(epsilon)
    except OverflowError:
        return math.inf
    return outward(grown, magnitude=grown, ulps=4.0) if epsilon > 0.0 else 1.0


def factor_text(epsilon: float) -> str:
    """The factor e^epsilon as a number that is not below it, or as a power where no float holds it."""
    factor = odds(epsilon)
    return format_up(factor, digits=3) if math.isfinite(factor) else f"e^{format_up(epsilon)}"


def number(value: float | None) -> str:
    """A number for a table that is no bound, such as an answer; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def at_most(value: float | None) -> str:
    """An upper bound for a table: an error, an upper end; also noise, so that a scale that is read here never overspends."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{math.ceil(value):,}" if 1e4 <= abs(value) < 1e7 else format_up(value, digits=4)


def at_least(value: float | None) -> str:
    """A lower bound for a table."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{math.floor(value):,}" if 1e4 <= abs(value) < 1e7 else format_down(value, digits=4)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in columns, one a row whatever a name holds: the first flush left, the others as they come."""
    shown = [[one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[place]) for row in shown) for place in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 step, 2 steps."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def one_line(text: str) -> str:
    """A text that cannot begin a line of its own."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def plan_text(plan: Plan) -> str:
    """What `dpkit plan` prints."""
    spec, budget = plan.spec, plan.spec.budget
    lines = [
        *(f"ACCEPTED    {one_line(text)}" for text in accepted_lines(plan)),
        f"analysis    {spec.path}",
        f"data        {one_line(spec.data.name)}: {counted(len(spec.data.schema.columns), 'column')}, {spec.data.neighbours}, "
        + (
            "unit row"
            if spec.data.unit.column is None
            else f"unit {one_line(spec.data.unit.column)}, at most {spec.data.unit.at_most}"
        ),
        f"budget      epsilon {in_full(budget.epsilon)}, delta {in_full(budget.delta)}, accountant {budget.accountant}",
        f"price       epsilon {format_up(plan.epsilon)} at delta {in_full(plan.delta)}",
        "",
        *table(("step", "runs", "share", "part", "epsilon alone", "noise"), [_step_row(step) for step in plan.steps]),
        "",
        *table(("release", "mechanism", "scale", "times", "error at 95%"), _release_rows(plan)),
    ]
    lines += ["", *table(("step", "answer", "expected error at 95%"), _error_rows(plan))]
    rests = [f"rests on    {step.id}: {one_line(step.errors_rest_on)}" for step in plan.steps if step.errors_rest_on]
    if rests:
        lines += ["", *rests]
    paths = [f"computes    {step.id}: {one_line(step.computed_by)}" for step in plan.steps if step.computed_by]
    if paths:
        lines += ["", *paths]
    warnings = [f"WARNING     {step.id}: {text}" for step in plan.steps for text in step.advice]
    if warnings:
        lines += ["", *warnings]
    lines += ["", "relies on", *relied_lines(plan), "", "accountants", *accountant_lines(plan), "", *ledger_lines(plan)]
    return visible("\n".join([*lines, plan.sentence]))


def _error_rows(plan: Plan) -> list[tuple[str, str, str]]:
    """Each step with the expected errors of its answers, or with a note that they are not known before the run."""
    unknown = "not known before the run" + ("" if plan.spec.data.rows is not None else "; `rows` is not declared")
    rows = []
    for step in plan.steps:
        rows += [(step.id, name, at_most(error)) for name, error in step.errors.items()] or [(step.id, "answer", unknown)]
    return rows


def _step_row(step: PlannedStep) -> tuple[str, ...]:
    return step.id, step.run, in_full(step.share), f"{step.part:.1%}", format_up(step.epsilon), at_most(step.noise)


def _release_rows(plan: Plan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for step in plan.steps:
        rows += [(f"{step.id}/{query}", *rest) for query, *rest in release_rows(step)]
        if not step.is_rehearsed:
            rows.append((f"{step.id}/...", "as the plan allows", "-", "-", "-"))
    return rows


def release_rows(step: PlannedStep) -> list[tuple[str, str, str, str, str]]:
    """What a step releases, one row for each query and kind of noise: query, noise, scale, times, error at 95%.

    Where the noise changes over iterations, the scale is a range and the error the largest.
    """
    kinds: dict[tuple[str, str], list[PlannedRelease]] = {}
    for release in step.releases:
        kinds.setdefault((release.query, release.mechanism), []).append(release)
    rows = []
    for (query, mechanism), found in kinds.items():
        scales = [one.scale for one in found if one.scale is not None]
        scale = " to ".join(dict.fromkeys((at_most(min(scales)), at_most(max(scales))))) if scales else "-"
        error = max((one.error for one in found if one.error is not None), default=None)
        rows.append((query, mechanism, scale, str(sum(one.times for one in found)), at_most(error)))
    return rows


def relied_rows(plan: Plan) -> list[tuple[float, int, str, Line]]:
    """The theorems that price the plan, each once: part of the price, number of releases, what they are, and one line of it."""
    kinds: dict[tuple[str, str | None, str, str], list[Line]] = {}
    for line in plan.explanation.lines:
        kinds.setdefault((line.rule, line.conversion, line.event.split("(")[0], line.status), []).append(line)
    return [
        (
            math.fsum(line.share for line in lines),
            sum(line.times for line in lines),
            lines[0].event if len(lines) == 1 else f"{lines[0].event.split('(')[0]}, of {len(lines)} sizes",
            lines[0],
        )
        for lines in kinds.values()
    ]


def relied_lines(plan: Plan) -> list[str]:
    """Every theorem that the price and the mechanisms rely on, with its source and its status."""
    lines = [f"  read by {plan.explanation.because}"]
    for share, times, event, line in relied_rows(plan):
        via = f" via {line.conversion}" if line.conversion else ""
        cited = "; ".join(map(str, line.because))
        lines.append(f"  {share:6.1%}  {times} x {event}: {line.rule}{via} [{line.status}] ({cited})")
    for claim in plan.claims:
        assuming = f", assuming {', '.join(claim.assuming)}" if claim.assuming else ""
        lines.append(f"  claim   {claim.because} [{claim.status}]{assuming}")
    return list(dict.fromkeys(lines))


def accountant_lines(plan: Plan) -> list[str]:
    """What each accountant would charge for this plan, the cheapest first."""
    charged = [(plan.explanation.accountant, plan.explanation.epsilon), *plan.explanation.others]
    rows = sorted(charged, key=lambda pair: pair[1])
    lines = [
        f"  {name:9} epsilon {format_up(epsilon) if math.isfinite(epsilon) else 'none at this delta'}"
        + (" (used)" if name == plan.explanation.accountant else "")
        for name, epsilon in rows
    ]
    return [*lines, *(f"  {name:9} cannot price it" for name in plan.explanation.refused)]


def ledger_lines(plan: Plan) -> list[str]:
    """Where the plan stands with its ledger."""
    found = plan.ledger
    if found is None:
        return ["ledger      none: this run and others are not added up", ""]
    price = "nothing: this analysis was paid before" if found.is_paid else loss_text(found.price_epsilon, found.price, up=True)
    return [
        f"ledger      {found.path}",
        f"  price     {price}",
        *(f"  {name:<9} {words}" for name, words in found.purse.lines()),
        *(f"  {words}" for words in [found.purse.adding()] if words),
        f"  run       {found.run}",
        "",
    ]


def result_text(result: Result) -> str:
    """What `dpkit run` prints: answers, then the guarantee."""
    lines = ["SIMULATION: made-up data, seeded noise. These are no answers.", ""] if result.simulation else []
    notes = answer_notes(result)
    for step in result.plan.steps:
        outcome = result.outcomes.get(step.id)
        if outcome is None:
            lines.append(f"{step.id}: not reached")
            continue
        lines.append(f"{step.id} ({step.run}, {outcome.ending} after {counted(outcome.steps, 'step')})")
        found, rest = split_coefficients(jsonable(outcome.result))
        if found:
            lines += [f"  {line}" for line in table(*coefficients_table(found))]
        cells, rest = shown_tables(rest)
        for place, (head, rows) in enumerate(cells):
            lines += [f"  {margin_title(head)}:"] if place else []
            lines += [f"  {line}" for line in table(head, rows)]
        lines += [f"  {one_line(name)}: {one_line(shown)}" for name, shown in flat(rest)]
        lines += [f"  NOTE {text}" for text in notes.get(step.id, ())]
        for name, error in foretold_errors(step, found).items():
            lines.append(f"  expected error of {name} at 95%: {at_most(error)}")
    spent = []
    if result.purse is not None:
        spent = ["", "ledger", *(f"  {name:<7} {words}" for name, words in result.purse.lines())]
        spent += [f"  {words}" for words in [result.purse.adding()] if words]
    anchor = [f"Ledger digest {result.digest}: keep it, for `dpkit ledger verify FILE --since`."] if result.digest else []
    return visible("\n".join([*lines, *spent, "", result.sentence, *anchor]))


def foretold_errors(step: PlannedStep, found: Sequence[Coefficient]) -> Mapping[str, float]:
    """What the plan expected, for an answer that states no intervals of its own, which tell more."""
    return {} if any(one.lower is not None for one in found) else step.errors


def coefficients_table(found: Sequence[Coefficient]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows; without a column of intervals where the algorithm states none."""
    if all(one.lower is None for one in found):
        return ("coefficient", "value"), [(one.name, number(one.value)) for one in found]
    rows = [(one.name, number(one.value), f"{at_least(one.lower)} to {at_most(one.upper)}") for one in found]
    return ("coefficient", "value", "95% interval"), [tuple(row) for row in rows]


def shown_tables(answer: object) -> tuple[list[tuple[tuple[str, ...], list[list[str]]]], object]:
    """The tables that an answer is, its cells as texts, and what else it says."""
    tables, rest = split_tables(answer)
    return [(one.columns, [list(map(_cell, row, one.columns)) for row in one.rows]) for one in tables], rest


def margin_title(head: Sequence[str]) -> str:
    """What a table below that of an answer is: the same by fewer columns, or of all cells together."""
    told = head[: head.index("estimate")] if "estimate" in head else ()
    groups = [name for name in told if name not in ("cell", "probability")]
    return f"by {' and '.join(groups)}" if groups else "all together"


def _cell(value: object, name: str) -> str:
    return "-" if value is None else _short(value, name)


def flat(value: object, name: str = "answer", most: int = 12) -> list[tuple[str, str]]:
    """An answer as lines: each number by its name, long lists cut short."""
    if isinstance(value, dict):
        return [
            pair for key, inner in value.items() for pair in flat(inner, key if name == "answer" else f"{name}.{key}", most)
        ]
    if value is None or value == []:
        return []
    if isinstance(value, list):
        shown = ", ".join(_short(item, name) for item in value[:most])
        return [(name, f"[{shown}{', ...' if len(value) > most else ''}]")]
    return [(name, _short(value, name))]


_UP = ("error", "errors", "upper", "epsilon", "delta", "rho", "mu", "resolution", "width")
_DOWN = ("lower",)


def _plain(number: str) -> str:
    """Without an exponent up to 10**15: an estimate and its bounds are to be read beside each other."""
    return f"{float(number):.0f}" if "e+" in number and abs(float(number)) < 1e15 else number


def _short(value: object, name: str) -> str:
    """One value of an answer. What its name says is a bound is rounded to the safe side; an answer itself to the nearest."""
    if isinstance(value, float):
        said = name.rsplit(".", 1)[-1].rsplit("_", 1)[-1]
        if said == "confidence":  # nobody computes one: it is declared
            return in_full(value)
        return _plain(format_up(value) if said in _UP else format_down(value) if said in _DOWN else f"{value:.6g}")
    if isinstance(value, list):
        if name.endswith("intervals") and len(value) == 2:
            return f"[{_short(value[0], 'lower')}, {_short(value[1], 'upper')}]"
        return "[" + ", ".join(_short(item, name) for item in value[:12]) + (", ..." if len(value) > 12 else "") + "]"
    return str(value)
