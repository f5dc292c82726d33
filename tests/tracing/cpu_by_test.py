"""The CPU time of each test, child processes that it waited for included: `pytest -p tracing.cpu_by_test --cpu FILE`."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest


def seconds() -> float:
    """User and system time of this process and of its ended children."""
    uses = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", metavar="FILE", help="append the CPU seconds of each test to this file")


class Watch:
    """Appends one line a test, and one for all that is no test: collection, and what sessions end with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.between = 0.0  # CPU time at the end of the last test
        self.write("start", seconds())

    def write(self, name: str, spent: float) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{spent:.2f}\t{name}\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = seconds()
        result = yield
        self.write(item.nodeid, seconds() - before)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        before = seconds()
        result = yield
        self.write("collection", seconds() - before)
        return result

    def pytest_unconfigure(self) -> None:
        self.write("whole process", seconds())


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--cpu")
    if path:
        config.pluginmanager.register(Watch(Path(path)), "cpu by test")
