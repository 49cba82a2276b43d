"""Suggest the nearest format for a file that no reader recognises."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from fairtrial.config.spelling import snake
from fairtrial.config.wording import format_value
from fairtrial.errors import FormatError, nearest, spell, spell_columns
from fairtrial.formats.skills.other_dialects import NEAREST as NEAREST_EVALS
from fairtrial.formats.value_shapes import holds_messages
from fairtrial.records.record import Record
from fairtrial.text.display import shorten
from fairtrial.text.pointer import escape


class _Format(Record, frozen=True):
    """A format in words, a sample of it, and the keys of its top level or of the items of its array."""

    name: str
    sample: str
    keys: tuple[str, ...]
    is_array: bool = False


_EVAL_SET = _Format(
    "an eval set",
    "{'eval_set_id': ..., 'eval_cases': [{'eval_id': ..., 'conversation': [...]}]}",
    ("eval_set_id", "eval_cases", "name", "description", "creation_timestamp"),
)
_CONFIG = _Format(
    "an EvalConfig", "{'criteria': {NAME: THRESHOLD}}", ("criteria", "custom_metrics", "user_simulator_config")
)
_FORMATS = (
    _EVAL_SET,
    _Format("an eval_config of agents-cli", "{'metrics_to_run': [NAME, ...]}", ("metrics_to_run", "thresholds")),
    _Format("a session", "{'id': ..., 'events': [...]}", ("id", "app_name", "user_id", "state", "events")),
    _Format(
        "an eval set result",
        "{'eval_case_results': [...]}",
        ("eval_set_result_id", "eval_set_result_name", "eval_set_id", "eval_case_results"),
    ),
    _CONFIG,
    _Format("evals of an Agent Skill", NEAREST_EVALS, ("skill_name", "skill", "test_cases")),
    _Format("scenarios", "{'scenarios': [{'starting_prompt': ..., 'conversation_plan': ...}]}", ("scenarios",)),
    _Format(
        "a ReasoningTrace",
        "{'@type': 'ReasoningTrace', ...}",
        ("@context", "@type", "@id", "task_domain", "steps", "final_answer", "metadata", "success"),
    ),
    _Format("a recording", "{'case_id': ..., 'trace': {...}}", ("case_id", "trace", "attempt", "ended_by")),
    _Format("chat messages", "{'messages': [{'role': ..., 'content': ...}]}", ("messages", "tools")),
    _Format(
        "an old test file",
        "[{'query': ..., 'reference': ...}]",
        ("query", "reference", "expected_tool_use", "expected_intermediate_agent_responses"),
        is_array=True,
    ),
    _Format("an old eval set", "[{'name': ..., 'data': [...]}]", ("name", "data", "initial_session"), is_array=True),
    _Format("chat messages", "[{'role': ..., 'content': ...}]", ("role", "content", "tool_calls"), is_array=True),
    _Format("tau-bench results", "[{'task_id': ..., 'traj': [...]}]", ("task_id", "traj", "info"), is_array=True),
)
_CRITERIA = "criteria"
_FOREIGN = (
    ("spans without their ids: it holds attributes of a span", ("gen_ai.operation.name",)),
    ("spans without their ids: it holds attributes of a span", ("gen_ai.input.messages",)),
    ("spans without their ids: it holds attributes of a span", ("openinference.span.kind",)),
    ("a session of Claude Code whose lines have no 'parentUuid', which says their order", ("sessionId", "message")),
)
"""Formats that are not read, what to do with them, and the keys that show them."""
_APART = (
    "stored completions of OpenAI or Azure, which list replies apart from the messages before them; write a line "
    "{'messages': [...], 'response': {...}} for each reply"
)
_STAND_INS = (
    (b"version https://git-lfs.github.com/spec/", "is a pointer of Git LFS, and not the file; fetch it: git lfs pull"),
    (b"<!doctype html", "is a page of HTML, for example of an error or a login, and not the file; download it again"),
    (b"<html", "is a page of HTML, for example of an error or a login, and not the file; download it again"),
)
"""The beginnings of texts that stand in the place of a file."""
_MOST_KEYS = 50
_LONGEST_KEY = 100
_LEAST_SHARE = 0.3
"""So many of the keys of a document have a likeness in the nearest format."""
_CASE_SAMPLE = (
    "a case such as {'eval_id': ..., 'conversation': [{'user_content': ..., 'final_response': ...}]}, or as "
    "{'eval_case_id': ..., 'prompt': {'parts': [...]}} in a dataset of agents-cli"
)


def _is_thresholds(document: Any) -> bool:
    """Return whether a document holds numbers by name, as the criteria of a configuration do."""
    numbers = document.values() if isinstance(document, dict) else ()
    return bool(numbers) and all(isinstance(number, int | float) for number in numbers)


def refuse_stand_in(data: bytes, path: str) -> None:
    """Raise FormatError if a file holds something in the place of its content."""
    start = data[:200].lstrip().lower()
    for beginning, problem_in_words in _STAND_INS:
        if start.startswith(beginning):
            raise FormatError(path, [problem_in_words])


def problem(document: Any) -> str:
    """Return the problem of a document that no reader recognises, with its place, its keys and the nearest format."""
    if isinstance(document, dict) and (misplaced := _misplaced_criteria(document)) is not None:
        problem_in_words, advice = misplaced
        return f"{problem_in_words}; got {described(document)}; {advice}"
    return f"/: {_unknown_format(document)}"


def _misplaced_criteria(document: dict[str, Any]) -> tuple[str, str] | None:
    """Return the problem of criteria that have a misspelt name or stand below another key, and what to do."""
    for key in _few(document):
        value = document[key]
        if not isinstance(value, dict):
            continue
        if _is_criteria(key, value):
            return f"/{escape(key)}: is not a known key", f"did you mean {_CRITERIA!r}?"
        inner = next((own for own in _few(value) if _is_criteria(own, value[own])), None)
        if inner is not None:
            place = f"/{escape(key)}/{escape(inner)}"
            return f"{place}: stands below {key!r}, which is not a known key", f"{_CONFIG.name} is {_CONFIG.sample}"
    return None


def _is_criteria(key: str, value: Any) -> bool:
    """Whether a key nearly spells `criteria`, and its value holds thresholds or options by name."""
    is_near = len(key) <= _LONGEST_KEY and nearest(snake(key), [_CRITERIA]) != ""
    return is_near and isinstance(value, dict) and all(isinstance(own, int | float | dict) for own in value.values())


def _is_stored_completion(item: dict[str, Any]) -> bool:
    """Whether an object is a completion, or a page of completions or of their messages."""
    data = item.get("data")
    first = data[0] if item.get("object") == "list" and isinstance(data, list) and data else item
    return isinstance(first, dict) and (first.get("object") == "chat.completion" or {"role", "content"} <= first.keys())


def _unknown_format(document: Any) -> str:
    item = document[0] if isinstance(document, list) and document else document
    if isinstance(item, dict):
        inner = item.get("attributes")
        names = {*item, *(inner if isinstance(inner, dict) else ())}
        name = next((name for name, keys in _FOREIGN if names.issuperset(keys)), "")
        name = name or (_APART if _is_stored_completion(item) else "")
        if name:
            return f"is not in a format that is read here; it resembles {name}; got {described(document)}"
    if isinstance(item, dict) and (path := _find_messages(item)) and spell("columns"):
        advice = f"{spell_columns(('messages', path))} to read its messages; reply and conversation may be named too"
        return f"is not in a format that is read here; {advice}; got {described(document)}"
    form = _CONFIG if _is_thresholds(document) else _nearest(document)
    if form is None:
        allowed = f"{_EVAL_SET.name} {_EVAL_SET.sample}, for example"
    else:
        allowed = f"the nearest is {form.name} {form.sample}"
    return f"is not in a format that is read here; {allowed}; got {described(document)}"


def _find_messages(item: dict[str, Any], depth: int = 3) -> str:
    """Return the JSONPath of a list of messages a few levels deep in an object, or an empty text."""
    for key in _few(item):
        value = item[key]
        if not (key.isidentifier() and key.isascii() and len(key) <= _LONGEST_KEY):
            continue
        if isinstance(value, list) and value and holds_messages(value[0], depth=0):
            return key
        if depth and isinstance(value, dict) and (inner := _find_messages(value, depth - 1)):
            return f"{key}.{inner}"
    return ""


def case_problem(raw: dict[str, Any]) -> str:
    """Return the problem of an object in `eval_cases` that has none of the keys of a case."""
    return f"must be {_CASE_SAMPLE}, got {described(raw)}"


def _nearest(document: Any) -> _Format | None:
    """Return the format that shares most keys with a document, including misspelt keys, or None if it shares none."""
    is_array = isinstance(document, list)
    item = document[0] if is_array and document else document
    keys = [snake(key) for key in _few(item) if len(key) <= _LONGEST_KEY] if isinstance(item, dict) else []
    best, best_weight = None, 0.0
    for form in _FORMATS:
        shared = sum(max(_likeness(key, name) for name in form.keys) for key in keys)
        # An item of an array may be written alone, and an object as the only item of an array.
        weight = shared if form.is_array == is_array else shared * 0.9
        if weight > best_weight:
            best, best_weight = form, weight
    # A few keys that many formats have, such as `id`, show nothing.
    return best if best_weight >= len(keys) * _LEAST_SHARE else None


def _likeness(key: str, name: str) -> float:
    """Return how alike two names are, from 0 to 1. Names that are not near each other get 0."""
    ratio = difflib.SequenceMatcher(None, key, name).ratio()
    contained = len(key) > 3 and (key in name.split("_") or key in name or name in key)
    return ratio if ratio >= 0.75 or contained else 0.0


def _few(keys: Iterable[str]) -> list[str]:
    return [key for key, _ in zip(keys, range(_MOST_KEYS), strict=False)]


def described(document: Any, depth: int = 3) -> str:
    """Return a document in a few words, with its first keys. Arrays in arrays are opened `depth` times."""
    if isinstance(document, dict) and document:
        names = ", ".join(shorten(repr(key), 40) for key in list(document)[:8])
        return f"an object with the keys {names}" + (", …" if len(document) > 8 else "")
    if isinstance(document, list) and document:
        first = described(document[0], depth - 1) if depth > 1 or not isinstance(document[0], list) else "an array"
        return f"an array that starts with {first}"
    return format_value(document)
