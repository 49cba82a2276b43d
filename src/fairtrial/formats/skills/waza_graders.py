"""Translate the graders of waza into checks and rubrics. A grader without a twin is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.formats.skills.check_types import escapes
from fairtrial.records.rubric import Rubric
from fairtrial.records.workspace import Order, WorkspaceCheck
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_ORDERS: dict[str, Order] = {
    "exact_match": "exact",
    "in_order_match": "in_order",
    "in_order": "in_order",
    "any_order_match": "any",
    "any_order": "any",
}
_NO_TWIN = "has no twin here, and is not checked"
_EXPRESSION = 200


@dataclass(frozen=True)
class Grading:
    """The demands of graders: checks, and rubrics for a judge."""

    checks: tuple[WorkspaceCheck, ...] = ()
    rubrics: tuple[Rubric, ...] = ()

    def joined(self, grading: Grading) -> Grading:
        """Return the demands of both."""
        return Grading((*self.checks, *grading.checks), (*self.rubrics, *grading.rubrics))


def read_graders(raw: Any, at: Place, reading: Diagnostics) -> Grading:
    """Return the checks and rubrics of a list of graders. Notes name everything without a twin."""
    if raw is None:
        return Grading()
    if not isinstance(raw, list):
        reading.wrong_type(at, "an array of graders", raw)
        return Grading()
    grading = Grading()
    for i, grader in enumerate(raw):
        if not isinstance(grader, dict):
            reading.wrong_type((at, i), "a grader such as {'type': 'text', ...}", grader)
            continue
        grading = grading.joined(_grader(grader, (at, i), reading))
    return grading


def _grader(grader: dict[str, Any], at: Place, reading: Diagnostics) -> Grading:
    kind, name = str(grader.get("type")), str(grader.get("name") or "")
    config = reading.mapping(grader, "config", at) or {}
    inside: Place = (at, "config")
    if kind == "prompt":
        prompt = config.get("prompt") or grader.get("rubric")
        if isinstance(prompt, str):
            return Grading(rubrics=(Rubric(name or "prompt", prompt.strip(), type="FINAL_RESPONSE_QUALITY"),))
    translate = _GRADERS.get(kind)
    if translate is None:
        reading.notes.append(f"{reading.pointer(at)}: the grader {name!r} of the type {kind!r} {_NO_TWIN}")
        return Grading()
    return Grading(tuple(translate(config, name, inside, reading)))


def texts_at(fields: dict[str, Any], key: str, at: Place, reading: Diagnostics) -> tuple[str, ...]:
    """Return a text or an array of texts."""
    raw = fields.get(key)
    if raw is None:
        return ()
    texts = [raw] if isinstance(raw, str) else raw
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        reading.wrong_type((at, key), "an array of texts", raw)
        return ()
    return tuple(texts)


def _unread(config: dict[str, Any], known_keys: set[str], at: Place, reading: Diagnostics) -> None:
    for key in config.keys() - known_keys:
        reading.notes.append(f"{reading.pointer((at, key))}: {_NO_TWIN}")


def _text(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    for key, kind, ignore_case in (
        ("contains", "contains", True),
        ("contains_cs", "contains", False),
        ("not_contains", "not_contains", True),
        ("not_contains_cs", "not_contains", False),
    ):
        if texts := texts_at(config, key, at, reading):
            yield WorkspaceCheck(kind, name, texts=texts, ignore_case=ignore_case)
    for key, kind in (("regex_match", "matches"), ("regex_not_match", "not_matches")):
        for pattern in texts_at(config, key, at, reading):
            yield WorkspaceCheck(kind, _add_detail(name, pattern), pattern=pattern)
    known_keys = {"contains", "contains_cs", "not_contains", "not_contains_cs", "regex_match", "regex_not_match"}
    _unread(config, known_keys, at, reading)


def _add_detail(name: str, detail: str) -> str:
    return f"{name}: {detail}" if name else detail


def _path(path: str, at: Place, reading: Diagnostics) -> str:
    if escapes(path):
        reading.error(at, f"must stay inside of the workspace, got {path!r:.80}")
        return ""
    return path.removeprefix("./")


def _file(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    for key, kind in (("must_exist", "exists"), ("must_not_exist", "absent")):
        for path in texts_at(config, key, at, reading):
            yield WorkspaceCheck(kind, _add_detail(name, f"{kind} {path}"), _path(path, (at, key), reading))
    for i, item in enumerate(reading.array(config, "content_patterns", at)):
        place: Place = ((at, "content_patterns"), i)
        if not isinstance(item, dict):
            reading.wrong_type(place, "an object with 'path'", item)
            continue
        path = _path(reading.required(item, "path", place), place, reading)
        for key, kind in (("must_match", "matches"), ("must_not_match", "not_matches")):
            for pattern in texts_at(item, key, place, reading):
                yield WorkspaceCheck(kind, _add_detail(name, f"{path} {kind} {pattern}"), path, pattern=pattern)
    _unread(config, {"must_exist", "must_not_exist", "content_patterns"}, at, reading)


def _behavior(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    for key, kind, factor in (
        ("max_tool_calls", "calls", 1.0),
        ("max_tokens", "tokens", 1.0),
        ("max_duration_ms", "seconds", 0.001),
    ):
        limit = reading.number(config, key, at)
        if limit:  # 0 is waza's "no limit"
            yield WorkspaceCheck(kind, _add_detail(name, f"{kind} at most {limit * factor:g}"), at_most=limit * factor)
    for key, kind in (("required_tools", "uses_tools"), ("forbidden_tools", "avoids_tools")):
        if tools := texts_at(config, key, at, reading):
            yield WorkspaceCheck(kind, _add_detail(name, f"{kind} {', '.join(tools)}"), tools=tools)
    known_keys = {"max_tool_calls", "max_tokens", "max_duration_ms", "required_tools", "forbidden_tools"}
    _unread(config, known_keys, at, reading)


def _sequence(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    if tools := texts_at(config, "expected_actions", at, reading):
        yield WorkspaceCheck("uses_tools", name, tools=tools, order=_order(config, "matching_mode", at, reading))
    _unread(config, {"expected_actions", "matching_mode"}, at, reading)


def _order(config: dict[str, Any], key: str, at: Place, reading: Diagnostics) -> Order:
    mode = config.get(key, "in_order_match")
    if mode not in _ORDERS:
        reading.error((at, key), f"must be one of {', '.join(_ORDERS)}, got {mode!r:.40}")
        return "any"
    return _ORDERS[mode]


def _skills(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    skills = texts_at(config, "required_skills", at, reading)
    order = _order(config, "mode", at, reading)
    if config.get("allow_extra") is False and order == "in_order":
        order = "exact"
    elif config.get("allow_extra") is False and order == "any":
        reading.notes.append(f"{reading.pointer((at, 'allow_extra'))}: {_NO_TWIN} for skills in any order")
    if skills:
        yield WorkspaceCheck("uses_skills", name, tools=skills, order=order)
    _unread(config, {"required_skills", "mode", "allow_extra"}, at, reading)


def _tools(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    for key, kind in (("expect_tools", "uses_tools"), ("reject_tools", "avoids_tools")):
        names: list[str] = []
        for i, item in enumerate(reading.array(config, key, at)):
            if isinstance(item, str):
                names.append(item)
            elif isinstance(item, dict) and isinstance(item.get("tool"), str) and item.keys() == {"tool"}:
                names.append(item["tool"])
            else:
                reading.notes.append(f"{reading.pointer(((at, key), i))}: {_NO_TWIN}")
        if names:
            yield WorkspaceCheck(kind, _add_detail(name, f"{kind} {', '.join(names)}"), tools=tuple(names))
    _unread(config, {"expect_tools", "reject_tools"}, at, reading)


def _schema(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    schema = reading.mapping(config, "schema", at)
    if schema is not None:
        yield WorkspaceCheck("json", name, json_schema=schema)
    _unread(config, {"schema"}, at, reading)


def _diff(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    for i, item in enumerate(reading.array(config, "expected_files", at)):
        place: Place = ((at, "expected_files"), i)
        if not isinstance(item, dict):
            reading.wrong_type(place, "an object with 'path'", item)
            continue
        path = _path(reading.required(item, "path", place), place, reading)
        yield WorkspaceCheck("exists", _add_detail(name, f"exists {path}"), path)
        texts = texts_at(item, "contains", place, reading)
        for sign, kind in (("+", "contains"), ("-", "not_contains")):
            own = tuple(text[1:] if text[:1] in "+-" else text for text in texts if (text[:1] == "-") == (sign == "-"))
            if own:
                yield WorkspaceCheck(kind, _add_detail(name, f"{path} {kind} {', '.join(own)}"), path, own)
        _unread(item, {"path", "contains"}, place, reading)
    _unread(config, {"expected_files"}, at, reading)


_EXPRESSIONS: tuple[tuple[LazyPattern, Callable[[re.Match[str]], WorkspaceCheck]], ...] = (
    (
        LazyPattern(r"len\(output\) > (\d{1,6})"),
        lambda match: WorkspaceCheck("matches", pattern=rf"(?s).{{{int(match[1]) + 1}}}"),
    ),
    (
        LazyPattern(r"len\(output\) < (\d{1,6})"),
        lambda match: WorkspaceCheck("not_matches", pattern=rf"(?s).{{{match[1]}}}"),
    ),
    (
        LazyPattern(r"(['\"])([^'\"\\]+)\1 (not )?in output(\.lower\(\))?"),
        lambda match: WorkspaceCheck(
            "not_contains" if match[3] else "contains", texts=(match[2],), ignore_case=match[4] is not None
        ),
    ),
    (
        LazyPattern(r"duration_ms < (\d{1,9})"),
        lambda match: WorkspaceCheck("seconds", at_most=int(match[1]) / 1000),
    ),
    (
        LazyPattern(r"len\(tool_calls\) > (\d{1,6})"),
        lambda match: WorkspaceCheck("calls", at_least=float(int(match[1]) + 1)),
    ),
)
"""Python expressions of the grader `code` that have a twin. Nothing is evaluated."""


def _code(config: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> Iterator[WorkspaceCheck]:
    for i, expression in enumerate(texts_at(config, "assertions", at, reading)):
        match = next(
            (
                make(match)
                for pattern, make in _EXPRESSIONS
                if len(expression) <= _EXPRESSION and (match := pattern.fullmatch(expression.strip()))
            ),
            None,
        )
        if match is None:
            place: Place = ((at, "assertions"), i)
            reading.notes.append(f"{reading.pointer(place)}: the expression {expression!r:.120} {_NO_TWIN}")
        else:
            yield WorkspaceCheck(**{**_fields(match), "name": _add_detail(name, expression)})
    _unread(config, {"assertions"}, at, reading)


def _fields(check: WorkspaceCheck) -> dict[str, Any]:
    return {field: getattr(check, field) for field in check.__struct_fields__}


_GRADERS: dict[str, Callable[[dict[str, Any], str, Place, Diagnostics], Iterator[WorkspaceCheck]]] = {
    "text": _text,
    "file": _file,
    "behavior": _behavior,
    "action_sequence": _sequence,
    "skill_invocation": _skills,
    "tool_constraint": _tools,
    "json_schema": _schema,
    "diff": _diff,
    "code": _code,
}
