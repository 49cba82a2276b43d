"""Text that somebody else wrote is shown safely and briefly."""

from __future__ import annotations

import pytest

from fairtrial.text.display import call, compact, shorten, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\rb", r"a\x0db"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("\u202eevil", r"\u202eevil"),
        ("\ud800", r"\ud800"),
        ("한국어 日本語 中文 🙂", "한국어 日本語 中文 🙂"),
    ],
)
def test_controls_are_made_visible(text: str, shown: str) -> None:
    """What is shown neither moves a cursor, nor colours, nor reorders; text of any language stays."""
    assert visible(text) == shown


def test_a_call_is_shown_with_sorted_arguments() -> None:
    """Two equal calls look equal, whatever the order of their keys."""
    assert call("f", {"b": 1, "a": "가"}) == call("f", {"a": "가", "b": 1}) == 'f(a="가", b=1)'


def test_what_is_no_json_is_shown_by_its_type() -> None:
    """Arguments of a live agent may be anything."""
    assert compact(object()) == "<object>"


def test_shortened_keeps_to_its_limit() -> None:
    """What is cut ends in an ellipsis; 0 is no limit."""
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"
    assert shorten("abcdef", 0) == "abcdef"
