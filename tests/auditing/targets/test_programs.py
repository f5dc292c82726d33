"""Programs and services are targets: what they print or answer is the outcome, and so is that they fail."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from dpkit import InvalidValueError, PureDP, audit
from dpkit.auditing.targets.programs import CommandTarget, HttpTarget, NoAnswer, ProgramFailed, answer

RNG = np.random.default_rng(1)


def test_answers_are_read_as_json_numbers_or_text():
    assert answer("3") == 3.0
    assert answer(' "word" ') == "word"
    assert answer("some words") == "some words"
    assert answer("1.5, 2\n3").tolist() == [1.5, 2.0, 3.0]
    assert answer("[1, 2]").tolist() == [1.0, 2.0]
    assert answer("") == ""


def test_a_program_is_given_a_file_and_read(tmp_path):
    script = tmp_path / "sum.py"
    script.write_text(
        "import json, sys; rows = json.load(open(sys.argv[1])); print(sum(rows)); sys.exit(3 if 9 in rows else 0)"
    )
    target = CommandTarget(f"{sys.executable} {script} {{data}}", jobs=2)
    assert target([1, 2], 2, RNG) == [3.0, 3.0]
    (failed,) = target([9], 1, RNG)
    assert isinstance(failed, ProgramFailed)
    assert str(failed) == "exit code 3"


def test_a_program_that_fails_for_one_dataset_alone_is_refuted(tmp_path):
    script = tmp_path / "fails.sh"
    script.write_text('#!/bin/sh\ngrep -q 9 "$1" && exit 1\necho 0\n')
    script.chmod(0o755)
    (found,) = audit(CommandTarget(f"{script} {{data}}"), PureDP(epsilon=1.0), ([1], [1, 9]), samples=120, rng=1)
    assert found.refuted
    assert found.target.startswith("command: ")
    assert any(name.startswith("source of fails.sh") for name in json.loads(found.recipe)["pinned"])


@pytest.mark.parametrize("command", ["", "./prog", "prog data"])
def test_a_command_must_say_where_the_data_stands(command):
    with pytest.raises(InvalidValueError, match="data"):
        CommandTarget(command)


def test_a_program_that_is_not_there_is_wrong_input():
    with pytest.raises(InvalidValueError, match="can be run"):
        CommandTarget("/nowhere/prog {data}")


@pytest.mark.parametrize("jobs", [1, 2])
def test_programs_end_when_time_is_up(tmp_path, jobs):
    place = tmp_path / "process"
    script = tmp_path / "sleeps.sh"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! >> {place}\nwait\n")
    script.chmod(0o755)
    (found,) = audit(CommandTarget(f"{script} {{data}}", jobs=jobs), PureDP(epsilon=1.0), ([1], [1, 9]), rng=1, time=1.0)
    assert (found.verdict, found.samples) == ("inconclusive", 0)
    for process in map(int, place.read_text().split()):
        stat = Path(f"/proc/{process}/stat")
        assert not stat.exists() or stat.read_text().split()[2] == "Z"


def test_a_program_that_only_fails_is_refused(tmp_path):
    target = CommandTarget(f"{sys.executable} {tmp_path}/typo.py {{data}}")
    with pytest.raises(InvalidValueError, match="exit code 2"):
        audit(target, PureDP(epsilon=1.0), ([1], [1, 9]), samples=100, rng=1)


class Answers(BaseHTTPRequestHandler):
    def do_POST(self):
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/drop":
            self.connection.close()
            return
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/")
            self.end_headers()
            return
        self.send_response(500 if 9 in rows else 200)
        if self.path == "/short":
            self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(json.dumps(sum(rows)).encode())

    def log_message(self, *all):
        pass


def test_a_program_that_shows_its_file_tells_nothing_by_the_name(tmp_path):
    paths = [tmp_path / "with.csv", tmp_path / "without.csv"]
    for path in paths:
        path.write_text("age\n30\n")
    target = CommandTarget("echo {data}")
    assert len({target(path, 1, RNG)[0] for path in (*paths, *paths)}) == 1
    spoils = CommandTarget(f"{sys.executable} -c \"import sys; open(sys.argv[1], 'w').write('x'); print(1)\" {{data}}")
    assert spoils(paths[0], 2, RNG) == [1.0, 1.0]
    assert paths[0].read_text() == "age\n30\n"


def test_a_service_is_asked_by_post():
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    place = f"http://127.0.0.1:{server.server_port}/"
    try:
        target = HttpTarget(place, jobs=2)
        assert target([1, 2], 3, RNG) == [3.0] * 3
        assert str(target([9], 1, RNG)[0]) == "status 500"
        assert str(HttpTarget(f"{place}moved")([9], 1, RNG)[0]) == "status 302"
        with pytest.raises(InvalidValueError, match="status 302"):
            audit(HttpTarget(f"{place}moved"), PureDP(epsilon=1.0), ([1], [1, 9]), samples=120, rng=1)
        assert isinstance(HttpTarget(f"{place}short")([1], 1, RNG)[0], NoAnswer)
        assert isinstance(HttpTarget(f"{place}drop")([1], 1, RNG)[0], NoAnswer)
    finally:
        server.shutdown()
        server.server_close()
    assert isinstance(HttpTarget(place)([1], 1, RNG)[0], NoAnswer)
    with pytest.raises(InvalidValueError, match="no answer"):
        audit(HttpTarget(place), PureDP(epsilon=1.0), ([1], [1, 9]), samples=120, rng=1)
    with pytest.raises(InvalidValueError, match="http://"):
        HttpTarget("ftp://x")
