"""Whatever a file holds, a reader answers with a value or with one error of dpkit's that says where: no traceback, no warning,
no endless wait, and nothing on a terminal but what can be seen.

A short run in CI; `make audit-all` goes on for DPKIT_FUZZ_MINUTES in all (an hour), with the choices of DPKIT_FUZZ_SEED.
"""

import contextlib
import copy
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import dpkit
from dpkit.analysis.reading.load import load
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.formats import as_html
from dpkit.auditing.certificates.recipe import decode, decode_pairs, read_recipe
from dpkit.auditing.falsifiers.runs_and_ledgers import audit_trace
from dpkit.errors import DpkitError, SpecError, visible
from dpkit.privacy.events import Event
from dpkit.release.ledger.entries import Head
from dpkit.release.ledger.verify import verify_file
from dpkit.release.run_algorithms import trace_json

pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")

SECONDS = 60
YAML = [
    "dpkit: 1", "data:", "  source: people.csv", "  name: people", "  unit: row", "  neighbours: replace-one", "  rows: 400",
    "  columns:", "    age: [0, 100]", "    city: {levels: [a, b, 3, true], unknown: drop}", "    is_old: boolean",
    "    pay: {lower: 0, upper: 1e5, missing: 0, whole: true}",
    "budget: {epsilon: 1.0, delta: 1e-6, accountant: zcdp, accept: []}", "engine: blocks", "steps:",
    "  - {id: ages, run: mean, share: 2, with: {column: age}}", "  - {id: cities, run: histogram, with: {column: city}}",
    "  - {id: pays, run: quantiles, with: {column: pay, probabilities: [0.5]}}", "report: out/report.html",
]  # fmt: skip
WORDS = [
    ".inf", "-.inf", ".nan", "1e400", "1e-400", "-1", "0", "-0.0", "1e308", "5e-324", "9" * 5000,
    "0x1F", "1_000", "1:30", "null",
    "~", "true", "''", '""', "[]", "{}", "[[]]", "[1, 2, 3]", "[a, a]", "{a: 1}", "{a: 1, a: 2}", "{? [x] : y}", "2026-01-01",
    '"\\e[31mred"', '"\\0"', '"\\ud800"', '"\\u202egnp"', '"a\\nb"', '"\\r"', "!!python/object:os.system x", "!!binary aGk=",
    "!!set {a}", "!!str 1", "&a [*a]", "*nobody", "<<", "{<<: {a: 1}}", "🦆", "../x.html", "/dev/null", "people.csv",
    "analysis.yaml",
    "x" * 5000, "[" * 60 + "]" * 60, "[" * 3000, "{a: " * 50 + "1" + "}" * 50, "|", ">", "?", "- -", "%TAG", "---", "...", "\t",
    "[.inf, Bern]", "[100, 0]", "[0, .nan]", "{lower: 0}", "{levels: []}", "{levels: [.inf, Bern]}", "{levels: [[a], b]}",
    "{column: id, at_most: 0}", "{run: nobody}", "{type: [a]}", "pld", "rdp", "best", "gdp", "pure", "dask",
]  # fmt: skip
JSON_WORDS = [
    None, True, -1, 0, 1, 10**4000, -(10**30), 1e308, 5e-324, -0.0, 0.5, "", "x", "inf", "nan", "1e400000000", "1/0", "-1/3",
    "0/1", "\x1b[31m", "\u202e", [], {}, [[]], [1, 2], {"is": "float", "value": "inf"},
    {"is": "fraction", "value": "1e400000000"},
    {"is": "fraction", "value": "9" * 5000 + "/1"}, {"is": "neighbours", "value": "add-remove"}, {"is": "nobody"}, {"is": []},
    {"is": "GaussianEvent", "ratio": 1.0}, {"is": "Repeat", "event": {"is": "PureEvent", "epsilon": 1.0}, "times": 10**18},
    {"is": "Repeat", "event": {"is": "ZCDPEvent", "rho": 1e308}, "times": 10**18}, {"is": "Compose", "events": []},
]  # fmt: skip


@contextlib.contextmanager
def within_a_minute():
    """An endless wait becomes a failure, where a thread can be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*arguments):
        raise AssertionError(f"no answer within {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_seen(text):
    assert visible(text) == text
    return text


# Mutations of what is right


@st.composite
def broken_texts(draw, text):
    """A text with pieces cut out, doubled, moved or replaced."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        new = draw(st.sampled_from(["", text[start:end] * 2, draw(st.sampled_from(WORDS)), draw(st.text(max_size=5))]))
        text = text[:start] + new + text[end:]
    return text


@st.composite
def broken_yaml(draw):
    """The analysis with a value, a key or a line replaced."""
    lines = list(YAML)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(lines) - 1))
        line, word = lines[place], draw(st.sampled_from(WORDS))
        key, colon, _ = line.partition(": ")
        inner = [end for end in range(len(line)) if line[end] in ",}]"]
        kinds = [word, f"{key}{colon or ': '}{word}", f"{line}\n{line}", f"  {line}", ""]
        if inner:
            end = draw(st.sampled_from(inner))
            start = max(line.rfind(mark, 0, end) for mark in " [{")
            kinds += [line[: start + 1] + word + line[end:]] * 3
        lines[place] = draw(st.sampled_from(kinds))
    text = "\n".join(lines) + "\n"
    return draw(broken_texts(text)) if draw(st.integers(0, 3)) == 0 else text


def nodes(document, path=()):
    yield path
    if isinstance(document, dict | list):
        for key, inner in document.items() if isinstance(document, dict) else enumerate(document):
            yield from nodes(inner, (*path, key))


@st.composite
def broken_documents(draw, documents):
    """A JSON document with values replaced, dropped or added."""
    document = json.loads(json.dumps(draw(st.sampled_from(documents))))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(nodes(document))))
        word = copy.deepcopy(draw(st.sampled_from(JSON_WORDS)))
        if not path:
            if draw(st.integers(0, 9)) == 0:
                document = word
            continue
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        match draw(st.integers(0, 3)):
            case 0 if isinstance(parent, dict):
                del parent[path[-1]]
            case 1 if isinstance(parent, dict):
                parent[draw(st.sampled_from(["is", "value", "more"]))] = word
            case 2:
                parent[path[-1]] = [parent[path[-1]]]
            case _:
                parent[path[-1]] = word
    return document


@st.composite
def broken_json(draw, documents):
    """As text; now and then with something that only a text can say."""
    text = json.dumps(draw(broken_documents(documents)))
    if draw(st.integers(0, 3)):
        return text
    wrong = ("NaN", "-Infinity", "1e400", "9" * 5000, "[" * 5000, '{"a": 1, "a": 2}', "")
    place = draw(st.integers(0, len(text)))
    return draw(st.sampled_from([text[:place] + draw(st.sampled_from(wrong)) + text[place:], text[:place], text + text]))


# What is right


def values():
    events = [
        dpkit.Repeat(event=dpkit.LaplaceEvent(ratio=0.5), times=3),
        dpkit.Compose(events=(dpkit.GaussianEvent(ratio=0.1), dpkit.PureEvent(epsilon=0.1))),
        dpkit.Parallel(events=(dpkit.ZCDPEvent(rho=0.1), dpkit.ApproxEvent(epsilon=0.1, delta=1e-9))),
        dpkit.Subsample(rate=0.01, event=dpkit.GaussianEvent(ratio=0.5)),
    ]
    losses = [
        dpkit.RDP(orders=(2.0, 3.0), epsilons=(0.1, 0.2)),
        dpkit.MeanCDP(mu=0.1, tau=0.2),
        dpkit.ApproxDP(epsilon=1.0, delta=1e-6),
    ]
    guarantees = [dpkit.account(event, name) for event in events[:2] for name in ("zcdp", "rdp", "pld", "best")]
    guarantees += [dpkit.account(events[0], name) for name in ("pure", "advanced", "cdp")]
    claim = dpkit.Laplace(scale=1.0).claims(dpkit.l1(1.0))[0]
    return [json.loads(dpkit.to_json(value)) for value in (*events, *losses, *guarantees, claim)]


@pytest.fixture(scope="module")
def written():
    return values()


@pytest.fixture(scope="module")
def certificates():
    found = dpkit.audit(dpkit.Laplace(scale=1.0), at=dpkit.l1(1.0), samples=500, rng=1)
    return [json.loads(one.to_json()) for one in found]


@pytest.fixture(scope="module")
def traces():
    event = dpkit.GaussianEvent(ratio=0.1)
    text = trace_json([], plan=dpkit.Repeat(event=event, times=2), neighbours=dpkit.Neighbours.ADD_REMOVE, accountant="zcdp")
    document = json.loads(text)
    release = {"key": "a/0", "queries": ["q"], "mechanisms": ["m"], "event": json.loads(dpkit.to_json(event)), "values": []}
    return [document, {**document, "releases": [release, release]}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("fuzz")
    (made / "people.csv").write_text("age,city,is_old,pay\n30,a,true,10\n")
    return made


@pytest.fixture(scope="module")
def ledgers(folder):
    path = folder / "right.ledger"
    budget = dpkit.ApproxDP(epsilon=1.0, delta=1e-6)
    with dpkit.Ledger.create(path, budget=budget, dataset="d", accountant="zcdp") as ledger:
        for run in ("one", "two"):
            ledger.reserve(run, dpkit.Repeat(event=dpkit.GaussianEvent(ratio=0.01), times=3))
            ticket = ledger.charge(run, dpkit.GaussianEvent(ratio=0.01), key="0")
            ledger.released(ticket, 1.5)
    return path.read_bytes()


# The readers


def read_analysis(folder, text):
    path = folder / "analysis.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        plan = load(path).plan()
    except DpkitError as error:
        refused = error
    else:
        is_seen(str(plan))
        json.dumps(plan.as_json(), allow_nan=False)
        return
    is_seen(str(refused))
    if isinstance(refused, SpecError):
        assert refused.problems
        assert all(problem.line >= 1 and problem.column >= 1 and problem.found for problem in refused.problems)
        assert "analysis.yaml:" in str(refused)


def read_value(text):
    with contextlib.suppress(DpkitError):
        value = dpkit.from_json(text)
        repr(value)
        if isinstance(value, Event):
            dpkit.account(value, "zcdp").epsilon(delta=1e-6)
        if isinstance(value, dpkit.Guarantee):
            is_seen(str(value))


def read_certificate(text):
    with contextlib.suppress(DpkitError):
        certificate = AuditCertificate.from_json(text)
        shown(certificate)
    document = None
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(text)
    if isinstance(document, dict):
        with contextlib.suppress(DpkitError):
            shown(AuditCertificate.from_json(json.dumps({**document, "digest": ""})))  # anybody can seal anything


def shown(certificate):
    is_seen(str(certificate))
    as_html([certificate])
    recipe = read_recipe(certificate.recipe)
    for part in recipe.values():
        for read in (decode, decode_pairs):
            with contextlib.suppress(DpkitError):
                read(part)


def read_trace(folder, text):
    path = folder / "trace.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with contextlib.suppress(DpkitError):
        is_seen(str(audit_trace(path)))
    with contextlib.suppress(DpkitError):
        Head.from_json(text)


def read_ledger(folder, content):
    path = folder / "broken.ledger"
    for ending in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    path.write_bytes(content)
    with contextlib.suppress(DpkitError):
        for problem in verify_file(path).problems:
            is_seen(str(problem))
    with contextlib.suppress(DpkitError), dpkit.Ledger.open(path) as ledger:
        ledger.balance()
        ledger.entries()
        ledger.fits(dpkit.GaussianEvent(ratio=0.01))


@st.composite
def broken_bytes(draw, content):
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.integers(0, 4)):
            case 0:
                del data[place:]
            case 1:
                length = draw(st.integers(1, 512))
                data[place : place + length] = bytes(len(data[place : place + length]))
            case 2:
                data[place:place] = draw(st.binary(max_size=16))
            case _ if data:
                data[min(place, len(data) - 1)] ^= 1 << draw(st.integers(0, 7))
    return bytes(data)


READERS = ("analyses", "values", "certificates", "traces", "ledgers")


def fuzz(reader, folder, right, examples, number=None):
    """Run one reader over a number of broken inputs; with a number, over those of that number."""
    strategies = {
        "analyses": lambda: (broken_yaml(), lambda text: read_analysis(folder, text)),
        "values": lambda: (broken_json(right["written"]), read_value),
        "certificates": lambda: (broken_json(right["certificates"]), read_certificate),
        "traces": lambda: (broken_json(right["traces"]), lambda text: read_trace(folder, text)),
        "ledgers": lambda: (broken_bytes(right["ledgers"]), lambda content: read_ledger(folder, content)),
    }
    strategy, read = strategies[reader]()

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=number is None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def check(broken):
        with within_a_minute():
            read(broken)

    (check if number is None else seed(number)(check))()


@pytest.fixture(scope="module")
def right(written, certificates, traces, ledgers):
    return {"written": written, "certificates": certificates, "traces": traces, "ledgers": ledgers}


@pytest.mark.parametrize("reader", READERS)
def test_a_broken_input_is_one_error(reader, folder, right):
    fuzz(reader, folder, right, 25)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_a_broken_input_is_one_error_for_an_hour(reader, folder, right):
    seconds = 60.0 * float(os.environ.get("DPKIT_FUZZ_MINUTES", "60")) / len(READERS)
    number = int(os.environ.get("DPKIT_FUZZ_SEED", "0"))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        fuzz(reader, folder, right, 200, number)
        number += 1
