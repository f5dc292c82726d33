"""Ledgers in a real PostgreSQL: the laws, roles, broken connections, restarts, and who tampers with the tables."""

import itertools
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress

import pytest

import dpkit
from dpkit import ZCDP
from dpkit.contracts.ledger_store import LedgerAddress
from dpkit.release.ledger.entries import canonical, chained
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.move import copy_ledger
from dpkit.release.ledger.postgres_tables import VERSION
from dpkit.release.ledger.steward import approve
from dpkit.release.ledger.verify import verify, verify_file
from dpkit.testing.ledger_store_laws import PROTOCOL_LAWS, UNIT, times

psycopg = pytest.importorskip("psycopg")
_NAMES = (f"law {number}" for number in itertools.count())


def new_in(database):
    def new(releases):
        place = LedgerAddress(database).with_option("dataset", next(_NAMES))
        Ledger.create(place, budget=ZCDP(rho=releases / 1024), dataset=place.options["dataset"]).close()
        return place

    return new


@pytest.fixture
def place(shared_database):
    return new_in(shared_database)(8)


def admin(address):
    return psycopg.connect(address, autocommit=True)


@pytest.mark.parametrize("law", PROTOCOL_LAWS, ids=lambda law: law.__name__)
def test_the_store_obeys(law, shared_database):
    law(Ledger, new_in(shared_database))


def test_processes_are_granted_exactly_what_fits(answer_of, database):
    Ledger.create(database, budget=ZCDP(rho=1.0), dataset="first").close()
    answers = answer_of("competing.py", database, 1, 8, 60, "full")
    assert answers == [{"granted": 60, "charges": 60, "was_read": True, "problems": []}]


@pytest.mark.slow
def test_so_are_they_twenty_times(answer_of, database):
    Ledger.create(database, budget=ZCDP(rho=1.0), dataset="first").close()
    answers = answer_of("competing.py", database, 20, 8, 500, "full")
    assert answers == [{"granted": 500, "charges": 500, "was_read": True, "problems": []}] * 20


def test_a_killed_client_leaves_nothing_uncharged(answer_of, database, tmp_path):
    Ledger.create(database, budget=ZCDP(rho=1.0), dataset="first").close()
    assert answer_of("crashing.py", tmp_path, 8, 1, database)["kills"] > 0


@pytest.mark.slow
def test_nor_at_two_hundred_points(answer_of, database, tmp_path):
    Ledger.create(database, budget=ZCDP(rho=1.0), dataset="first").close()
    assert answer_of("crashing.py", tmp_path, 200, 2, database)["kills"] >= 100


# Who may do what


@pytest.fixture
def people(postgres, database):
    """A reader, an analyst and a steward, each by the address of the database; the schema is made by its administrator."""
    Ledger.create(database, budget=ZCDP(rho=8 / 1024), dataset="shared").close()
    name = LedgerAddress(database).parts.path[1:]
    with admin(database) as raw:
        for role in ("reader", "analyst", "steward"):
            raw.execute(f"CREATE ROLE {name}_{role} LOGIN IN ROLE dpkit_{role}")
        raw.execute(f"CREATE ROLE {name}_stranger LOGIN")
    roles = ("reader", "analyst", "steward", "stranger")
    return {role: postgres.address(name, user=f"{name}_{role}") + "?dataset=shared" for role in roles}


def test_roles_may_do_what_they_are_for(people):
    with Ledger.open(people["analyst"]) as ledger:
        ledger.reserve("run", times(2))
        ledger.released(ledger.charge("run", UNIT, key="0"), 1.5)
        assert ledger.entries()[-1].who.endswith("_analyst")
    with Ledger.open(people["reader"]) as ledger:
        assert ledger.spent() == ZCDP(rho=1 / 1024)
        assert verify(ledger).ok
        with pytest.raises(dpkit.LedgerStorageError, match=r"_reader' may not.*dpkit_analyst"):
            ledger.charge("run", UNIT, key="1")
    with pytest.raises(dpkit.LedgerStorageError, match="may not"):
        Ledger.create(people["analyst"].replace("shared", "mine"), budget=ZCDP(rho=9.0), dataset="mine")
    Ledger.create(people["steward"].replace("shared", "mine"), budget=ZCDP(rho=9.0), dataset="mine").close()
    with pytest.raises(dpkit.LedgerStorageError, match="may not"):
        Ledger.open(people["stranger"])
    with Ledger.open(people["steward"]) as ledger:
        assert verify(ledger).ok
        assert ledger.spent() == ZCDP(rho=1 / 1024)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dpkit.entries SET value = '0'",
        "DELETE FROM dpkit.entries",
        "TRUNCATE dpkit.entries CASCADE",
        "UPDATE dpkit.heads SET seq = 0",
        "DELETE FROM dpkit.heads",
        "DELETE FROM dpkit.ledgers",
        "INSERT INTO dpkit.entries SELECT ledger, seq + 9, run, key, body, value, hash FROM dpkit.entries",
    ],
)
def test_nobody_changes_what_is_written(people, database, statement):
    with Ledger.open(people["analyst"]) as ledger:
        ledger.reserve("run", times(2))
        ledger.charge("run", UNIT, key="0")
        head = ledger.head()
        for address in (people["analyst"].split("?")[0], people["steward"].split("?")[0], database):
            with admin(address) as raw, pytest.raises(psycopg.Error):
                raw.execute(statement)
        assert ledger.head() == head
        assert verify(ledger).ok


def test_nobody_signs_for_another(people):
    with Ledger.open(people["analyst"], who="someone else") as ledger:
        ledger.reserve("run")
        assert ledger.entries()[-1].who.endswith("_analyst/someone else")
        ledger._who = "the director"
        with pytest.raises(dpkit.LedgerStorageError, match="may not"):
            ledger.reserve("other")


def appended_by_hand(address, ledger, **changes):
    """Somebody with a client of PostgreSQL appends an entry, with a right chain."""
    end = ledger.entries()[-1]
    with admin(address.split("?")[0]) as raw:
        role = raw.execute("SELECT session_user").fetchone()[0]
        said = {**end.body, "seq": end.seq + 1, "who": role, **changes}
        body = canonical({name: item for name, item in said.items() if item is not None})
        raw.execute(
            "INSERT INTO dpkit.entries SELECT ledger, %s, %s, %s, %s, NULL, %s FROM dpkit.ledgers WHERE dataset = %s",
            (end.seq + 1, said["run"] or "", said["key"] or "", body, chained(end.hash, body), ledger.terms.dataset),
        )


NOTHING = {"spent": ["0/1", "0/1"], "held": ["0/1", "0/1"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "close", "totals": NOTHING},
        {"kind": "close", "totals": None},
        {"kind": "close", "totals": {"spent": ["1/1"], "held": []}},
        {"kind": "fail", "totals": {"spent": ["10/-1", "10/-1"], "held": ["10/-1", "10/-1"]}},
        {"kind": "fail", "totals": {"spent": [None, None], "held": [None, None]}},
        {"kind": "fail", "totals": {"spent": ["0/0", "0/0"], "held": ["0/0", "0/0"]}},
        {"kind": "fail", "totals": {"spent": ["9/1", "9/1"], "held": ["0/1", "0/1"]}},
        {"kind": "ready"},
        {"kind": "arrive"},
        {"kind": None},
        {"kind": "create"},
        {"kind": "approve"},
        {"kind": "write-off"},
        {"seq": 1},
    ],
    ids=lambda changes: repr(changes)[:40],
)
def test_what_is_spent_stays_spent_whatever_an_analyst_writes_by_hand(people, changes):
    with Ledger.open(people["analyst"]) as ledger:
        ledger.reserve("run", times(2))
        ledger.charge("run", UNIT, key="0")
        head = ledger.head()
        with pytest.raises(psycopg.Error):
            appended_by_hand(people["analyst"], ledger, **changes)
        assert ledger.head() == head


def test_nothing_follows_in_a_ledger_that_moved(people, tmp_path):
    with Ledger.open(people["analyst"]) as ledger:
        ledger.reserve("run", times(2))
        charge = ledger.charge("run", UNIT, key="0")
        copy_ledger(people["steward"], tmp_path / "there").close()
        for name in ("analyst", "steward"):
            for kind in ("reserve", "charge", "arrive", "gone", "move"):
                with pytest.raises(psycopg.Error):
                    appended_by_hand(people[name], ledger, kind=kind, run="other")
        with pytest.raises(dpkit.LedgerMovedError):
            ledger.released(charge, 1.0)


def test_runs_of_others_are_closed_and_approved_by_stewards_alone(people, database):
    with Ledger.open(people["steward"], who="a") as ledger:
        ledger.reserve("run", times(2))
    with Ledger.open(people["analyst"]) as ledger:
        for ask in (lambda: ledger.close_run("run"), lambda: ledger.charge("run", UNIT, key="0")):
            with pytest.raises(dpkit.LedgerStorageError, match="may not"):
                ask()
        for kind in ("release", "fail", "close"):
            with pytest.raises(psycopg.Error):
                appended_by_hand(people["analyst"], ledger, kind=kind)
    place = people["steward"].replace("shared", "asking")
    with Ledger.create(place, budget=ZCDP(rho=1.0), dataset="asking", approval=True, who="a") as ledger:
        ledger.reserve("run", times(2))
        with pytest.raises(dpkit.RunStateError, match="cannot approve"), Ledger.open(place, who="b") as same:
            approve(same, "run")
        with pytest.raises(psycopg.Error):
            appended_by_hand(place, ledger, kind="approve", key="dpkit/approval")
    with Ledger.open(f"{database}?dataset=asking") as other:
        approve(other, "run")
    with Ledger.open(place, who="a") as ledger:
        ledger.charge("run", UNIT, key="0")


# What somebody with the owner's rights can do to the tables


def test_rights_to_change_the_log_are_found(database):
    with Ledger.create(database, budget=ZCDP(rho=1.0), dataset="d") as ledger, admin(database) as raw:
        raw.execute("GRANT UPDATE ON dpkit.entries TO dpkit_analyst")
        assert any("'dpkit_analyst' may update" in problem.what for problem in verify(ledger).problems)


def test_tables_that_a_crash_would_empty_are_refused(database):
    with Ledger.create(database, budget=ZCDP(rho=1.0), dataset="d") as ledger, admin(database) as raw:
        ledger.reserve("run")
        raw.execute("ALTER TABLE dpkit.entries SET UNLOGGED")
        with pytest.raises(dpkit.LedgerCorruptError, match="not those that dpkit made"):
            ledger.charge("run", UNIT, key="0")


def test_a_trigger_that_drops_charges_is_refused(database):
    with Ledger.create(database, budget=ZCDP(rho=1.0), dataset="d") as ledger, admin(database) as raw:
        ledger.reserve("run")
        raw.execute("CREATE FUNCTION dpkit.drop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
        raw.execute("CREATE TRIGGER zz BEFORE INSERT ON dpkit.entries FOR EACH ROW EXECUTE FUNCTION dpkit.drop()")
        with pytest.raises(dpkit.LedgerCorruptError, match="not those that dpkit made"):
            ledger.charge("run", UNIT, key="0")
        assert not verify(ledger).ok


def test_a_guard_that_was_switched_off_is_noticed(database):
    with Ledger.create(database, budget=ZCDP(rho=1.0), dataset="d") as ledger, admin(database) as raw:
        ledger.reserve("run")
        raw.execute("ALTER TABLE dpkit.entries DISABLE TRIGGER unchanged")
        with pytest.raises(dpkit.LedgerCorruptError, match="trigger unchanged"):
            ledger.charge("run", UNIT, key="0")
        raw.execute("UPDATE dpkit.entries SET body = replace(body, 'reserve', 'Reserve') WHERE seq = 1")
        raw.execute("ALTER TABLE dpkit.entries ENABLE TRIGGER unchanged")
        with pytest.raises(dpkit.LedgerCorruptError, match="not what was hashed"):
            ledger.charge("run", UNIT, key="0")
        assert not verify(ledger).ok


# Wrong input


def test_what_is_no_ledger_is_refused_in_words(postgres, database, shared_database):
    with pytest.raises(dpkit.NotALedgerError, match="holds no ledgers"):
        Ledger.open(f"{database}?dataset=d")
    with pytest.raises(dpkit.NotALedgerError, match=r"no ledger of the dataset 'nothing'.*first"):
        Ledger.open(f"{shared_database}?dataset=nothing")
    with pytest.raises(dpkit.NotALedgerError, match="names no dataset"):
        Ledger.open(shared_database)
    with pytest.raises(dpkit.LedgerStorageError, match="no such database"):
        Ledger.open(postgres.address("missing") + "?dataset=d")
    with pytest.raises(dpkit.LedgerStorageError, match="cannot be reached") as caught:
        Ledger.open("postgresql://somebody:secret@127.0.0.1:1/db?dataset=d", timeout=2)
    assert "secret" not in str(caught.value)
    with pytest.raises(dpkit.LedgerStorageError, match="address is not understood"):
        Ledger.open(f"{shared_database}?dataset=first&passwd=secret")
    with Ledger.open(f"postgresql:///shared?dataset=first&host={postgres.folder}&port={postgres.port}&user=admin") as local:
        assert str(local.path).startswith("postgresql:///shared?dataset=first")
    with pytest.raises(dpkit.UnknownNameError, match="oracle"):
        Ledger.open("oracle://host/db?dataset=d")
    with pytest.raises(dpkit.InvalidValueError, match="as the address says"):
        Ledger.create(f"{database}?dataset=d", budget=ZCDP(rho=1.0), dataset="e")
    with admin(database) as raw:
        raw.execute("CREATE SCHEMA dpkit")
    with pytest.raises(dpkit.NotALedgerError, match="not dpkit's"):
        Ledger.create(database, budget=ZCDP(rho=1.0), dataset="d")


def test_another_version_is_refused(database):
    Ledger.create(database, budget=ZCDP(rho=1.0), dataset="d").close()
    with admin(database) as raw:
        raw.execute("UPDATE dpkit.version SET version = %s", (VERSION + 1,))
    with pytest.raises(dpkit.NotALedgerError, match=f"version {VERSION + 1}.*up to {VERSION}.*Install"):
        Ledger.open(f"{database}?dataset=d")
    with pytest.raises(dpkit.NotALedgerError):
        verify_file(f"{database}?dataset=d")


def test_two_who_create_at_once_make_one(database):
    made, refused = [], []

    def create():
        try:
            made.append(Ledger.create(database, budget=ZCDP(rho=1.0), dataset="d").id)
        except dpkit.LedgerExistsError:
            refused.append(1)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 3)


def test_names_that_no_column_can_hold_are_refused(place):
    with Ledger.open(place) as ledger:
        for name in ("a\0b", "\ud800"):
            with pytest.raises(dpkit.InvalidValueError, match="cannot hold"):
                ledger.reserve(name)
        assert verify(ledger).ok


# Connections that break


class Proxy:
    """Stands between a client and the server, and loses what it is told to lose."""

    def __init__(self, port):
        self.port, self.open = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.lose, self.is_mute = None, False
        self.stalled = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            self.open += [client, server]
            for source, target, upward in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pump, args=(source, target, upward), daemon=True).start()

    def _pump(self, source, target, upward):
        try:
            while data := source.recv(65536):
                if self.stalled.is_set():
                    return
                if upward and self.lose and b"COMMIT\0" in data:
                    if self.lose == "answer":
                        self.is_mute = True  # before the server can answer
                        target.sendall(data)
                        time.sleep(0.3)
                    self.lose = None
                    self.cut()
                    self.is_mute = False
                    return
                if not upward and self.is_mute:
                    continue
                target.sendall(data)
        except OSError:
            pass
        if not self.stalled.is_set():
            for each in (source, target):  # this conversation alone: another may have begun
                hang_up(each)

    def cut(self):
        for each in self.open:
            hang_up(each)
        self.open = []


def hang_up(each):
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()


@pytest.fixture
def proxy(postgres):
    made = Proxy(postgres.port)
    yield made
    made.listener.close()
    made.cut()


def through(proxy, place):
    parts = place.parts
    return LedgerAddress(place.text.replace(f":{parts.port}/", f":{proxy.listener.getsockname()[1]}/"))


def test_a_commit_whose_answer_is_lost_counts_once(proxy, place):
    with Ledger.open(through(proxy, place)) as ledger:
        ledger.reserve("run", times(4))
        proxy.lose = "answer"
        charge = ledger.charge("run", UNIT, key="0")
        assert ledger.spent() == ZCDP(rho=1 / 1024)
        proxy.lose = "answer"
        assert ledger.released(charge, 2.5) == 2.5
        assert ledger.charge("run", UNIT, key="0").value == 2.5
        assert verify(ledger).ok


def test_a_commit_that_never_arrives_charges_nothing(proxy, place):
    with Ledger.open(through(proxy, place)) as ledger:
        ledger.reserve("run", times(4))
        proxy.lose = "commit"
        with pytest.raises(dpkit.LedgerStorageError, match=r"before the commit.*Nothing was charged"):
            ledger.charge("run", UNIT, key="0")
        assert ledger.spent() == ZCDP(rho=0.0)
        ledger.charge("run", UNIT, key="0")
        assert verify(ledger).ok


def test_a_network_that_stands_still_is_given_up(proxy, place, monkeypatch):
    monkeypatch.setattr("dpkit.release.ledger.postgres_store._GRACE", 0.5)
    with Ledger.open(through(proxy, place), timeout=0.5) as ledger:
        ledger.reserve("run", times(4))
        proxy.stalled.set()
        with pytest.raises(dpkit.LedgerStorageError, match=r"broke|reached"):
            ledger.charge("run", UNIT, key="0")
    with Ledger.open(place) as ledger:
        assert ledger.spent() == ZCDP(rho=0.0)


def test_a_session_that_the_server_ends_is_opened_again(place, postgres):
    with Ledger.open(place) as ledger, admin(postgres.address("postgres")) as raw:
        ledger.reserve("run", times(4))
        for step in range(3):
            ledger.charge("run", UNIT, key=str(step))
            raw.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpkit'")
        assert ledger.spent() == ZCDP(rho=3 / 1024)

        def ended_in_the_middle():
            with ledger.store.transaction(writes=True) as found:
                raw.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpkit'")
                found.head()

        with pytest.raises(dpkit.LedgerStorageError):
            ended_in_the_middle()
        assert verify(ledger).ok


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_restarts_loses_nothing(how):
    """A server of its own: others must not see it stop. SIGQUIT is a crash, after which it recovers from its log."""
    from postgres_server import Server, missing

    if missing():
        pytest.skip(missing())
    server = Server()
    try:
        with Ledger.create(server.new_database("d"), budget=ZCDP(rho=8 / 1024), dataset="d") as ledger:
            ledger.reserve("run", times(4))
            value = ledger.released(ledger.charge("run", UNIT, key="0"), 1.5)
            ledger.charge("run", UNIT, key="1")
            server.stop(how)
            ledger.store.timeout = 1.0
            with pytest.raises(dpkit.LedgerStorageError):
                ledger.charge("run", UNIT, key="2")
            ledger.store.timeout = 30.0
            server.start()
            assert ledger.charge("run", UNIT, key="0").value == value
            assert ledger.spent() == ZCDP(rho=2 / 1024)
            ledger.charge("run", UNIT, key="2")
            assert verify(ledger).ok
    finally:
        server.remove()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 90 MB, where one can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    place.chmod(0o755)
    for folder in (tmp_path, *tmp_path.parents[:2]):  # the server runs as another user, who must find it
        folder.chmod(0o755)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=90m,mode=777", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_granted(small_disk):
    from postgres_server import Server, missing

    if missing():
        pytest.skip(missing())
    server = Server(small_disk)
    try:
        with Ledger.create(server.new_database("d"), budget=ZCDP(rho=1.0), dataset="d") as ledger:
            ledger.store.timeout = 5.0
            ledger.reserve("run")
            (small_disk / "ballast").write_bytes(b"x" * (os.statvfs(small_disk).f_bavail * 4096 - 3_000_000))
            granted = released = 0
            with pytest.raises(dpkit.LedgerError):  # noqa: PT012 - until the disk is full
                for step in range(1000):
                    charge = ledger.charge("run", UNIT, key=str(step))
                    granted += 1
                    ledger.released(charge, os.urandom(100_000).hex())
                    released += 1
            (small_disk / "ballast").unlink()
            if server.process.poll() is not None:  # a server that cannot write its log stops
                server.process = None
                server.start()
            ledger.store.timeout = 30.0
            assert released > 0
            kinds = [entry.kind for entry in ledger.entries()]
            # the last step may be in the log although nobody could be asked: then it was paid, and nothing went out
            assert kinds.count("charge") - granted in (0, 1)
            assert kinds.count("release") - released in (0, 1)
            ledger.charge("run", UNIT, key="afterwards")
            assert verify(ledger).ok
    finally:
        server.remove()


def test_a_child_process_opens_its_own_session(place):
    with Ledger.open(place) as ledger:
        ledger.reserve("run", times(4))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                ledger.charge("run", UNIT, key="child")
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        ledger.charge("run", UNIT, key="parent")
        assert ledger.spent() == ZCDP(rho=2 / 1024)
