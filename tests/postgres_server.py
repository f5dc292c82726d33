"""A real PostgreSQL server for tests, from the distribution's package: started in a folder of its own, stopped at the end."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/bin")


def _place() -> str:
    """In memory where there is room: a database is a thousand files, and to remove them from a disk takes long."""
    memory = Path("/dev/shm")
    return str(memory) if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30 else "/tmp"


def program(name: str) -> str | None:
    """Where a program of the server lies; distributions keep them off the path."""
    found = shutil.which(name)
    if found:
        return found
    candidates = [path / name for pattern in _PLACES for path in sorted(Path("/").glob(pattern[1:]), reverse=True)]
    return next((str(path) for path in candidates if path.exists()), None)


class Server:
    """One cluster. `address(database)` is where a client finds it; `trust`: every user is let in without a password."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dpkit-pg-", dir=_place() if folder is None else folder))
        # the server refuses to run as root; its package makes a user of its own
        self.user = "postgres" if os.name == "posix" and os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.data = self.folder / "data"
        initdb = program("initdb")
        assert initdb is not None
        self._run([initdb, "-D", str(self.data), "-U", "admin", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"])
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _run(self, command: list[str]) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, user=self.user)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        postgres = program("postgres")
        assert postgres is not None
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "fsync": "off",
            "max_connections": 60,
            "logging_collector": "off",
        }
        options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [postgres, "-D", str(self.data), *options], stdout=log, stderr=log, cwd=self.folder, user=self.user
            )
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0 and self._answers():
                    return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:])

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.address("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def address(self, database: str, *, user: str = "admin", port: int | None = None) -> str:
        """Where a client finds a database."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def new_database(self, name: str) -> str:
        """An empty database."""
        import psycopg

        with psycopg.connect(self.address("postgres"), autocommit=True) as raw:
            raw.execute(f'CREATE DATABASE "{name}"')
        return self.address(name)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends its sessions, SIGQUIT is a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=60)
            self.process = None

    def remove(self) -> None:
        """Stop it, and leave nothing. Nobody waits until its many files are gone."""
        self.stop(signal.SIGQUIT)
        subprocess.run(
            ["sh", "-c", 'rm -rf "$0" &', str(self.folder)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


def missing() -> str | None:
    """Why there can be no server here; None where there can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'dpkit[postgres]'"
    if program("initdb") is None or program("postgres") is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    if os.name == "posix" and os.geteuid() == 0 and getpass.getuser() == "root" and not _has_user("postgres"):
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def _has_user(name: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
