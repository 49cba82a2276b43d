"""A reply is one JSON value, or nothing."""

from __future__ import annotations

import pytest

from fairtrial.llm.structured import read_json


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' \n{"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        '\ufeff{"a": 1}',
        'The user said 2, so:\n\n```json\n{"a": 1}\n```\n',
        'The answer is {"a": 1}',
        '```json\n{"a": 1}\n```\nThat is what they said.',
        '{"a": 1,}',
        '<think>\nMaybe {"a": 2}?\n</think>\n{"a": 1}',
    ],
)
def test_one_value_or_one_object_is_read(text: str) -> None:
    """Space and prose around it do not matter, nor thoughts before it."""
    assert read_json(text) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        '{"a": 1} {"a": 2}',
        'The user said {"a": 2}, so:\n\n```json\n{"a": 1}\n```\n',
        '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
        '```python\n{"a": 1}\n```',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    """Two values, repeated keys, NaN and endless nesting are no reply."""
    with pytest.raises(ValueError):  # noqa: PT011 - any message will do
        read_json(text)


def test_a_lone_surrogate_is_replaced() -> None:
    """No encoding can carry it, so nothing could store it; a pair is one character."""
    assert read_json('{"\\ud800": ["a\\udfff", "\\ud83d\\ude42"]}') == {"\ufffd": ["a\ufffd", "🙂"]}
