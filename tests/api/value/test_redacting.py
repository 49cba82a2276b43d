"""The public function `redact` removes secrets from everything that a program holds."""

from __future__ import annotations

import pytest

import fairtrial
from fairtrial import Invocation, Message, Recording, ToolCall, Trace, UsageError
from fairtrial.text.redaction import redact as text_redact

HIDDEN = "x9Kq2Lm8Zt4v"


def test_a_text_and_a_json_value() -> None:
    """A redaction names the kind and the place."""
    assert fairtrial.redact(f"password={HIDDEN}")[0] == "password=[REDACTED:pair]"
    clean, redactions = fairtrial.redact({"a": [f"password={HIDDEN}", 3]})
    assert clean == {"a": ["password=[REDACTED:pair]", 3]}
    assert redactions == (fairtrial.Redaction("pair", "password", "/a/0"),)


def test_a_trace_and_a_recording() -> None:
    """A record stays a record of its kind, with all else equal. Without secrets it is the same object."""
    steps = (ToolCall("login", {"password": HIDDEN}),)
    trace = Trace((Invocation(Message(f"my password is {HIDDEN}"), steps=steps),))
    clean, redactions = fairtrial.redact(trace)
    assert isinstance(clean, Trace)
    assert clean.invocations[0].user.text == "my password is [REDACTED:pair]"
    assert [redaction.kind for redaction in redactions] == ["pair", "pair"]
    recording = Recording("one", trace)
    assert fairtrial.redact(recording)[0].trace == clean
    assert fairtrial.redact(clean)[0] is clean


def test_people_and_emails_are_options() -> None:
    """Personal data goes on request, and e-mail addresses stay on request."""
    text = "jane@example.com, 010-2345-6789"
    assert fairtrial.redact(text)[0] == "[REDACTED:email], 010-2345-6789"
    assert fairtrial.redact(text, emails=False, people=True)[0] == "jane@example.com, [REDACTED:phone]"


def test_the_library_for_people_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to install it."""
    text_redact.make_finders.cache_clear()
    monkeypatch.setattr(text_redact, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="needs the extra 'people'"):
        fairtrial.redact("a", people=True)
