"""How long does it take to refuse, or to read, a file of 10 MB that nobody meant well?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import measuring

from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read

_SIZE = 10_000_000


def main(peer: str) -> None:  # noqa: ARG001
    measuring.heading(f"hostile text, {_SIZE / 1e6:.0f} MB each: CPU until it is read or refused")
    for name, text in _texts():
        start = time.process_time()
        with suppress(FormatError):
            read(text.encode(), "hostile.evalset.json")
        measuring.target(name, time.process_time() - start, "s", at_most=2)


def _fill_placeholders(unit: str, before: str = "", after: str = "") -> str:
    return before + unit * ((_SIZE - len(before) - len(after)) // len(unit)) + after


def _texts() -> Iterator[tuple[str, str]]:
    keys = ", ".join(f'"key_{i}": {i}' for i in range(_SIZE // 21))
    turn = '{"user_content": {"parts": [{"text": "hi"}]}'
    yield "JSON copied out of a log", _fill_placeholders(r"{\"k\":\"v\"", "[")
    yield "quotes that open and never close", _fill_placeholders('"')
    yield "quotes and backslashes", _fill_placeholders('\\"', '"')
    yield "backslashes in a string", _fill_placeholders("\\\\", '{"a": "')
    yield "a quote in every line", _fill_placeholders('"x\n')
    yield "opening brackets", _fill_placeholders("[")
    yield "nested objects", _fill_placeholders('{"a":')
    yield "trailing commas", _fill_placeholders("[1,],", "[", "1]")
    yield "a comma and whitespace", _fill_placeholders(" ", "[1,", "x")
    yield "comments in every line", _fill_placeholders("1, // a comment\n", "[", "1]")
    yield "comments that open and never close", _fill_placeholders("/* ")
    yield "slashes", _fill_placeholders("/")
    yield "fences in every line", _fill_placeholders("```\n")
    yield "backticks", _fill_placeholders("`", "\n")
    yield "fences and whitespace", _fill_placeholders("\n```  \t \n  ")
    yield "whitespace", _fill_placeholders(" \n", after="x")
    yield "digits", _fill_placeholders("1", '{"eval_cases": [], "x": ', "}")
    yield "a surplus of brackets", _fill_placeholders("}", '{"criteria": {"response_match_score": 1}}')
    yield "JSON lines of which the last is broken", _fill_placeholders('{"a": 1}\n', after='{"a": ')
    yield "keys that nobody knows, in a case", f'{{"eval_cases": [{{"eval_id": "a", "conversation": [], {keys}}}]}}'
    yield "keys that nobody knows, in an invocation", f'{{"eval_cases": [{{"conversation": [{turn}, {keys}}}]}}]}}'
    yield (
        "one key, very long",
        f'{{"eval_cases": [{{"eval_id": "a", "conversation": [], "{_fill_placeholders("k")}": 1}}]}}',
    )
    yield "cases that are none", _fill_placeholders('{"input": "x", "output": "y"}, ', '{"eval_cases": [', "{}]}")
    yield "cases that lack everything", _fill_placeholders('{"conversation": [{}]}, ', '{"eval_cases": [', "{}]}")
    yield "cases that are numbers", _fill_placeholders("5, ", '{"eval_cases": [', "5]}")
    yield "keys that stand there twice", _fill_placeholders('"name": "x", ', "{", '"eval_cases": []}')
    yield "an array of numbers", _fill_placeholders("5, ", "[", "5]")
    yield "a conversation and numbers", _fill_placeholders("5, ", '[[{"role": "user", "content": "hi"}], ', "5]")
    user, part = '{"role": "user", "content": "a"}, ', '{"type": "text", "text": "a"}, '
    thought = '{"type": "thinking"}'
    yield "messages of the user alone", _fill_placeholders(user, f'[{{"role": "user", "content": [{thought}]}}, ', "5]")
    yield "texts of one message", _fill_placeholders(part, '[{"role": "assistant", "content": [', f"{thought}]}}, 5]")
    yield "messages of no role", _fill_placeholders('{"x": 1}, ', '[{"role": "user", "content": "a"}, ', "5]")
    yield "one string", _fill_placeholders("x", '"', '"')
    yield "half a surrogate pair at the end", _fill_placeholders("x", '{"eval_cases": [], "a": "', '\\ud800"}')


if __name__ == "__main__":
    main("")
