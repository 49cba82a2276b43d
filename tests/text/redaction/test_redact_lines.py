"""Files of lines keep everything except their secrets, wherever a secret stands."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import secret_corpus
from fairtrial.text.redaction import redact_lines
from fairtrial.text.redaction.redact import redact
from fairtrial.text.redaction.redact_lines import Finding, LineRedactor

HIDDEN = "x9Kq2Lm8Zt4v"


def _redacted(text: str) -> tuple[str, list[Finding]]:
    findings: list[Finding] = []
    clean = "".join(LineRedactor(findings.append).redact(io.StringIO(text, newline="\n")))
    return clean, findings


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1.10, "password": "HIDDEN",\t"b": "\\u00e9\\/", "n": 1e5}\n',
        '{"a":1}\n\n{"password":"HIDDEN","b":123456789012345678901234567890}\r\n',
        '{\n  "a": [1.0, {}, [], null],\n  "password": "HIDDEN"\n}\n',
        '\ufeff{"password": "HIDDEN", "이름": "값"}\n',
        'started\n{"password": "HIDDEN"}\nDB_PASSWORD=HIDDEN\nended',
        '{"a": {"password": "HIDDEN"}}\n{"broken: "password": "HIDDEN"}\n',
        '{\n broken, "password": "HIDDEN"\n}\n',
        "[not json]\npassword: HIDDEN\n",
    ],
    ids=["a line", "lines", "over several lines", "a byte order mark", "a log", "a broken line", "broken", "brackets"],
)
def test_everything_but_the_secret_stays_as_it_was_written(text: str) -> None:
    """Spaces, the spelling of numbers, escapes, ends of lines and lines that are not JSON."""
    clean, findings = _redacted(text.replace("HIDDEN", HIDDEN))
    assert clean == text.replace("HIDDEN", "[REDACTED:pair]")
    assert len(findings) == text.count("HIDDEN")


def test_a_finding_says_where_it_was() -> None:
    """The line, and in JSON the pointer. Of JSON over several lines, only the pointer."""
    _, findings = _redacted(f'a\nb password={HIDDEN}\n{{"c": [{{"password": "{HIDDEN}"}}]}}\n')
    assert [(finding.line, finding.redaction.pointer) for finding in findings] == [(2, ""), (3, "/c/0/password")]
    _, findings = _redacted(f'{{\n"password": "{HIDDEN}"}}')
    assert [(finding.line, finding.redaction.pointer) for finding in findings] == [(0, "/password")]


def test_a_secret_is_found_wherever_a_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A private key of many lines, and a password in the line after its name, across the end of a window."""
    monkeypatch.setattr(redact_lines, "WINDOW", 4000)
    monkeypatch.setattr(redact_lines, "OVERLAP", 2000)
    key = secret_corpus._whole("pem", "", str, secret_corpus.pem(random.Random(1))).text
    for offset in range(0, 4000, 97):
        text = "word " * (offset // 5) + "\n" + key + "\n" + "other words\n" * 500
        assert _redacted(text)[0] == text.replace(key, "[REDACTED:private_key]")


def test_memory_does_not_grow_with_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clean text is handed on before the file is read to its end."""
    monkeypatch.setattr(redact_lines, "WINDOW", 1000)
    monkeypatch.setattr(redact_lines, "OVERLAP", 500)
    lines = iter(["some words of a log\n"] * 1000)
    parts = LineRedactor(lambda _: None).redact(lines)
    assert next(parts)
    assert len(list(lines)) > 900


def test_a_repeated_key_hides_no_secret() -> None:
    """JSON with a repeated key is written anew, without the secret."""
    clean, _ = _redacted(f'{{"password": "{HIDDEN}", "password": "{HIDDEN}2"}}\n')
    assert json.loads(clean) == {"password": "[REDACTED:pair]"}


@given(st.lists(st.text(max_size=30), max_size=8))
def test_lines_without_secrets_stay(lines: list[str]) -> None:
    """Of any text whatsoever."""
    text = "\n".join(line for line in lines if redact(line)[1] == ()).replace("\r", "")
    clean, findings = _redacted(text)
    assert findings or clean == text


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@pytest.mark.long
@given(
    st.dictionaries(st.text(max_size=5), LEAVES | st.lists(LEAVES, max_size=3), max_size=4), st.sampled_from([None, 1])
)
def test_json_stays_json(value: dict[str, Any], indent: int | None) -> None:
    """A member with a secret goes, and every other member is equal afterwards."""
    text = json.dumps({**value, "secret password": HIDDEN}, indent=indent)
    clean = json.loads(_redacted(text)[0])
    assert clean.pop("secret password") == "[REDACTED:pair]"
    if redact(text.replace(HIDDEN, "none"))[1] == ():
        assert clean == {key: inner for key, inner in value.items() if key != "secret password"}
