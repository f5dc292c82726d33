"""Many processes and sudden deaths: exactly what fits is granted, whoever reads; `kill -9` and a move lose no charge."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the scripts fork")


def competed(answer_of, folder, *, runs, fit=500, durability="normal"):
    answers = answer_of("competing.py", folder, runs, 8, fit, durability)
    assert answers == [{"granted": fit, "charges": fit, "was_read": True, "problems": []}] * runs


def test_eight_processes_are_granted_exactly_what_fits(answer_of, tmp_path):
    competed(answer_of, tmp_path, runs=1)


def test_so_are_they_when_every_charge_reaches_the_disk(answer_of, tmp_path):
    competed(answer_of, tmp_path, runs=1, fit=100, durability="full")


@pytest.mark.slow
def test_so_are_they_a_hundred_times(answer_of, tmp_path):
    competed(answer_of, tmp_path, runs=100)


def test_a_killed_process_leaves_nothing_uncharged(answer_of, tmp_path):
    seen = answer_of("crashing.py", tmp_path, 15, 1)
    assert seen["kills"] > 0


@pytest.mark.slow
def test_nor_at_two_hundred_points(answer_of, tmp_path):
    seen = answer_of("crashing.py", tmp_path, 200, 2)
    assert seen["kills"] >= 100
    assert seen["lost"] > 0  # some fell between charge and release: they cost budget
