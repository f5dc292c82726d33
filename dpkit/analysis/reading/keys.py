"""The keys of an analysis, declared once: validation, the JSON Schema and the reference page read this file."""

from __future__ import annotations

from dpkit.contracts.parameters import Parameter

VERSION = 1

ROOT = {
    "dpkit": "The version of this format: 1.",
    "plugins": "The plugins that may run, by name. No other plugin is imported. Without this key: all that are installed.",
    "data": "Where the rows are, what they look like, and who is protected.",
    "budget": "What this run may cost.",
    "engine": "Where the data is read and added up: the name of an engine, or {NAME: {...}} with its parameters.",
    "steps": "What is computed, in this order.",
    "report": "Where the report is written, in this folder or below it; result.json and trace.json are written beside it.",
}
DATA = {
    "source": "CSV or Parquet: a path, a glob or a list; or a plugin's, {run: NAME, with: {...}}. Relative to this file.",
    "name": "The name of the dataset, as its ledger knows it. [default: the source without folder and ending]",
    "unit": "Who is protected: `row`, or {column: NAME, at_most: ROWS} for persons that a column names.",
    "neighbours": "What a neighbouring dataset is: one more or less (`add-remove`), or one replaced (`replace-one`).",
    "rows": "How many rows there are, as you know from elsewhere. Public under replace-one with unit row; else a public guess.",
    "columns": "Every column that a step reads, with its bounds or levels, from public knowledge: never read from the data.",
}
UNIT = {
    "column": "The column that names persons.",
    "at_most": "The largest number of rows of one person that are used.",
}
NAMED = {
    "run": "The name of what a plugin adds.",
    "with": "Its declared parameters.",
}
BUDGET = {
    "epsilon": "The epsilon of this run.",
    "delta": "The delta of this run; 0 is pure differential privacy.",
    "accountant": "Who adds up what the steps cost. `best` takes the smallest sound answer of dpkit's own.",
    "ledger": "The file of the total budget that this run is taken from (`dpkit ledger create`). Relative to this file.",
    "accept": "Names of loss rules to use although they are refuted, unproved, or a plugin's about an event of others. "
    "Plan and result say so.",
}
STEP = {
    "id": "A name of your own for this step: letters, digits, dots, dashes and underscores.",
    "run": "The algorithm, by name.",
    "share": "Its part of the budget, relative to the other steps.",
    "with": "The declared parameters of the algorithm.",
}
COLUMN_KINDS = ("number", "category", "boolean")
COLUMNS = {
    "number": {
        "type": "`number`. May be left out where `lower` and `upper` say it.",
        "lower": "The smallest value; smaller ones are clipped to it.",
        "upper": "The largest value; larger ones are clipped to it.",
        "whole": "Whether values are rounded to whole numbers.",
        "missing": "A cell that holds nothing: `drop` (the row contributes zero) or a number that stands for it.",
        "nan": "A cell that holds NaN: as `missing`, unless it is given.",
        "text": "A cell that holds no number: as `missing`, unless it is given.",
        "infinite": "An infinity: `clip`, `drop` or a number.",
        "outside": "A value outside the bounds: `clip`, `drop` or a number.",
    },
    "category": {
        "type": "`category`. May be left out where `levels` say it.",
        "levels": "The levels, in order.",
        "missing": "A cell that holds nothing: `drop` or a level.",
        "unknown": "A cell that holds something else: `drop` or a level.",
    },
    "boolean": {
        "type": "`boolean`.",
        "missing": "A cell that holds nothing: `drop`, true or false.",
        "unknown": "A cell that holds something else: `drop`, true or false.",
    },
}

STEP_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""Names of steps stand in the keys of ledgers and traces, before a slash."""

NEIGHBOURS = ("add-remove", "replace-one")

EPSILON = Parameter(name="epsilon", kind="number", doc=BUDGET["epsilon"], minimum=0.0, exclusive=True, maximum=1e4)
DELTA = Parameter(name="delta", kind="number", doc=BUDGET["delta"], minimum=0.0, maximum=0.5, default=0.0)
LEDGER = Parameter(name="ledger", kind="text", doc=BUDGET["ledger"], default=None)
ACCEPT = Parameter(name="accept", kind="texts", doc=BUDGET["accept"], default=())
SHARE = Parameter(name="share", kind="number", doc=STEP["share"], minimum=0.0, exclusive=True, default=1.0)
STEP_ID = Parameter(name="id", kind="text", doc=STEP["id"])
RUN = Parameter(name="run", kind="text", doc=NAMED["run"])
FILES = Parameter(name="source", kind="texts", doc=DATA["source"])
NAME = Parameter(name="name", kind="text", doc=DATA["name"], default=None)
ROWS = Parameter(name="rows", kind="integer", doc=DATA["rows"], minimum=1, default=None)
RELATION = Parameter(name="neighbours", kind="choice", doc=DATA["neighbours"], choices=NEIGHBOURS, default="add-remove")
UNIT_COLUMN = Parameter(name="column", kind="text", doc=UNIT["column"])
AT_MOST = Parameter(name="at_most", kind="integer", doc=UNIT["at_most"], minimum=1)
PLUGINS = Parameter(name="plugins", kind="texts", doc=ROOT["plugins"], default=None)
REPORT = Parameter(name="report", kind="text", doc=ROOT["report"], default="report.html")
LOWER = Parameter(name="lower", kind="number", doc=COLUMNS["number"]["lower"])
UPPER = Parameter(name="upper", kind="number", doc=COLUMNS["number"]["upper"])
WHOLE = Parameter(name="whole", kind="boolean", doc=COLUMNS["number"]["whole"], default=False)

# Which distribution to install for an algorithm or an engine that is missing. Names alone; nothing is imported.
KNOWN_ENGINES = {"dask": "dpkit-dask"}
KNOWN_PLUGINS = {
    **dict.fromkeys(("irls", "irls-moments", "irls-paper"), "dpkit-irls"),
    **dict.fromkeys(("count", "sum", "mean", "variance", "histogram", "quantiles", "covariance"), "dpkit-stats"),
}
