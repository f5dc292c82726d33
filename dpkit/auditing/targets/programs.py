"""Programs and services as targets: a command that is given a file, and an address that is sent a dataset as JSON.

What they answer is read as JSON, else as numbers, else as a text; a program that fails, or a service that refuses, has that as
its outcome. Neither is given our random numbers, so `confirm` confirms them, by fresh draws.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from dpkit.auditing.call_timer import seconds_left
from dpkit.errors import InvalidValueError

_PATIENCE = 600.0
_GROUPS = hasattr(os, "killpg")
_LONGEST = 1 << 20
"""Characters of an answer that are read."""


class ProgramFailed(Exception):  # noqa: N818 - an outcome, not a fault
    """A program ended with another code than 0, or a service refused."""


class NoSuchProgram(ProgramFailed):
    """A program that could not be started."""


class NoAnswer(ProgramFailed):
    """A service that was not reached, or an answer that ended too soon."""


class CommandTarget:
    """A command with `{data}` for the path of a file with the dataset: a table as CSV, anything else as JSON.

    Both datasets have the same path, so that a program which prints it tells nothing: a file that is given is copied there, and
    stays as it is. `{seed}` is a whole number that differs from call to call. No shell is involved. `jobs` programs run side by
    side.
    """

    independent = True

    def __init__(self, command: str, *, jobs: int = 1, timeout: float | None = None) -> None:
        self.words, self.text = shlex.split(command), command
        if not self.words or not any("{data}" in word for word in self.words):
            raise InvalidValueError(
                field="command",
                found=command,
                allowed="a command with {data} where the path of the dataset stands",
                where="audit",
            )
        if shutil.which(self.words[0]) is None:
            raise InvalidValueError(field="command", found=self.words[0], allowed="a program that can be run", where="audit")
        self._jobs, self._timeout = jobs, timeout
        self._folder = ""
        self._running: set[subprocess.Popen[bytes]] = set()

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> list[object]:
        """n runs."""
        seeds = [int(seed) for seed in rng.integers(2**31, size=n)]
        if not self._folder:
            self._folder = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = data_file(dataset, Path(self._folder))
        return _side_by_side(lambda seed: self._run(path, seed), seeds, self._jobs, give_up=self._end_all)

    def _run(self, path: Path, seed: int) -> object:
        words = [word.replace("{data}", str(path)).replace("{seed}", str(seed)) for word in self.words]
        try:
            program = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=_GROUPS
            )
        except OSError as error:
            return NoSuchProgram(error.strerror or "")
        self._running.add(program)
        try:
            written, _ = program.communicate(timeout=self._timeout or _PATIENCE)
        except subprocess.TimeoutExpired:
            return ProgramFailed("it took too long")
        finally:
            _end(program)
            if program.stdout is not None:
                program.stdout.close()
            self._running.discard(program)
        if program.returncode:
            return ProgramFailed(f"exit code {program.returncode}")
        return answer(written.decode("utf-8", "replace"))

    def _end_all(self) -> None:
        for program in list(self._running):
            _end(program)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirection is an outcome: what follows one does not send the dataset again."""

    def redirect_request(self, *asked: object) -> None:
        """None: the reply counts as it is."""


class HttpTarget:
    """An address that is sent the dataset as JSON by POST, once for every output, and answers with JSON or a text.

    A status that is no success, redirections among them, is an outcome.
    """

    independent = True

    def __init__(self, url: str, *, jobs: int = 1, timeout: float | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidValueError(
                field="http", found=url, allowed="an address that begins with http:// or https://", where="audit"
            )
        self.url, self._jobs, self._timeout = url, jobs, timeout
        self._opener = urllib.request.build_opener(_NoRedirects)

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> list[object]:
        """n requests."""
        body = json.dumps(plain(dataset)).encode()
        return _side_by_side(lambda _: self._ask(body), range(n), self._jobs)

    def _ask(self, body: bytes) -> object:
        asked = urllib.request.Request(self.url, data=body, headers={"Content-Type": "application/json"}, method="POST")
        try:
            with self._opener.open(asked, timeout=seconds_left(self._timeout or _PATIENCE)) as reply:
                read = reply.read(_LONGEST)
                if reply.length and len(read) < _LONGEST:
                    return NoAnswer("it ended too soon")
                return answer(read.decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            return ProgramFailed(f"status {error.code}")
        except TimeoutError:
            return ProgramFailed("it took too long")
        except urllib.error.URLError as error:
            return ProgramFailed("it took too long") if isinstance(error.reason, TimeoutError) else NoAnswer()
        except (OSError, http.client.HTTPException):
            return NoAnswer()


def _side_by_side(
    ask: Callable[[int], object], asked: Iterable[int], jobs: int, *, give_up: Callable[[], None] = lambda: None
) -> list[object]:
    """What is asked, by so many threads; `give_up` where time is up, so that no thread goes on."""
    if jobs == 1:
        return [ask(one) for one in asked]
    pool = ThreadPoolExecutor(jobs)
    try:
        return list(pool.map(ask, asked))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        give_up()
        raise
    finally:
        pool.shutdown(wait=False)


def _end(program: subprocess.Popen[bytes]) -> None:
    """End a program that goes on, with the programs that it has started."""
    if program.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL) if _GROUPS else program.kill()
        program.wait()


def answer(text: str) -> object:
    """What a program printed: JSON, else numbers (one alone as a number), else the text without spaces at its ends."""
    text = text[:_LONGEST].strip()
    try:
        found = json.loads(text)
    except ValueError:
        words = text.replace(",", " ").split()
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            return text
        return (numbers[0] if len(numbers) == 1 else np.asarray(numbers)) if numbers else text
    if (
        isinstance(found, list)
        and found
        and all(isinstance(item, int | float) and not isinstance(item, bool) for item in found)
    ):
        return np.asarray(found, dtype=np.float64)
    return float(found) if isinstance(found, int) and not isinstance(found, bool) else found


def data_file(dataset: object, folder: Path) -> Path:
    """A file with the dataset in this folder: a copy where it is a path, a table as CSV, anything else as JSON."""
    if isinstance(dataset, Path):
        path = folder / f"data{dataset.suffix}"
        shutil.copyfile(dataset, path)
        return path
    if hasattr(dataset, "to_csv"):
        path = folder / "data.csv"
        dataset.to_csv(path, index=False)
        return path
    path = folder / "data.json"
    path.write_text(json.dumps(plain(dataset)), encoding="utf-8")
    return path


def plain(dataset: object) -> object:
    """As JSON holds it."""
    if hasattr(dataset, "to_dict") and hasattr(dataset, "columns"):
        return {str(name): plain(list(dataset[name])) for name in dataset.columns}  # type: ignore[index]
    if isinstance(dataset, np.ndarray | np.generic):
        return dataset.tolist()
    if isinstance(dataset, dict):
        return {str(key): plain(value) for key, value in dataset.items()}
    return [plain(item) for item in dataset] if isinstance(dataset, list | tuple) else dataset
