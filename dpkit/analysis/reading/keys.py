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
    "report": "Where the report is written, in this folder or below it, the result and the trace beside it. [NAME-report.html]",
}
DATA = {
    "source": "CSV, .csv.gz, .csv.zst or Parquet: path, glob or list; or a plugin's, {run: NAME, with: {...}}.",
    "name": "The name of the dataset, as its ledger knows it. [default: the source without folder and ending]",
    "unit": "Who is protected: `row`, or {column: NAME, at_most: ROWS} for persons that a column names.",
    "neighbours": "What a neighbouring dataset is: one more or less (`add-remove`), or one replaced (`replace-one`).",
    "rows": "How many rows there are, as you know from elsewhere. Public under replace-one with unit row; else a public guess.",
    "columns": "Every column that a step reads, with its bounds or levels, from public knowledge: never read from the data.",
    "like": "Public rows that stand in for the data where a plan foretells errors, CSV or Parquet: path, glob or list. Never "
    "the data themselves. Answers do not depend on them, so an analysis stays the same with others.",
    "join": "Columns that rows look up in a public table of unique keys: {table, on, columns}, or a list of these.",
    "delimiter": "Of CSV: what stands between cells, one character. [a comma; a tab where names end in .tsv]",
    "decimal": "What stands before the decimals of numbers that are written as text: `.` or `,`.",
    "encoding": "Of CSV: the encoding of the text, such as latin-1 or utf-16.",
    "quote": "Of CSV: what stands around cells, one character; `none` where quotes are ordinary characters.",
    "let": "Columns that each row computes from its others: new names, each with SQL.",
    "where": "Which rows are used: a condition in SQL. Others contribute zero, and still count as rows.",
}
JOIN = {
    "table": "A file of public facts, CSV or Parquet, relative to this file. It is read when the analysis is checked.",
    "on": "The column that holds the key; {NAME: OTHER} where the table calls it otherwise. Its levels may be the keys.",
    "columns": "The columns of the table that rows look up, declared as those of the data. Without such a key: NULL.",
}
LET = {
    "sql": "The expression.",
    "lower": "The smallest value; smaller ones are clipped to it. Without it: what follows from the bounds of the columns.",
    "upper": "The largest value; larger ones are clipped to it. Without it: what follows from the bounds of the columns.",
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
    "ledger": "Where the total budget is that this run is taken from (`dpkit ledger create`): a file, relative to this one; an "
    "address such as `postgresql://host/db?dataset=flights`; or a name of the user's list of ledgers.",
    "accept": "Names of loss rules to use although they are refuted, unproved, or a plugin's about an event of others. "
    "Plan and result say so.",
}
STEP = {
    "id": "A name of your own for this step: letters, digits, dots, dashes and underscores.",
    "run": "The algorithm, by name.",
    "let": "Columns for this step alone, as under `data`.",
    "where": "Which rows this step uses, among those that `data` leaves.",
    "share": "Its part of the budget, relative to the other steps.",
    "by": "The groups of a table, all from one release: a column with levels, {column: NAME, levels: [...]}, "
    "{column: NAME, edges: [...]}, or a list of these.",
    "with": "The declared parameters of the algorithm. May be left out where none is needed.",
}
GROUP = {
    "column": "A declared column.",
    "levels": "Some of its levels; for a column of numbers, values. Rows with others are in no cell.",
    "keys": "`private`: levels that nobody declared, or that are ignored; they come out where enough people have them.",
    "delta": "With `keys`: how likely a key of one person alone may come out. [default: a part of the budget's]",
    "edges": "For numbers or dates: where cells begin and end. Each holds its lower edge, the last one its upper edge, too.",
}
COLUMN_KINDS = ("number", "category", "boolean", "date", "time", "text")
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
    "date": {
        "type": "`date`.",
        "lower": "The first day; earlier ones are clipped to it. Without it: 0001-01-01.",
        "upper": "The last day; later ones are clipped to it. Without it: 9999-12-31.",
        "format": 'How texts write it: "%d.%m.%Y", say. Without it: as ISO does, 2024-12-31.',
        "missing": "A cell that holds nothing: `drop` or a date.",
        "unknown": "A cell that holds no date: `drop` or a date.",
        "outside": "A date outside the bounds: `clip` or `drop`.",
    },
    "time": {
        "type": "`time`, also written `datetime` or `timestamp`: a day and the time of a clock, without a zone.",
        "lower": "The first time; earlier ones are clipped to it. Without it: 0001-01-01 00:00:00.",
        "upper": "The last time; later ones are clipped to it. Without it: 9999-12-31 23:59:59.",
        "format": 'How texts write it: "%d.%m.%Y %H:%M", say. Without it: as ISO does, 2024-12-31 23:59:59.',
        "missing": "A cell that holds nothing: `drop` or a time.",
        "unknown": "A cell that holds no time: `drop` or a time.",
        "outside": "A time outside the bounds: `clip` or `drop`.",
    },
    "text": {
        "type": "`text`: any texts, without levels, for `by: {column: NAME, keys: private}`. A row without one is dropped.",
    },
}
COLUMN_ALIASES = {"datetime": "time", "timestamp": "time"}

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
LIKE = Parameter(name="like", kind="texts", doc=DATA["like"], default=None)
NAME = Parameter(name="name", kind="text", doc=DATA["name"], default=None)
ROWS = Parameter(name="rows", kind="integer", doc=DATA["rows"], minimum=1, default=None)
DELIMITER = Parameter(name="delimiter", kind="text", doc=DATA["delimiter"], default=None)
DECIMAL = Parameter(name="decimal", kind="choice", doc=DATA["decimal"], choices=(".", ","), default=".")
ENCODING = Parameter(name="encoding", kind="text", doc=DATA["encoding"], default=None)
QUOTE = Parameter(name="quote", kind="text", doc=DATA["quote"], default=None)
RELATION = Parameter(name="neighbours", kind="choice", doc=DATA["neighbours"], choices=NEIGHBOURS, default="add-remove")
UNIT_COLUMN = Parameter(name="column", kind="text", doc=UNIT["column"])
GROUP_COLUMN = Parameter(name="column", kind="text", doc=GROUP["column"])
GROUP_DELTA = Parameter(name="delta", kind="number", doc=GROUP["delta"], minimum=0.0, exclusive=True, maximum=0.1, default=None)
AT_MOST = Parameter(name="at_most", kind="integer", doc=UNIT["at_most"], minimum=1)
PLUGINS = Parameter(name="plugins", kind="texts", doc=ROOT["plugins"], default=None)
REPORT = Parameter(name="report", kind="text", doc=ROOT["report"], default=None)
LOWER = Parameter(name="lower", kind="number", doc=COLUMNS["number"]["lower"])
UPPER = Parameter(name="upper", kind="number", doc=COLUMNS["number"]["upper"])
JOIN_TABLE = Parameter(name="table", kind="text", doc=JOIN["table"])
LET_LOWER = Parameter(name="lower", kind="number", doc=LET["lower"], default=None)
LET_UPPER = Parameter(name="upper", kind="number", doc=LET["upper"], default=None)
WHERE = Parameter(name="where", kind="text", doc=DATA["where"], default=None)
WHOLE = Parameter(name="whole", kind="boolean", doc=COLUMNS["number"]["whole"], default=False)

# Which distribution to install for an algorithm or an engine that is missing. Names alone; nothing is imported.
KNOWN_ENGINES = {"dask": "dpkit-dask"}
KNOWN_PLUGINS = {
    **dict.fromkeys(("irls", "irls-moments", "irls-paper"), "dpkit-irls"),
    **dict.fromkeys(("count", "sum", "mean", "variance", "proportion", "histogram"), "dpkit-stats"),
    **dict.fromkeys(("median", "quantiles", "covariance", "correlation"), "dpkit-stats"),
}
