"""No row leaves the workers: every message that reaches the scheduler, the client or another worker is looked into."""

from importlib.metadata import version
from types import SimpleNamespace

import distributed.comm.tcp
import numpy as np
import pytest
from dpkit_dask import DASK, tasks
from dpkit_dask.engine import DaskEngine
from dpkit_dask.tasks import machine_kind

import dpkit
from dpkit.authoring.engines import plan_sums


def listen():
    """Keep what every message that arrives in this process holds, from now on."""
    import distributed.comm.tcp as tcp

    if not hasattr(tcp, "dpkit_heard"):
        tcp.dpkit_heard = []
        original = tcp.from_frames

        async def from_frames(frames, *arguments, **options):
            tcp.dpkit_heard.extend(bytes(frame) for frame in frames)
            return await original(frames, *arguments, **options)

        tcp.from_frames = from_frames
    tcp.dpkit_heard.clear()


def heard(*hidden):
    """How many bytes have arrived, and whether any message held one of these, which come written backwards."""
    import distributed.comm.tcp as tcp

    return sum(map(len, tcp.dpkit_heard)), any(needle[::-1] in frame for frame in tcp.dpkit_heard for needle in hidden)


@pytest.fixture
def listening(address, files, schema):
    """An engine of many parts, with an ear in this process (client and scheduler) and in every worker."""
    source = dpkit.open_source(files / "one.parquet", schema, unit=dpkit.PrivacyUnit(column="who", at_most=20))
    engine = DASK.over(source, address=address, partition_bytes=1)
    client = engine._cluster.client
    client.wait_for_workers(2, timeout=120)  # one may have been killed by another test
    client.run(listen)
    listen()
    yield engine, client
    distributed.comm.tcp.dpkit_heard.clear()
    engine.close()


def needles(queries):
    return np.float64(queries.CANARY).tobytes()[::-1], repr(queries.CANARY).encode()[::-1]


def test_only_exact_sums_travel(listening, queries):
    engine, client = listening
    assert isinstance(engine, DaskEngine)
    asked = [queries.total(), queries.products()]
    engine.check(asked)
    totals = engine.evaluate(asked)
    here = heard(*needles(queries))
    there = client.run(heard, *needles(queries)).values()
    assert totals[0].nearest() != 0.0
    assert here[0] > 1000  # the ear works, and heard
    assert not here[1]
    assert all(size > 0 and not found for size, found in there)


def test_a_row_that_travelled_would_be_heard(listening, queries):
    engine, client = listening
    part = engine._parts[0]
    block = client.submit(lambda part: next(part.blocks(["x"], 100)), part, pure=False).result()
    assert queries.CANARY in block
    assert heard(*needles(queries))[1]


def test_too_little_memory_on_a_worker_does_not_say_for_how_many_rows():
    from dpkit_dask.tasks import partial_sum

    class Part:
        def blocks(self, *_, **__):
            raise MemoryError("Unable to allocate an array with shape (7301, 2)")

    plan = SimpleNamespace(zero=tuple, columns=())
    with pytest.raises(MemoryError) as caught:
        partial_sum(Part(), None, plan=plan, rows=1, machine=machine_kind())
    assert str(caught.value) == ""
    assert caught.value.__context__ is None


def test_what_a_row_might_count_differently_by_is_told():
    kind = machine_kind()
    for package in ("numpy", "scipy", "pyarrow", "dpkit", "dpkit-dask"):
        assert f"{package} {version(package)}" in kind


def test_an_error_on_a_worker_shows_no_row(listening, queries):
    _, client = listening
    from dpkit_dask.tasks import PartFailedError, rehearsed

    with pytest.raises(PartFailedError) as caught:
        client.submit(rehearsed, b"not a pickle", np.array([[queries.CANARY]]), pure=False).result()
    assert str(queries.CANARY) not in repr(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", [ValueError, MemoryError, SystemExit])
def test_what_fails_on_a_worker_is_named_by_its_kind_alone(kind):
    """Workers write what fails to their logs, and send it on: its text may quote a row, so it stays where it is."""

    class Failing:
        def blocks(self, columns, rows, *, kept):
            raise kind("row 7301.424242")

    with pytest.raises(MemoryError if kind is MemoryError else tasks.PartFailedError) as caught:
        tasks.partial_sum(Failing(), None, plan=plan_sums([], ["x"]), rows=1, machine=tasks.machine_kind())
    assert str(caught.value) == ("" if kind is MemoryError else kind.__name__)
    assert caught.value.__context__ is None
