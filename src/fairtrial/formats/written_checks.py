"""Read and write checks as JSON: `{"contains": "A-17"}` with further keys beside the kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairtrial.config.spelling import spellings
from fairtrial.errors import UsageError, nearest
from fairtrial.records.check import GROUP_KINDS, VALUE_KINDS, Check, GroupKind, ValueKind
from fairtrial.records.record import Json, without_defaults
from fairtrial.text.json_schemas import json_schema
from fairtrial.text.user_patterns import user_pattern

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

EXAMPLE = "a check such as {'contains': 'A-17'}"
_KINDS: tuple[ValueKind | GroupKind, ...] = (*VALUE_KINDS, *GROUP_KINDS)
_BESIDES = ("tool", "argument", "calls", "ignore_case", "fenced", "threshold", "name")
_KEYS = spellings(*_KINDS, *_BESIDES)
_CALLS = ("every", "any", "if_called")
_DEEPEST = 8
"""The most levels of `any`, `all` and `not` in one another."""
_ONLY: dict[str, tuple[str, ...]] = {
    "fenced": ("json_schema",),
    "threshold": ("similar",),
    "ignore_case": ("equals", "contains", "not_contains", "starts_with", "one_of", "regex"),
}
"""The kinds that an option belongs to. Elsewhere it would do nothing."""


def read_checks(raw: Any, at: Place, reading: Diagnostics) -> tuple[Check, ...]:
    """Return checks: an array of objects, or one object. Problems are noted in `reading`."""
    if isinstance(raw, dict | Check):
        return (_read_check(raw, at, reading, 1),)
    if not isinstance(raw, list | tuple):
        reading.wrong_type(at, f"an array of checks, each {EXAMPLE}", raw)
        return ()
    return tuple(_read_check(item, (at, place), reading, 1) for place, item in enumerate(raw))


def check_json(check: Check) -> dict[str, Json]:
    """Return a check as a file holds it."""
    fields = without_defaults(check)
    kind = fields.pop("kind")
    value = fields.pop("value", None)
    fields.pop("checks", None)
    if check.kind in GROUP_KINDS:
        members = [check_json(member) for member in check.checks]
        value = members[0] if check.kind == "not" else members
    return {kind: value, **fields}


def _read_check(raw: Any, at: Place, reading: Diagnostics, depth: int) -> Check:
    nothing = Check("equals", "")
    if isinstance(raw, Check):
        raw = check_json(raw)
    if not isinstance(raw, dict):
        reading.wrong_type(at, EXAMPLE, raw)
        return nothing
    if depth > _DEEPEST:
        reading.error(at, f"stands in more than {_DEEPEST} levels of any, all and not")
        return nothing
    fields, _ = reading.fields(raw, _KEYS, at)
    kinds = [name for name in _KINDS if name in fields]
    if len(kinds) != 1:
        if not any(key not in _KEYS and nearest(str(key), _KEYS) for key in raw):
            got = " and ".join(map(repr, kinds)) or "none"
            reading.error(at, f"must have exactly one of {', '.join(_KINDS)}, got {got}")
        return nothing
    kind = kinds[0]
    members = _read_members(kind, fields[kind], (at, kind), reading, depth) if kind in GROUP_KINDS else ()
    check = Check(
        kind,
        None if kind in GROUP_KINDS else fields[kind],
        members,
        reading.text(fields, "tool", at),
        reading.text(fields, "argument", at),
        fields.get("calls", "every"),
        reading.flag(fields, "ignore_case", at),
        reading.flag(fields, "fenced", at),
        _threshold(fields, at, reading),
        reading.text(fields, "name", at),
    )
    _note_problems(check, fields, at, reading)
    return check


def _read_members(kind: str, raw: Any, at: Place, reading: Diagnostics, depth: int) -> tuple[Check, ...]:
    """Return the checks of a group: an array for `any` and `all`, and one check for `not`."""
    if kind == "not":
        return (_read_check(raw, at, reading, depth + 1),)
    if not isinstance(raw, list) or not raw:
        reading.wrong_type(at, f"an array of at least one check, each {EXAMPLE}", raw)
        return ()
    return tuple(_read_check(item, (at, place), reading, depth + 1) for place, item in enumerate(raw))


def _threshold(fields: dict[str, Any], at: Place, reading: Diagnostics) -> float:
    value = reading.number(fields, "threshold", at)
    if value is not None and not -1 <= value <= 1:
        reading.error((at, "threshold"), f"must be a number from -1 to 1, got {value}")
    return 0.8 if value is None else float(value)


def _note_problems(check: Check, fields: dict[str, Any], at: Place, reading: Diagnostics) -> None:
    """Note options that do not go together, and a value that the kind cannot compare."""
    for option, kinds in _ONLY.items():
        if option in fields and check.kind not in kinds:
            reading.error((at, option), f"belongs to {', '.join(kinds)}, not to {check.kind}")
    if check.calls not in _CALLS:
        reading.wrong_type((at, "calls"), f"one of {', '.join(_CALLS)}", check.calls)
    for option in ("argument", "calls"):
        if option in fields and not check.tool:
            reading.error((at, option), "needs 'tool', the name of the tool whose calls are checked")
    if check.kind in GROUP_KINDS:
        if check.tool:
            reading.error((at, "tool"), f"stands in the checks inside {check.kind}")
        return
    if check.tool and not check.argument and check.kind not in ("equals", "json_schema"):
        reading.error(at, f"must have 'argument': {check.kind} compares one argument of {check.tool}")
    if problem := _VALUE_PROBLEMS[check.kind](check):
        reading.error((at, check.kind), problem)


def _text_problem(check: Check) -> str:
    if not isinstance(check.value, str):
        return f"must be a string, got {check.value!r:.60}"
    return "" if check.value.strip() else "must not be blank"


def _equals_problem(check: Check) -> str:
    if check.tool or isinstance(check.value, str):
        return ""
    return f"must be a string, because a reply is a text, got {check.value!r:.60}; json_schema compares JSON"


def _contains_problem(check: Check) -> str:
    values = check.value if isinstance(check.value, list) else [check.value]
    if not values:
        return "must hold at least one text"
    for value in values:
        if not isinstance(value, str) and not check.tool:
            return f"must be a string or an array of strings, got {value!r:.60}"
        if isinstance(value, str) and not value.strip():
            return "must not be blank: a blank text is in nearly every text"
    return ""


def _one_of_problem(check: Check) -> str:
    if not isinstance(check.value, list) or not check.value:
        return f"must be an array of at least one value, got {check.value!r:.60}"
    if not check.tool and not all(isinstance(value, str) for value in check.value):
        return "must hold strings, because a reply is a text"
    return ""


def _regex_problem(check: Check) -> str:
    if problem := _text_problem(check):
        return problem
    try:
        user_pattern(check.value, ignore_case=check.ignore_case)
    except ValueError as error:
        return str(error)
    return ""


def _schema_problem(check: Check) -> str:
    if not isinstance(check.value, dict | bool):
        return f"must be a JSON Schema, an object, got {check.value!r:.60}"
    try:
        json_schema(check.value)
    except (ValueError, UsageError) as error:
        return str(error)
    return ""


_VALUE_PROBLEMS: dict[str, Callable[[Check], str]] = {
    "equals": _equals_problem,
    "contains": _contains_problem,
    "not_contains": _contains_problem,
    "starts_with": _text_problem,
    "one_of": _one_of_problem,
    "regex": _regex_problem,
    "json_schema": _schema_problem,
    "similar": _text_problem,
}
