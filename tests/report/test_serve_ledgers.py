"""The server of the page: it reads, refuses everything else, and sends strict headers."""

import pytest

from dpkit import Ledger, PureDP
from dpkit.report.serve_ledgers import ledger_application

testclient = pytest.importorskip("starlette.testclient")


@pytest.fixture
def client(tmp_path):
    with Ledger.create(tmp_path / "l", budget=PureDP(epsilon=1.0), accountant="pure", dataset="births") as made:
        application = ledger_application([str(made.path)], hosts=["localhost"])
        with testclient.TestClient(application, base_url="http://localhost") as asked:
            yield asked


def test_the_page_comes_with_strict_headers(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert "births" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"


def test_it_shows_what_is_there_now(client, tmp_path):
    with Ledger.open(tmp_path / "l") as ledger:
        ledger.reserve("later")
    assert "later" in client.get("/").text


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_nothing_can_be_written(client, method):
    answer = getattr(client, method)("/")
    assert answer.status_code == 405
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/l", "/../l", "/%2e%2e/etc/passwd", "/entries?x=<script>"])
def test_there_is_nothing_else(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "<script>" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_request_in_the_name_of_another_site_is_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_a_ledger_that_is_gone_is_said_in_words(client, tmp_path):
    (tmp_path / "l").unlink()
    answer = client.get("/")
    assert answer.status_code == 503
    assert "no longer there" in answer.text or "no such file" in answer.text
