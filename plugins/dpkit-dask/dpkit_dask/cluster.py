"""A cluster that is reached or started, found fit before anything is charged, and left at the end."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from typing import Any

import dask
import distributed
from distributed.security import Security

from dpkit import DpkitError
from dpkit.authoring import dataclass
from dpkit_dask import tasks

_PRIVATE = {
    "distributed.worker.memory.spill": False,  # nothing that a task returns is written to disk
    "distributed.worker.memory.target": False,
    "distributed.scheduler.http.routes": [],  # and no page tells about the work
    "distributed.worker.http.routes": [],
}


_ATTEMPTS = 4


class ClusterError(DpkitError):
    """A cluster cannot be used. Only public facts come here, and nothing was charged for what was asked."""

    def __init__(self, *, address: str, reason: str, fix: str = "") -> None:
        self.address = address
        self.reason = reason
        super().__init__(f"Cannot use the Dask cluster at {address}: {reason}{' ' + fix if fix else ''}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """The files with which a client of a TLS cluster shows who it is."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def security(self) -> Security | None:
        """What Dask makes of them; None where no file is given."""
        if not (self.ca or self.cert or self.key):
            return None
        return Security(tls_ca_file=self.ca, tls_client_cert=self.cert, tls_client_key=self.key, require_encryption=True)


class Cluster:
    """A client of a cluster, and the cluster itself where it was started here."""

    def __init__(self, client: distributed.Client, *, address: str, timeout: float, local: Any = None) -> None:
        self.client = client
        self.address = address
        self.timeout = timeout
        self._local = local

    @classmethod
    def at(cls, address: str, *, certificates: Certificates, timeout: float) -> Cluster:
        """The cluster of a scheduler that is running."""
        if not address.strip():  # Dask would start a cluster of its own
            fix = "Give the scheduler's, such as tls://host:8786, or leave `address` out for a cluster of this machine."
            raise ClusterError(address=repr(address), reason="the address is empty.", fix=fix)
        try:
            with _quiet():
                client = distributed.Client(
                    address, timeout=timeout, security=certificates.security(), set_as_default=False, name="dpkit"
                )
        except Exception as error:  # noqa: BLE001 - Dask raises anything, even assertions; nothing but public facts is known yet
            silent = isinstance(error, OSError | TimeoutError)
            reason = f"it does not answer within {timeout:g} seconds" if silent else "address or certificates make no sense"
            raise ClusterError(
                address=address,
                reason=f"{reason} ({type(error).__name__}).",
                fix="Is the scheduler running, is the address right, and does TLS need `tls_ca`, `tls_cert` and `tls_key`?",
            ) from None
        found = cls(client, address=address, timeout=timeout)
        try:
            found.wait_for_workers()
        except BaseException:
            found.close()
            raise
        return found

    @classmethod
    def local(cls, *, workers: int | None, timeout: float) -> Cluster:
        """Processes on this machine. They speak TLS with fresh certificates: other users of the machine are kept out."""
        local = None
        try:
            with dask.config.set(_PRIVATE):
                local = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    security=Security.temporary(),
                    protocol="tls://",
                )
            client = distributed.Client(local, timeout=max(timeout, 30.0), set_as_default=False)
        except Exception as error:  # noqa: BLE001 - as above
            if local is not None:
                local.close()
            raise ClusterError(
                address="this machine",
                reason=f"its processes do not start ({type(error).__name__}).",
                fix='Is there memory for them, and does the script have `if __name__ == "__main__":`?',
            ) from None
        return cls(client, address="this machine", timeout=max(timeout, 60.0), local=local)

    def wait_for_workers(self) -> None:
        """At least one worker, or an error."""
        try:
            self.client.wait_for_workers(1, timeout=self.timeout)
        except (TimeoutError, OSError):
            raise self.error("it has no worker.", fix="Start workers, or wait until they have joined.") from None

    def count_workers(self) -> int:
        """How many workers there are now; none when the scheduler is lost."""
        try:
            return len(self.client.nthreads())
        except (OSError, TimeoutError, ValueError, RuntimeError):
            return 0

    def machine_kind(self) -> str:
        """What all workers are; refused where they differ, since a row's contribution must depend on the row alone."""
        kinds: Sequence[str] = self.everywhere(tasks.machine_kind)
        if len(set(kinds)) != 1:
            raise self.error(
                "its workers differ in processor, Python, dpkit, plugins or other packages: a row might count differently.",
                fix="Use workers of one kind, with one environment.",
            )
        there, here = set(self.everywhere(tasks.plugin_versions)[0]), tasks.plugin_versions()
        missing = [version for version in here if version not in there]
        if missing:
            raise self.error(f"its workers lack {', '.join(missing)}.", fix="Install there what is installed here.")
        return kinds[0]

    def everywhere(self, function: Any, *arguments: object) -> Sequence[Any]:
        """What a function says on each worker."""
        kind = ""
        for attempt in range(_ATTEMPTS):
            self.wait_for_workers()
            try:
                return list(self.client.run(function, *arguments).values())
            except OSError as error:  # a worker that went while it was asked; others, or its successor, will answer
                kind = type(error).__name__
                time.sleep(attempt)
            except Exception as error:  # noqa: BLE001 - no row is read there; what fails is the cluster, or its environment
                kind = type(error).__name__
                break
        fix = "Is dpkit-dask installed on every worker, in the version that is installed here?"
        raise self.error(f"its workers cannot be asked ({kind}).", fix=fix)

    def error(self, reason: str, *, fix: str = "") -> ClusterError:
        """An error of this cluster."""
        return ClusterError(address=self.address, reason=reason, fix=fix)

    def close(self) -> None:
        """Leave the cluster; one that was started here is ended."""
        with _quiet():
            self.client.close()
            if self._local is not None:
                self._local.close()


@contextlib.contextmanager
def _quiet() -> Any:
    """Dask tells about connections that end; whoever reads the log of an analysis need not know."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
