"""Programs and services as targets: a command that is given a file, and an address that is sent a dataset as JSON.

What they answer is read as JSON, else as numbers, else as a text; a program that fails, or a service that refuses, has that as
its outcome. Neither is given our random numbers, so `confirm` confirms them, by fresh draws.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from dpkit.errors import InvalidValueError

_PATIENCE = 600.0
_LONGEST = 1 << 20
"""Characters of an answer that are read."""


class ProgramFailed(Exception):  # noqa: N818 - an outcome, not a fault
    """A program ended with another code than 0, or a service refused."""


class CommandTarget:
    """A command with `{data}` for the path of a file with the dataset: a table as CSV, anything else as JSON.

    `{seed}` is a whole number that differs from call to call. No shell is involved. `jobs` programs run side by side.
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
        self._jobs, self._timeout = jobs, timeout

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> list[object]:
        """n runs."""
        seeds = [int(seed) for seed in rng.integers(2**31, size=n)]
        with tempfile.TemporaryDirectory() as folder:
            path = data_file(dataset, Path(folder))
            if self._jobs == 1:
                return [self._run(path, seed) for seed in seeds]
            with ThreadPoolExecutor(self._jobs) as pool:
                return list(pool.map(lambda seed: self._run(path, seed), seeds))

    def _run(self, path: Path, seed: int) -> object:
        words = [word.replace("{data}", str(path)).replace("{seed}", str(seed)) for word in self.words]
        try:
            done = subprocess.run(
                words, capture_output=True, timeout=self._timeout or _PATIENCE, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return ProgramFailed("it took too long")
        except OSError as error:
            raise InvalidValueError(
                field="command", found=f"{words[0]} ({error.strerror})", allowed="a program that can be run", where="audit"
            ) from None
        if done.returncode:
            return ProgramFailed(f"exit code {done.returncode}")
        return answer(done.stdout.decode("utf-8", "replace"))


class HttpTarget:
    """An address that is sent the dataset as JSON by POST, once for every output, and answers with JSON or a text."""

    independent = True

    def __init__(self, url: str, *, jobs: int = 1, timeout: float | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidValueError(
                field="http", found=url, allowed="an address that begins with http:// or https://", where="audit"
            )
        self.url, self._jobs, self._timeout = url, jobs, timeout

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> list[object]:
        """n requests."""
        body = json.dumps(plain(dataset)).encode()
        if self._jobs == 1:
            return [self._ask(body) for _ in range(n)]
        with ThreadPoolExecutor(self._jobs) as pool:
            return list(pool.map(lambda _: self._ask(body), range(n)))

    def _ask(self, body: bytes) -> object:
        asked = urllib.request.Request(self.url, data=body, headers={"Content-Type": "application/json"}, method="POST")
        try:
            with urllib.request.urlopen(asked, timeout=self._timeout or _PATIENCE) as reply:
                return answer(reply.read(_LONGEST).decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            return ProgramFailed(f"status {error.code}")
        except TimeoutError:
            return ProgramFailed("it took too long")
        except urllib.error.URLError as error:
            raise InvalidValueError(
                field="http",
                found=f"{self.url} ({type(error.reason).__name__})",
                allowed="a service that answers",
                where="audit",
            ) from None


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
    """A file with the dataset: the very file where it is a path, a table as CSV, anything else as JSON."""
    if isinstance(dataset, Path):
        return dataset
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
