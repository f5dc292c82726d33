"""A stranger's plugin, installed: its mechanism, query, source, rule and verb are used from YAML and from the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpkit.analysis.reading.json_schema import analysis_schema
from dpkit.analysis.reading.load import load
from dpkit.cli import main
from dpkit.errors import SpecError
from dpkit.hooks.manager import installed_plugins, load_plugins

PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar

import click
import numpy as np

import dpkit

CITATION = dpkit.Citation(key="stranger", locator="page 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangeEvent(dpkit.Event):
    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)
    ratio: float


RULES = (
    dpkit.LossRule(
        name="strange-pure", event=StrangeEvent, loss=dpkit.PureDP, neighbours=tuple(dpkit.Neighbours), because=CITATION,
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
    dpkit.LossRule(
        name="strange-gaussian", event=dpkit.GaussianEvent, loss=dpkit.GDP, neighbours=tuple(dpkit.Neighbours),
        because=CITATION, bound=lambda event: dpkit.GDP(mu=event.ratio / 100.0),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strange:
    """Laplace noise by another name, whose width is `reach`; `steps` must be given."""

    reach: float
    steps: int

    def event(self, at):
        found = [one for one in (at if isinstance(at, tuple) else (at,)) if one.metric == "l1"]
        if not found:
            raise dpkit.InvalidValueError(field="at", found=at, allowed="an L1 distance", where="Strange")
        return StrangeEvent(ratio=found[0].value / self.reach * (1 + 1e-9))

    def _noise(self):
        return dpkit.Laplace(scale=self.reach)

    def release(self, value, rng=None):
        return self._noise().release(value, rng)

    def release_many(self, value, n, rng=None):
        return self._noise().release_many(value, n, rng)

    def claims(self, at):
        loss = RULES[0].bound(self.event(at))
        return (dpkit.Claim(loss=loss, neighbours=dpkit.Neighbours.ADD_REMOVE, because=CITATION),)

    def accuracy(self, shape, confidence):
        return 7.0 * self.reach


def over_forty(column):
    return dpkit.Query(
        name="over-forty", columns=(column,), rows=lambda block: (block[:, 0] > 40.0).astype(float), shape=(), grid=1.0,
        bound=1.0, sensitivity=lambda relation: (dpkit.l1(1.0), dpkit.l2(1.0)), because=CITATION,
    )


@dpkit.hookimpl
def dpkit_mechanisms():
    reach = dpkit.Parameter(name="reach", kind="number", doc="The width.", minimum=1e-6, maximum=1e9, examples=(1.0,))
    steps = dpkit.Parameter(name="steps", kind="integer", doc="Some other number.", minimum=1)
    return [
        dpkit.MechanismFactory(
            name="strange", doc="Strange noise.", make=Strange, parameters=(reach, steps), metrics=("l1",), scale="reach"
        )
    ]


@dpkit.hookimpl
def dpkit_loss_rules():
    return RULES


@dpkit.hookimpl
def dpkit_queries():
    column = dpkit.Parameter(name="column", kind="text", doc="A column.", examples=("x",))
    return [
        dpkit.QueryFactory(
            name="over-forty", doc="How many are above 40.", make=over_forty, parameters=(column,), width=lambda query: 1
        )
    ]


@dpkit.hookimpl
def dpkit_sources():
    path = dpkit.Parameter(name="path", kind="path", doc="A file of ages.")
    return [
        dpkit.Factory(
            name="ages", doc="Ages, one a line.", make=lambda path: {"age": np.loadtxt(path)}, parameters=(path,)
        ),
        dpkit.Factory(name="table", doc="A file beside the analysis.", make=lambda: "people.csv"),
    ]


def greet():
    @click.command()
    @click.option("--name", default="you")
    def command(name):
        """Greet somebody."""
        click.echo(f"hello {name}")

    return command


def broken():
    raise ImportError("a secret")


def refuses():
    def run(arguments):
        raise dpkit.InvalidValueError(field="arguments", found=len(arguments), allowed="none", where="refuses")

    return run


@dpkit.hookimpl
def dpkit_commands():
    return [
        dpkit.Command(name="greet", doc="Greet somebody.", load=greet),
        dpkit.Command(name="count-words", doc="Exit with the number of arguments.", load=lambda: len),
        dpkit.Command(name="broken", doc="Does not load.", load=broken),
        dpkit.Command(name="refuses", doc="Refuses.", load=refuses),
    ]
'''
YAML = """\
dpkit: 1
data:
  source: {run: ages, with: {path: ages.txt}}
  name: people
  rows: 300
  columns:
    age: [0, 100]
budget:
  epsilon: 1.0
  delta: 1e-6
  ledger: people.ledger
steps:
  - id: old
    run: release
    with:
      query: {over-forty: {column: age}}
      mechanism: {strange: {steps: 3}}
"""


@pytest.fixture
def stranger(install):
    installed_plugins.cache_clear()
    install("stranger", PLUGIN)
    yield
    installed_plugins.cache_clear()


@pytest.fixture
def analysis(tmp_path, stranger, monkeypatch):
    """A folder with the analysis, from elsewhere: paths in YAML are relative to the YAML file."""
    folder = tmp_path / "analysis"
    folder.mkdir()
    (folder / "ages.txt").write_text("\n".join(str(20 + n % 50) for n in range(300)), encoding="utf-8")
    (folder / "people.csv").write_text("age\n" + "\n".join(str(20 + n % 50) for n in range(300)) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def written(*changes):
        text = YAML
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (folder / "analysis.yaml").write_text(text, encoding="utf-8")
        return str(folder / "analysis.yaml")

    return written


def dpkit(*arguments, code=0):
    main.__dict__.pop("_of_plugins", None)  # what is installed has changed since it was asked
    answer = CliRunner().invoke(main, list(arguments))
    assert answer.exit_code == code, answer.output
    return answer.output


def test_a_stranger_s_query_and_mechanism_are_planned_charged_released_and_audited(analysis):
    file = analysis()
    folder = file.removesuffix("/analysis.yaml")
    dpkit("ledger", "create", f"{folder}/people.ledger", "--dataset", "people", "--epsilon", "5", "--accountant", "pure")
    plan = json.loads(dpkit("plan", file, "--json"))
    (step,) = plan["steps"]
    scale = step["noise"]
    assert "StrangeEvent" in json.dumps(step["event"])
    assert step["expected_error_95"]["answer"] == pytest.approx(7.0 * scale)
    assert scale == pytest.approx(1.0, rel=1e-5)  # pure epsilon is 1 / reach, and reach is the multiplier times the distance 1
    result = json.loads(dpkit("run", file, "--json", "--yes"))
    assert "over-forty" in json.dumps(result)
    entries = dpkit("ledger", "show", f"{folder}/people.ledger")
    assert "PureDP(epsilon=0.0)" not in entries.split("spent", 1)[1].splitlines()[0]
    audited = dpkit("audit", file, "--samples", "2000", "--seed", "1")
    assert "old/over-forty: Strange(reach=" in audited
    assert "query old/over-forty: stands" in audited
    assert "over-forty" in Path(folder, "analysis-report.html").read_text(encoding="utf-8")


def test_what_does_not_suit_is_refused_at_its_line_with_what_does(analysis):
    def refused(*changes):
        with pytest.raises(SpecError) as caught:
            load(analysis(*changes))
        (problem,) = caught.value.problems
        return problem

    wrong = refused(("{strange: {steps: 3}}", "symmetric-gaussian"))
    assert (wrong.line, wrong.path) == (17, "steps[0].with.mechanism")
    assert "laplace, gaussian, discrete-laplace, discrete-gaussian" in wrong.allowed
    assert "strange" in wrong.allowed
    assert "randomized-response" not in wrong.allowed
    stated = refused(
        ("{over-forty: {column: age}}", "{histogram: {column: age, edges: [0, 9]}}"),
        ("{strange: {steps: 3}}", "{exponential: {monotone: true}}"),
    )
    assert "nothing checks" in stated.allowed
    missing = refused(("{strange: {steps: 3}}", "strange"))
    assert "steps" in missing.allowed
    assert missing.line == 17
    fixed = refused(("{steps: 3}", "{steps: 3, reach: 2.0}"))
    assert fixed.path == "steps[0].with.mechanism.strange.reach"
    assert "the plan chooses it" in fixed.allowed
    assert refused(("{steps: 3}", "{steps: 3, raech: 2.0}")).allowed == "steps"
    unknown = refused(("over-forty", "over-fourty"))
    assert "Did you mean 'over-forty'?" in unknown.hint
    assert refused(("{column: age}", "{column: aeg}")).line == 16
    assert "needs 'column'" in refused(("{column: age}", "{}")).found


def test_relative_paths_of_sources_are_relative_to_the_file(analysis):
    file = analysis(("  ledger: people.ledger\n", ""))
    assert load(file).plan().run()["old"].error > 0.0
    returned = analysis(("  ledger: people.ledger\n", ""), ("{run: ages, with: {path: ages.txt}}", "{run: table}"))
    assert load(returned).plan().run()["old"].error > 0.0
    named = "{run: csv, with: {paths: [people.csv]}}"
    assert load(analysis(("  ledger: people.ledger\n", ""), ("{run: ages, with: {path: ages.txt}}", named))).plan().run()


def test_a_rule_about_somebody_else_s_event_prices_only_if_the_analysis_accepts_it_and_then_the_plan_begins_with_it(analysis):
    gaussian = ("{strange: {steps: 3}}", "gaussian"), ("  ledger: people.ledger\n", "")
    plain = load(analysis(*gaussian)).plan()
    assert plain.steps[0].noise > 3.0
    assert plain.guarantee.holds
    accepting = ("  delta: 1e-6\n", "  delta: 1e-6\n  accept: [strange-gaussian]\n")
    cheap = load(analysis(*gaussian, accepting)).plan()
    assert cheap.steps[0].noise < 0.1
    assert not cheap.guarantee.holds
    first = str(cheap).splitlines()[0]
    assert first.startswith("ACCEPTED    strange-gaussian: the plugin 'stranger'")
    assert first.endswith("The price rests on it.")
    assert "ACCEPTED" not in str(plain)
    assert "unused strange-gaussian" in dpkit("plugins")
    idle = load(analysis(("  ledger: people.ledger\n", ""), accepting)).plan()
    assert str(idle).splitlines()[0].endswith("It did not lower this price.")


def test_an_allow_list_hides_what_others_bring(analysis, stranger):
    with pytest.raises(SpecError) as caught:
        load(analysis(("data:\n", "plugins: []\ndata:\n")))
    found = " ".join(problem.found for problem in caught.value.problems)
    assert "there is no source named 'ages'" in found
    assert "there is no query named 'over-forty'" in found
    changes = ("data:\n", "plugins: [stats]\ndata:\n"), ("{run: ages, with: {path: ages.txt}}", "x.csv")
    with pytest.raises(SpecError, match="there is no mechanism named 'strange'"):
        load(analysis(*changes), installed=load_plugins())


def test_verbs_of_a_plugin_run_and_one_that_is_broken_is_named(stranger):
    assert dpkit("greet", "--name", "Ada") == "hello Ada\n"
    assert "Greet somebody." in dpkit("greet", "--help")
    dpkit("count-words", "a", "--b", code=2)
    assert "The plugin 'stranger' could not be used: its verb 'broken' could not be loaded (ImportError)." in dpkit(
        "broken", code=2
    )
    assert "a secret" not in dpkit("broken", code=2)
    assert "none" in dpkit("refuses", "a", code=2)
    assert "Did you mean 'greet'?" in dpkit("greeet", code=2)
    assert "commands: greet, count-words, broken, refuses" in dpkit("plugins")


def test_a_plugin_cannot_take_a_verb_of_dpkit(install):
    install("thief", "import dpkit\n@dpkit.hookimpl\ndef dpkit_commands():\n"
            "    return [dpkit.Command(name='run', doc='Mine.', load=lambda: len)]\n")  # fmt: skip
    found = load_plugins(only=["thief"])
    assert "the command name 'run' is claimed by 'dpkit'" in found.plugins[-1].problems[0]
    assert "run" in {command.name for command in found.registry.commands}


def test_the_schema_knows_the_stranger_s_names(stranger):
    text = json.dumps(analysis_schema(load_plugins().registry))
    for name in ("over-forty", "strange", "steps", "ages"):
        assert f'"{name}"' in text
    assert '"reach"' not in text
