"""One call, one outcome."""

import threading

import numpy as np
import pytest

from dpkit.auditing.outcomes import NoOutput, canonical
from dpkit.auditing.single_calls import call_once


def endless():
    while True:
        pass


def fails():
    raise LookupError("data")


@pytest.mark.parametrize(
    ("call", "expected"),
    [(lambda: [3.0], 3.0), (lambda: np.array([[1.0, 2.0]]), [1.0, 2.0]), (lambda: (None,), None), (lambda: ["text"], "text")],
)
def test_one_output_is_itself(call, expected):
    found = call_once(call, None)
    assert found == expected if not isinstance(found, np.ndarray) else found.tolist() == expected


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (fails, "raised LookupError"),
        (lambda: exit(3), "raised SystemExit"),
        (lambda: None, "not one output but None"),
        (lambda: "t", "not one output but text"),
        (lambda: [1.0, 2.0], "not one output but list of 2"),
        (lambda: {"a": 1}, "not one output but dict of 1"),
    ],
)
def test_what_is_no_output_is_refused_by_its_kind(call, kind):
    found = call_once(call, None)
    assert isinstance(found, NoOutput)
    assert canonical(found).kind == kind


def test_time_is_up_in_the_main_thread_and_beside_it():
    assert canonical(call_once(endless, 0.01)).kind == "timed out"
    found = []
    beside = threading.Thread(target=lambda: found.append(call_once(lambda: [sum(range(200_000))], 1e-6)))
    beside.start()
    beside.join()
    assert canonical(found[0]).kind == "timed out"
    assert call_once(lambda: [1.0], 10.0) == 1.0
