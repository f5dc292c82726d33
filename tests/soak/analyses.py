"""What the soak runs: a table of made-up people, and random analyses of it that share one ledger."""

import os

from dpkit import ApproxDP, Ledger, Neighbours

ROWS = 200
CITIES = ("north", "south", "west")
STEPS = (
    "{{id: s{place}, run: count}}",
    "{{id: s{place}, run: mean, with: {{column: age}}}}",
    "{{id: s{place}, run: variance, with: {{column: income}}}}",
    "{{id: s{place}, run: histogram, with: {{column: city}}}}",
    "{{id: s{place}, run: quantiles, with: {{column: income, probabilities: [0.25, 0.5]}}}}",
)
FIT = "{{id: s{place}, run: irls, with: {{target: income, features: [age], iterations: 2}}}}"

HEAD = """\
dpkit: 1
data:
  source: people.csv
  name: people
  columns:
    age: [0, 100]
    income: [0, 1000]
    city: {levels: [north, south, west, other], unknown: other}
budget: {epsilon: EPSILON, delta: 1e-7, accountant: zcdpLEDGER}
steps:
"""


def write_people(folder, chance):
    """A CSV of made-up rows, some of them broken."""
    lines = ["age,income,city"]
    for _ in range(ROWS):
        age = chance.choice([str(chance.randint(18, 90)), "unknown"]) if chance.random() < 0.05 else chance.randint(18, 90)
        lines.append(f"{age},{chance.gauss(300.0, 80.0):.2f},{chance.choice(CITIES)}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")


def new_ledger(folder, number, server=None):
    """A budget that some of the analyses exhaust, so that refusals are part of it; in a file, or in a database of its own."""
    path = folder / f"{number}.ledger"
    if server is not None:
        path = server.new_database(f"soak{folder.name}") + "?dataset=people"
    Ledger.create(path, budget=ApproxDP(epsilon=1.0, delta=1e-6), dataset="people", neighbours=Neighbours.ADD_REMOVE).close()
    return path


def write_analysis(folder, name, chance, ledger=None, with_fit=None):
    """A random analysis of one to four steps; with a fit of several releases in about a third of them."""
    with_fit = chance.random() < 0.3 if with_fit is None else with_fit
    chosen = [chance.choice(STEPS) for _ in range(chance.randint(1, 4))] + ([FIT] if with_fit else [])
    where = "" if ledger is None else f", ledger: '{os.path.basename(ledger) if isinstance(ledger, os.PathLike) else ledger}'"
    head = HEAD.replace("EPSILON", f"{chance.choice([0.1, 0.2, 0.3])}").replace("LEDGER", where)
    steps = "".join(f"  - {step.format(place=place)}\n" for place, step in enumerate(chosen))
    path = folder / f"{name}.yaml"
    path.write_text(f"{head}{steps}report: out/{name}/report.html\n")
    return path
