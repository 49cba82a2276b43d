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
        'The user said {"a": 2}, so:\n\n```json\n{"a": 1}\n```\n',
        '<think>\nMaybe {"a": 2}?\n</think>\n{"a": 1}',
    ],
)
def test_one_value_or_one_code_block_is_read(text: str) -> None:
    """Space around it does not matter, nor prose before the block, nor thoughts."""
    assert read_json(text) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        'The answer is {"a": 1}',
        '{"a": 1} {"a": 2}',
        '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
        '```json\n{"a": 1}\n```\nThat is what they said.',
        '```python\n{"a": 1}\n```',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    """JSON inside other text, two values, repeated keys, NaN and endless nesting are no reply."""
    with pytest.raises(ValueError):  # noqa: PT011 - any message will do
        read_json(text)


def test_a_lone_surrogate_is_replaced() -> None:
    """No encoding can carry it, so nothing could store it; a pair is one character."""
    assert read_json('{"\\ud800": ["a\\udfff", "\\ud83d\\ude42"]}') == {"\ufffd": ["a\ufffd", "🙂"]}
