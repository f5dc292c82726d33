"""`dpkit` for tests of many commands: one process that has loaded everything, and forks for each command.

A command is a process of its own, with its folder, its streams and its exit code; only what it would load is there already,
which is most of its CPU time. `with warm_dpkit(script, environment)` writes the script that a shell calls.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

LOADED = ("cli", "analysis", "report", "release", "auditing.certificates", "data", "accountants", "mechanisms")
"""The folders of dpkit that commands load."""
NOT_LOADED = ("__main__", "opacus_training", "postgres_store")


def serve(path: str) -> None:
    """Fork for each command that comes, and answer with its exit code."""
    from dpkit.hooks.manager import default_registry

    default_registry()
    for folder in LOADED:
        package = importlib.import_module(f"dpkit.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(NOT_LOADED):
                importlib.import_module(module.name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen()
    os.rename(f"{path}.new", path)  # whoever sees the path can connect
    while True:
        client, _ = listener.accept()
        with client:
            text, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
            child = os.fork()
            if child == 0:
                listener.close()
                _command(json.loads(text), streams)
            for stream in streams:
                os.close(stream)
            _, status = os.waitpid(child, 0)
            client.send(bytes([os.waitstatus_to_exitcode(status) & 255]))


def _command(asked: dict[str, object], streams: list[int]) -> None:
    """In the child: the command, as `python -m dpkit.cli` runs it."""
    from dpkit.cli.start import start

    code = 1
    try:
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        os.chdir(str(asked["folder"]))
        sys.argv = ["dpkit", *map(str, asked["arguments"])]  # type: ignore[call-overload]
        sys.path.insert(0, str(asked["folder"]))
        start()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:  # noqa: BLE001 a child that ends for any reason says why
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [json.dumps(dict(folder=os.getcwd(), arguments=sys.argv[1:])).encode()], [0, 1, 2])
    sys.exit(server.recv(1)[0])
"""


@contextlib.contextmanager
def warm_dpkit(script: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Write a script that runs commands of dpkit in children of one process, as long as this lasts."""
    folder = tempfile.mkdtemp()  # a short path: addresses of sockets have about 100 letters
    path = Path(folder, "commands")
    server = subprocess.Popen([sys.executable, __file__, str(path)], env=dict(environment))
    try:
        while not path.exists():
            assert server.poll() is None, "the process that loads dpkit has ended"
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(0.05)
        script.write_text(CLIENT.format(python=sys.executable, path=str(path)), encoding="utf-8")
        script.chmod(0o755)
        yield
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    serve(sys.argv[1])
