"""Errors show what they quote, and keep nothing of what they came of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit.errors import SerialisationError, raise_alone, visible

EVIL = "\x1b[31mred\x1b]0;title\x07\r\u202egnp\u2066\x9b2J\u200b"


@given(st.text())
def test_visible_text_has_no_control_and_stays_as_it_is(text):
    shown = visible(text)
    assert all(c.isprintable() or c in "\n\t\u00a0\u202f\u3000" for c in shown)
    assert visible(shown) == shown
    if text.isprintable():
        assert shown == text


def test_errors_show_what_they_quote():
    assert "\x1b" not in str(SerialisationError(reason=EVIL))


def test_an_error_that_is_raised_alone_keeps_nothing_of_what_it_came_of():
    def replaced():
        try:
            raise ValueError("secret")
        except ValueError:
            raise_alone(dpkit.SourceError(source="it", reason="it is broken."))

    with pytest.raises(dpkit.SourceError) as caught:
        replaced()
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
