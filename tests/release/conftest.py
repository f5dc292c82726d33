"""Interrupts as a person at a terminal sends them."""

import signal

import pytest


@pytest.fixture
def interruptible():
    """A test run in the background is started with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
