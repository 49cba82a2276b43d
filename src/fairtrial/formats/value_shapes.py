"""Recognise content in values under unknown keys. Calls, messages and cases must not be lost with their key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

_NAMES = ("name", "function_name", "tool_name", "toolName", "tool", "function")
_NAME_KEYS = frozenset(_NAMES)
_ARGUMENTS = ("args", "arguments", "kwargs", "parameters", "params", "input", "tool_input", "toolInput", "inputs")
_SCHEMA = frozenset(("properties", "$schema", "additionalProperties"))
"""The keys of a JSON schema. An object with one of them declares arguments, and does not call anything."""
_MESSAGE = ("content", "parts", "text", "tool_calls", "toolCalls", "message")
_CASE_KEYS = frozenset(
    (
        *("eval_id", "evalId", "case_id", "caseId", "eval_case_id", "evalCaseId", "test_id", "testId"),
        *("conversation", "conversation_scenario", "conversationScenario", "user_content", "userContent"),
        *("query", "question", "prompt", "starting_prompt", "startingPrompt", "messages"),
        *("expected", "expected_output", "expected_answer", "reference", "reference_answer"),
    )
)
"""The keys of the id of a case, of its question, and of its expectation."""
_MOST_ITEMS = 20
"""So many items of a list are looked at."""
_DEPTH = 4
"""A response of a provider has its message this deep: `choices[0].message`."""


def holds_calls(value: Any, depth: int = 2) -> bool:
    """Whether a value is a call, a list of calls, or holds one a few levels deep."""
    return _holds(value, depth, _is_call)


def holds_messages(value: Any, depth: int = _DEPTH) -> bool:
    """Whether a value is a message, a list of messages, or holds one a few levels deep."""
    return _holds(value, depth, _is_message)


def count_calls(value: Any) -> int:
    """Return the number of calls in a value. Calls inside a call are not counted."""
    return sum(1 for _ in call_names(value))


def call_names(value: Any, depth: int = 12) -> Iterator[str]:
    """Yield the names of the calls in a value. Calls inside a call are left out."""
    if isinstance(value, dict):
        if _is_call(value):
            inner = value.get("function")
            names = inner if isinstance(inner, dict) else value
            yield next((names[key] for key in _NAMES if isinstance(names.get(key), str) and names[key]), "")
            return
        value = list(value.values())
    for item in value if depth and isinstance(value, list) else ():
        yield from call_names(item, depth - 1)


def holds_cases(value: Any) -> bool:
    """Whether a value is a list of cases: objects with the id of a case, a question or an expectation."""
    return isinstance(value, list) and any(map(_is_case, value[:_MOST_ITEMS]))


def _holds(value: Any, depth: int, matches: Callable[[dict[str, Any]], bool]) -> bool:
    """Return whether an object in a value matches, down to a depth."""
    if isinstance(value, dict):
        if matches(value):
            return True
        items: Iterable[Any] = value.values()
    elif isinstance(value, list):
        items = value
    else:
        return False
    if depth:
        for item in islice(items, _MOST_ITEMS):
            if isinstance(item, list | dict) and _holds(item, depth - 1, matches):
                return True
    return False


def _is_call(value: dict[str, Any]) -> bool:
    if _NAME_KEYS.isdisjoint(value):
        return False
    inner = value.get("function")
    if isinstance(inner, dict):
        return isinstance(inner.get("name"), str) and "arguments" in inner
    if not any(isinstance(value.get(key), str) and value[key] for key in _NAMES) or "description" in value:
        return False
    arguments = [value[key] for key in _ARGUMENTS if key in value]
    return any(map(_are_arguments, arguments))


def _are_arguments(value: Any) -> bool:
    """Whether a value is an object of arguments, or the JSON text of one, and no schema."""
    if isinstance(value, str):
        return value[:1] == "{" and value[-1:] == "}" and not any(f'"{key}"' in value for key in _SCHEMA)
    return isinstance(value, dict) and _SCHEMA.isdisjoint(value)


def _is_message(value: dict[str, Any]) -> bool:
    role = value.get("role")
    return isinstance(role, str) and any(value.get(key) for key in _MESSAGE)


def _is_case(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(_CASE_KEYS)
