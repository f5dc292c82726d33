"""A value planted in the data leaves by no way out of a release that fails: text, chain, warning, stderr, log or ledger."""

import gc
import logging
import traceback
import warnings
from dataclasses import replace

import numpy as np
import pytest
from release.algorithms import total_query

import dpkit
from dpkit.contracts.table import Batch, Cells
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import LedgerStorageError, ReleaseFailedError, kind_of
from dpkit.release.curator import DataCurator, Purse, planned_event

NUMBER, TEXT = 987654321.123, "CANARYxyz"
ROW = f"row {NUMBER} {TEXT}"
SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0),))
SETTING = DeclaredSetting(schema=SCHEMA)
NOISE = dpkit.Gaussian(scale=2.0)
EVENT = planned_event(SETTING, total_query(), NOISE)

RAISED = [
    ValueError(ROW),
    KeyError(TEXT),
    MemoryError(ROW),
    SystemExit(ROW),
    KeyboardInterrupt(ROW),
    GeneratorExit(ROW),
    BaseException(ROW),
    ExceptionGroup(ROW, [ValueError(ROW)]),
    dpkit.SourceError(source="it", reason=ROW),
    type(f"Error{TEXT}", (LookupError,), {})(ROW),  # a class that is named after a value
    type("Ä" * 99, (Exception,), {})(ROW),  # and one whose name a ledger would refuse
]


@pytest.fixture(scope="module", autouse=True)
def _old_things_stay():
    """What was there before these tests is not walked over each time that they collect."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _forgotten():
    """These errors outlive a test, and so would the readers in their frames."""
    yield
    for error in RAISED:
        error.__traceback__ = error.__context__ = None
    gc.collect()


class Failing:
    """A plugin's table that gives some rows and then fails, or fails when it is closed."""

    names = ("x",)

    def __init__(self, error, *, when):
        self.error, self.when = error, when

    def batches(self, names, rows):
        try:
            if self.when == "warn":
                warnings.warn(ROW, stacklevel=1)
            for _ in range(50):
                yield Batch(rows=1, cells={name: Cells(values=np.array([NUMBER])) for name in names})
            if self.when == "read":
                raise self.error
        finally:
            if self.when == "close":
                raise self.error


class Noise:
    """A plugin's noise that quotes what it is given."""

    def __init__(self, error=None):
        self.error = error

    def event(self, at):
        return NOISE.event(at=at)

    def release(self, value, rng):
        if np.any(value):
            if self.error is not None:
                raise self.error
            warnings.warn(ROW, stacklevel=1)
        return value * 0.0


def everything_of(error, seen=()):
    """All texts of an error, of those that it came of, and of those in it."""
    if error is None or error in seen:
        return ""
    inner = [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]
    own = [type(error).__name__, *traceback.format_exception(error, chain=False), repr(error), repr(vars(error))]
    return "\n".join([*own, *(everything_of(other, (*seen, error)) for other in inner)])


@pytest.fixture
def shows_nothing(capfd, caplog, recwarn):
    """`shows_nothing(error)` looks at everything that came out."""
    caplog.set_level(logging.DEBUG)
    warnings.simplefilter("always")

    def check(error=None, *texts):
        gc.collect()
        out, err = capfd.readouterr()
        shown = [out, err, caplog.text, *(str(warning.message) for warning in recwarn), everything_of(error), *texts]
        found = [text for text in shown if "987654321" in text or TEXT in text]
        assert not found, found[0][:500]

    return check


def failure(table, *, query=None, noise=NOISE, purse=None, in_memory=False):
    source = dpkit.open_source(table, SCHEMA, in_memory=in_memory)
    curator = DataCurator(engine=dpkit.BlockEngine(source, block_bytes=8), setting=SETTING, purse=purse or Purse(EVENT))
    try:
        curator.release(total_query() if query is None else query, noise)
    except BaseException as error:  # noqa: BLE001 - whatever comes is looked at
        return error
    return None


def failing_query(error):
    def rows(block):
        if block.shape[0] != 3:  # not on the made-up rows
            raise error
        return np.zeros(3)

    return replace(total_query(), rows=rows)


@pytest.mark.parametrize("error", RAISED, ids=kind_of)
def test_what_a_plugin_raises_is_told_by_its_kind_alone(error, shows_nothing):
    found = [
        failure(Failing(error, when="read")),
        failure(Failing(error, when="read"), in_memory=True),
        failure({"x": [NUMBER] * 9}, noise=Noise(error)),
    ]
    for one in found:
        assert type(one) is (type(error) if isinstance(error, KeyboardInterrupt | SystemExit) else ReleaseFailedError)
        shows_nothing(one)


@pytest.mark.parametrize("error", RAISED, ids=kind_of)
def test_a_row_on_which_a_query_fails_contributes_nothing_however_it_fails(error, shows_nothing):
    found = failure({"x": [NUMBER] * 9}, query=failing_query(error))
    assert (found is None) == (not isinstance(error, MemoryError | KeyboardInterrupt))
    shows_nothing(found)


@pytest.mark.parametrize("error", RAISED, ids=kind_of)
@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_a_table_raises_when_it_is_closed_is_not_printed(error, in_memory, shows_nothing):
    found = failure(Failing(error, when="close"), query=failing_query(MemoryError(ROW)), in_memory=in_memory)
    assert found is not None
    shows_nothing(found)


def test_warnings_of_plugins_are_not_passed_on(shows_nothing):
    assert failure(Failing(None, when="warn")) is None
    assert failure({"x": [NUMBER] * 9}, noise=Noise()) is None
    shows_nothing()


@pytest.mark.parametrize("error", RAISED, ids=kind_of)
def test_a_ledger_keeps_the_kind_and_no_text(error, shows_nothing, tmp_path):
    path = tmp_path / "it.ledger"
    with dpkit.Ledger.create(path, budget=dpkit.ZCDP(rho=9.0), dataset="it") as ledger:
        found = failure(Failing(error, when="read"), purse=Purse(EVENT, run="one", ledger=ledger))
        last = ledger.entries()[-1]
    assert (last.kind, last.body["reason"]) == ("fail", kind_of(error))
    shows_nothing(found, *(file.read_bytes().decode("latin-1") for file in tmp_path.iterdir()))


def test_a_ledger_that_cannot_record_a_failure_does_not_show_it(shows_nothing):
    class Full(Purse):
        def failed(self, charge, reason):
            raise LedgerStorageError(path="it.ledger", reason="the disk is full.")

    found = failure(Failing(ValueError(ROW), when="read"), purse=Full(EVENT))
    assert isinstance(found, LedgerStorageError)
    shows_nothing(found)


@pytest.mark.parametrize("error", [error for error in RAISED if not isinstance(error, KeyboardInterrupt | dpkit.DpkitError)])
def test_counting_rows_and_naming_columns_of_a_plugins_table_shows_nothing(error, shows_nothing):
    class Nameless(Failing):
        @property
        def names(self):
            raise self.error

    source = dpkit.open_source(Failing(error, when="read"), SCHEMA, neighbours=dpkit.Neighbours.REPLACE_ONE)
    with pytest.raises(dpkit.SourceError, match="cannot be counted") as counted:
        source.public_rows()
    with pytest.raises(dpkit.SourceError, match="names of its columns") as named:
        dpkit.open_source(Nameless(error, when="read"), SCHEMA)
    shows_nothing(counted.value)
    shows_nothing(named.value)
