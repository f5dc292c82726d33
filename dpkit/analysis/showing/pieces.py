"""HTML as values, escaped on the way, and the pieces of it that notebooks show and the report is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpkit.analysis.showing.answers import coefficients_of, without_coefficients
from dpkit.analysis.showing.documents import jsonable
from dpkit.analysis.showing.text import at_most, coefficients_table, flat, foretold_errors, release_rows
from dpkit.numerics.rounding import format_up

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan
    from dpkit.analysis.run_plan import Result


import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_EMPTY = frozenset({"meta", "br", "hr", "line", "rect", "circle", "path", "polyline", "polygon"})


@dataclass(frozen=True, slots=True)
class Markup:
    """Text that is markup already. Made by `element` and `joined`; `trusted` is for what this package wrote itself."""

    text: str

    def __str__(self) -> str:
        return self.text


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """An element; children and attributes that are not markup are escaped. `cls` is class, `_` in names is `-`."""
    named = {"class" if name == "cls" else name.replace("_", "-"): value for name, value in attributes.items()}
    for name in (tag, *named):
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a name of an element or an attribute: {name!r}")
    shown = "".join(f' {name}="{html.escape(str(value), quote=True)}"' for name, value in named.items() if value is not None)
    if tag in _EMPTY and not children:
        return Markup(f"<{tag}{shown}/>")
    return Markup(f"<{tag}{shown}>{joined(children)}</{tag}>")


def joined(children: Iterable[object]) -> Markup:
    """Children side by side; what is not markup is escaped."""
    return Markup(
        "".join(child.text if isinstance(child, Markup) else html.escape(str(child), quote=True) for child in children)
    )


def trusted(text: str) -> Markup:
    """A text of this package's own (a style sheet); never anything from an analysis or from data."""
    return Markup(text)


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    """A table that scrolls by itself where the screen is narrow."""
    header = element("tr", *(element("th", cell) for cell in head))
    body = joined(element("tr", *(element("td", cell) for cell in row)) for row in rows)
    return element("div", element("table", element("thead", header), element("tbody", body)), cls="scroll")


def steps_table(plan: Plan) -> Markup:
    """Steps with their prices."""
    rows = [(step.id, step.run, f"{step.part:.1%}", format_up(step.epsilon)) for step in plan.steps]
    return html_table(("step", "runs", "part of the price", "epsilon alone"), rows)


def releases_table(plan: Plan) -> Markup:
    """What will be, or was, released, with its noise."""
    rows = [(step.id, *row) for step in plan.steps for row in release_rows(step)]
    return html_table(("step", "query", "noise", "scale", "times", "error at 95%"), rows)


def answers(result: Result) -> Markup:
    """Answers by step, with the errors that were expected of them."""
    parts = []
    for step in result.plan.steps:
        outcome = result.outcomes.get(step.id)
        if outcome is None:
            parts.append(element("p", f"{step.id}: not reached"))
            continue
        answer = jsonable(outcome.result)
        parts.append(element("h3", f"{step.id} ({step.run})"))
        found = coefficients_of(answer)
        if found:
            parts.append(html_table(*coefficients_table(found)))
        parts.append(html_table(("answer", "value"), flat(without_coefficients(answer), most=100)))
        parts += [element("p", f"Warning: {text}", cls="stamp") for text in step.advice]
        for name, error in foretold_errors(step, found).items():
            foretold = f"Expected error{'' if name == 'answer' else f' of {name}'} at 95%, before the run: {at_most(error)}."
            parts.append(element("p", foretold, cls="soft"))
    return joined(parts)


def plan_pieces(plan: Plan) -> str:
    """What a notebook shows of a plan."""
    warnings = [element("p", f"Warning: {step.id}: {text}") for step in plan.steps for text in step.advice]
    return str(element("div", element("p", plan.sentence), *warnings, steps_table(plan), releases_table(plan)))


def result_pieces(result: Result) -> str:
    """What a notebook shows of a result."""
    return str(element("div", element("p", result.sentence), answers(result), steps_table(result.plan)))
