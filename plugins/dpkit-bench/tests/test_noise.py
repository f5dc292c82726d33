"""The benchmark measures what it says, with or without its peers; speed itself is never asserted in a test."""

import dataclasses

import pytest
from dpkit_bench import noise


def test_every_row_is_complete_without_peers_and_says_so(monkeypatch):
    monkeypatch.setattr(noise.peers.importlib.util, "find_spec", lambda name: None)
    rows, notes = noise.measure_noise(draws=1_000, repeats=3)
    assert [note.partition(" ")[0] for note in notes] == ["opendp", "diffprivlib"]
    assert [(row.name, row.peer) for row in rows] == [("laplace", "numpy"), ("gaussian", "numpy")]
    for row in rows:
        assert row.ratio == row.ours_per_second / row.peer_per_second > 0
        assert row.ours_spread >= 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            row.ratio = 1.0


def test_opendp_is_measured_where_it_is_installed():
    pytest.importorskip("opendp")
    rows, _ = noise.measure_noise(draws=1_000, peer_draws=10, repeats=1)
    assert [row.name for row in rows if row.peer == "opendp"] == [
        "laplace",
        "gaussian",
        *(f"discrete {law} {scale}" for law in ("laplace", "gaussian") for scale in (1, 10, 1000)),
    ]
