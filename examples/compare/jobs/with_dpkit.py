"""The five jobs by dpkit: an analysis is a YAML file, read with its data."""

import dpkit
from dpkit import GaussianEvent, Repeat, Subsample

VERSION = dpkit.__version__


def _answer(rows, text):
    path = rows.folder / "analysis.yaml"
    path.write_text(text, encoding="utf-8")
    return dpkit.load(path).plan().run()["answer"]


def mean(rows):
    return _answer(
        rows,
        f"""dpkit: 1
data:
  source: flights.csv
  neighbours: replace-one
  rows: {rows.all_rows}
  columns: {{arr_delay: [-60, 180]}}
budget: {{epsilon: 1}}
steps:
  - {{id: answer, run: mean, with: {{column: arr_delay, mechanism: laplace}}}}
""",
    ).estimate


def counts(rows):
    table = _answer(
        rows,
        f"""dpkit: 1
data:
  source: flights.csv
  columns: {{carrier: {{levels: [{", ".join(rows.carriers)}], unknown: other}}}}
budget: {{epsilon: 1}}
steps:
  - {{id: answer, run: count, by: [carrier], with: {{mechanism: discrete-laplace}}}}
""",
    )
    return [row[1] for row in table.rows]


def median(rows):
    return _answer(
        rows,
        """dpkit: 1
data:
  source: flights.csv
  columns: {arr_delay: [-60, 180]}
budget: {epsilon: 1}
steps:
  - {id: answer, run: median, with: {column: arr_delay}}
""",
    ).estimate


def regression(rows):
    fit = _answer(
        rows,
        f"""dpkit: 1
data:
  source: flights.csv
  neighbours: replace-one
  rows: {rows.all_rows}
  columns: {{arr_delay: [-60, 180], dep_delay: [-30, 180], distance: [0, 3000], hour: [0, 24]}}
budget: {{epsilon: 1, delta: 1e-6}}
steps:
  - {{id: answer, run: irls, with: {{target: arr_delay, features: [dep_delay, distance, hour]}}}}
""",
    )
    return [*fit.coefficients, fit.intercept]


def price(rows):
    run = Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1.0)), times=1000)
    return dpkit.account(run, "pld").epsilon(delta=1e-6)
