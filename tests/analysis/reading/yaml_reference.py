"""The page docs/yaml.md, from the declared keys: `python tests/analysis/reading/yaml_reference.py`. A test holds it to them."""

from __future__ import annotations

from collections.abc import Mapping

from dpkit.analysis.reading import keys
from dpkit.contracts.factories import EngineFactory
from dpkit.contracts.parameters import Parameter
from dpkit.data.summing.block_engine import DEFAULT, ENGINES

_HEAD = """# The YAML of an analysis

```yaml
dpkit: 1
plugins: [stats]                      # optional: nothing else runs
data:
  source: people.csv
  neighbours: replace-one
  rows: 5000
  columns:
    age: [0, 100]
    income: {lower: 0, upper: 200000, missing: 0}
    sex: {levels: [f, m]}
    member: boolean
budget:
  epsilon: 0.9
  delta: 1e-6
  accountant: best
  ledger: people.ledger
steps:
  - id: ages
    run: mean
    share: 2
    with: {column: age}
  - id: sexes
    run: histogram
    with: {column: sex}
report: out/report.html
```

Paths are relative to the file. `dpkit check` lists every mistake at once, each with its line and column; it costs nothing, as
does `dpkit plan`. `dpkit schema` prints the same as JSON Schema, with the parameters of the installed plugins, for editors.

Unquoted words mean what YAML 1.2 says: only `true` and `false` are booleans (`yes` and `no` are texts), and `1e-6` is a number.
Anchors, aliases and `<<` work; tags, keys that are there twice, more than 1 MB and more than 100,000 values are refused.

This page is generated from `dpkit/analysis/reading/keys.py`.
"""

_COLUMNS = """## `data.columns`

A column is `[lower, upper]` for numbers, `boolean`, `date`, `time`, or a mapping. Every cell that is not as declared
becomes what its policy says: nothing in the data can make a run fail. `drop` means that the row contributes zero to whatever
reads the column; it still counts as a row.
"""

_LET = """## `let` and `where`

`let` is a mapping from new names to SQL, `where` a condition in SQL; under `data`, or in a step. What may stand there is
told in [filters and derived columns](expressions.md). A derived column is SQL, or a mapping with its bounds.
"""

_ENGINE = """## `engine`

`engine: NAME`, or `engine: {NAME: {...}}` with parameters. Every engine gives the same totals, to the bit, so a run may go on
under another one. Plugins bring more, such as `dask` ([scale](scale.md)).
"""

_NAMES = """## Mechanisms and queries by name

A parameter that is a mechanism or a query takes `NAME`, or `{NAME: {...}}` with its parameters: whatever is registered, by
dpkit or by a plugin (`dpkit plugins` lists them). A step with `mechanism` takes every mechanism that suits its query, which is
one whose distance is known and which takes such totals; another is refused at its line, with those that do. The scale is not
given: the plan solves it, for the budget. Nor is what states a fact about the query, such as `monotone` of `exponential`:
nothing would check it.

```yaml
dpkit: 1
data:
  source: people.csv
  columns: {age: [0, 120], sex: {levels: [f, m]}}
budget: {epsilon: 1.0}
steps:
  - {id: ages, run: mean, with: {column: age, mechanism: laplace}}
  - id: by-sex
    run: release                      # any registered query, once, with any mechanism that suits
    with:
      query: {categories: {column: sex, levels: 2}}
      mechanism: exponential          # or {NAME: {...}}
```

`release` comes with dpkit, and gives what the mechanism gives: noisy totals, or with `exponential` the place of the chosen
score. A source is named as `source: {run: NAME, with: {...}}`; dpkit's own are `csv` (`paths`, `delimiter`) and `parquet`
(`paths`), for files whose names do not end in their format. Paths in it are relative to the file, too.
"""

_ACCEPT = """A rule of a plugin prices the plugin's own events. One about an event of somebody else would make others' releases
cheaper merely by being installed; so it is not used, `dpkit plugins` marks it `unused`, and `accept` must name it. Then
`dpkit plan` begins with it, and the guarantee is stamped.
"""

_DECLARED: Mapping[str, Parameter] = {
    "budget.epsilon": keys.EPSILON,
    "budget.delta": keys.DELTA,
    "budget.ledger": keys.LEDGER,
    "budget.accept": keys.ACCEPT,
    "data.name": keys.NAME,
    "data.neighbours": keys.RELATION,
    "data.rows": keys.ROWS,
    "unit.column": keys.UNIT_COLUMN,
    "unit.at_most": keys.AT_MOST,
    "steps.id": keys.STEP_ID,
    "steps.run": keys.RUN,
    "steps.share": keys.SHARE,
    "group.column": keys.GROUP_COLUMN,
    "root.plugins": keys.PLUGINS,
    "root.report": keys.REPORT,
    "number.lower": keys.LOWER,
    "number.upper": keys.UPPER,
    "number.whole": keys.WHOLE,
    "join.table": keys.JOIN_TABLE,
    "let.lower": keys.LET_LOWER,
    "let.upper": keys.LET_UPPER,
}
_REQUIRED = (
    "root.dpkit",
    "root.data",
    "root.budget",
    "root.steps",
    "data.source",
    "data.columns",
    "category.levels",
    "let.sql",
)


def yaml_reference() -> str:
    """The page, in Markdown."""
    parts = [
        _HEAD,
        _table("The top", "root", keys.ROOT),
        _table("`data`", "data", keys.DATA),
        _table("`data.unit`, for persons", "unit", keys.UNIT),
        _COLUMNS,
        *(_table(f"A {kind}", kind, keys.COLUMNS[kind], level=3) for kind in keys.COLUMN_KINDS),
        _table("`data.join`", "join", keys.JOIN),
        _LET,
        _table("With bounds", "let", keys.LET, level=3),
        _table("`budget`", "budget", keys.BUDGET),
        _ACCEPT,
        _ENGINE,
        *(_engine(factory) for factory in ENGINES),
        _table("`steps`, each", "steps", keys.STEP),
        _table("`by`, an entry of it", "group", keys.GROUP, level=3),
        _NAMES,
    ]
    return "\n".join(parts)


def _engine(factory: EngineFactory) -> str:
    lines = [f"### `{factory.name}`{' (the default)' if factory.name == DEFAULT else ''}\n", factory.doc]
    if factory.parameters:
        lines += ["", "| parameter | what it is | allowed | default |", "|---|---|---|---|"]
    for parameter in factory.parameters:
        allowed = parameter.allowed.replace("|", "\\|")
        lines.append(f"| `{parameter.name}` | {parameter.meaning} | {allowed} | {_default('', parameter)} |")
    return "\n".join(lines) + "\n"


def _table(title: str, group: str, described: Mapping[str, str], *, level: int = 2) -> str:
    lines = [f"{'#' * level} {title}\n", "| key | what it is | allowed | default |", "|---|---|---|---|"]
    for name, doc in described.items():
        declared = _DECLARED.get(f"{group}.{name}")
        allowed = "" if declared is None else declared.allowed.replace("|", "\\|")
        lines.append(f"| `{name}` | {doc} | {allowed} | {_default(f'{group}.{name}', declared)} |")
    return "\n".join(lines) + "\n"


def _default(path: str, declared: Parameter | None) -> str:
    if declared is None:
        return "required" if path in _REQUIRED else ""
    if declared.required:
        return "required"
    return "none" if declared.default in (None, ()) else f"`{str(declared.default).lower()}`"


if __name__ == "__main__":
    print(yaml_reference(), end="")
