"""HTML from templates, in which every value is escaped, and what notebooks show of plans and results."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from dpkit.analysis.showing.documents import jsonable, split_coefficients
from dpkit.analysis.showing.notes import answer_notes
from dpkit.analysis.showing.text import (
    at_most,
    coefficients_table,
    flat,
    foretold_errors,
    margin_title,
    release_rows,
    shown_tables,
)
from dpkit.numerics.rounding import format_down, format_up, in_full

if TYPE_CHECKING:
    from jinja2 import Environment

    from dpkit.analysis.plan import Plan
    from dpkit.analysis.run_plan import Result


def render(template: str, macro: str = "", **values: object) -> Markup:
    """A template of dpkit's, by its path below dpkit/, or one of its macros, with these values."""
    found = environment().get_template(template)
    shown: Markup = getattr(found.module, macro)(**values).strip() if macro else Markup(found.render(**values))
    return shown


_FIGURE = re.compile(r"[-+\u2212]?[0-9][0-9,.]*(e[-+]?[0-9]+)?%?|-|\u2013")
"""A number as it is shown, or the stroke of one that is not known: it stands on the right of its column."""


@cache
def environment() -> Environment:
    """Everything is escaped, in every template; a name that is missing is an error and not an empty place."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from dpkit.analysis.showing.template_bytecode import TemplateBytecode

    found = Environment(
        bytecode_cache=TemplateBytecode(Path(__file__).parent),
        loader=FileSystemLoader(Path(__file__).parents[2]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"at_most": at_most, "format_down": format_down, "format_up": format_up, "in_full": in_full}
    found.filters |= {"coordinate": "{:.5g}".format, "percent": "{:.1%}".format}
    found.tests |= {"finite": math.isfinite, "figure": lambda cell: bool(_FIGURE.fullmatch(str(cell)))}
    found.globals |= {"jsonable": jsonable, "split_coefficients": split_coefficients, "coefficients_table": coefficients_table}
    found.globals |= {
        "margin_title": margin_title,
        "shown_tables": shown_tables,
        "flat": flat,
        "foretold_errors": foretold_errors,
        "release_rows": release_rows,
    }
    found.globals["answer_notes"] = answer_notes
    return found


def plan_html(plan: Plan) -> str:
    """What a notebook shows of a plan."""
    return str(render("analysis/showing/notebook.html", plan=plan, result=None))


def result_html(result: Result) -> str:
    """What a notebook shows of a result."""
    return str(render("analysis/showing/notebook.html", plan=result.plan, result=result))
