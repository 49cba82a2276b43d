"""Read checks, which need no model: their types, and the keys of each type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.errors import UsageError, nearest
from fairtrial.records.record import without_defaults
from fairtrial.records.workspace import WorkspaceCheck
from fairtrial.text.json_schemas import json_schema
from fairtrial.text.user_patterns import UserPattern

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_TEXTS = "texts"


class CheckType(NamedTuple):
    """A type of check: its question, the keys that it needs, and the other keys that it takes.

    `place` says what a check looks at: the reply or a file (`text`), the workspace at the end of an attempt
    (`workspace`), or the steps of the agent (`steps`).
    """

    purpose: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    place: str


CHECK_TYPES: dict[str, CheckType] = {
    "contains": CheckType("every text stands in the reply, or in a file", (_TEXTS,), ("path", "ignore_case"), "text"),
    "not_contains": CheckType("no text stands in it", (_TEXTS,), ("path", "ignore_case"), "text"),
    "matches": CheckType("a regular expression finds something in it", ("pattern",), ("path", "ignore_case"), "text"),
    "not_matches": CheckType("a regular expression finds nothing", ("pattern",), ("path", "ignore_case"), "text"),
    "exists": CheckType("files match a path or a glob", ("path",), ("at_least", "at_most"), "workspace"),
    "absent": CheckType("no file matches a path or a glob", ("path",), (), "workspace"),
    "json": CheckType("the reply or a file is JSON, and fits a JSON schema", (), ("path", "schema"), "text"),
    "csv_rows": CheckType("a CSV file has so many rows below its header", ("path",), ("at_least", "at_most"), "text"),
    "changes_only": CheckType("all changed files match one of the globs", ("paths",), (), "workspace"),
    "command": CheckType(
        "a command in the workspace ends with an exit code", ("command",), ("exit_code",), "workspace"
    ),
    "calls": CheckType("the agent made so many calls", (), ("at_least", "at_most", "tools"), "steps"),
    "tokens": CheckType("the agent used so many tokens", (), ("at_least", "at_most"), "steps"),
    "seconds": CheckType("the agent took so many seconds", (), ("at_least", "at_most"), "steps"),
    "uses_tools": CheckType("the agent called these tools", ("tools",), ("order",), "steps"),
    "uses_skills": CheckType("the agent used these skills", ("skills",), ("order",), "steps"),
    "avoids_tools": CheckType("the agent called none of these tools", ("tools",), (), "steps"),
}
"""The types of checks."""

_NEEDS_LIMIT = ("csv_rows", "calls", "tokens", "seconds")
_LISTS = {_TEXTS: "text", "paths": "paths", "tools": "tools", "skills": "skills"}
_KEYS = {"text": _TEXTS}


def read_check(raw: Any, at: Place, reading: Diagnostics) -> WorkspaceCheck | None:
    """Return a check, or None with an error."""
    if not isinstance(raw, dict):
        reading.wrong_type(at, "a check such as {'type': 'exists', 'path': 'report.md'}", raw)
        return None
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in CHECK_TYPES:
        hint = nearest(str(kind), CHECK_TYPES)
        reading.error((at, "type"), f"must be one of {', '.join(CHECK_TYPES)}, got {kind!r:.80}{hint}")
        return None
    own, before = CHECK_TYPES[kind], len(reading.errors)
    fields: dict[str, Any] = {_KEYS.get(str(key), str(key)): value for key, value in raw.items()}
    for key in fields.keys() - {"type", "name", *own.needs, *own.takes}:
        known_keys = ("type", "name", *own.needs, *own.takes)
        hint = nearest(key, known_keys) or f"; known are {', '.join(known_keys)}"
        reading.error((at, key), f"is not a key of the check {kind!r}{hint}")
    for key in own.needs:
        if key not in fields:
            reading.error(at, f"the check {kind!r} must have {'text' if key == _TEXTS else key!r}")
    if kind in _NEEDS_LIMIT and not fields.keys() & {"at_least", "at_most"}:
        reading.error(at, f"the check {kind!r} must have 'at_least' or 'at_most'")
    check = WorkspaceCheck(
        kind,
        reading.text(fields, "name", at),
        relative_path(fields, "path", at, reading),
        _texts(fields, _TEXTS, at, reading),
        _pattern(fields, at, reading),
        reading.flag(fields, "ignore_case", at),
        reading.number(fields, "at_least", at),
        reading.number(fields, "at_most", at),
        _schema(fields, at, reading),
        _command(fields, at, reading),
        int(reading.number(fields, "exit_code", at) or 0),
        _texts(fields, "paths", at, reading),
        _texts(fields, "skills" if kind == "uses_skills" else "tools", at, reading),
        _order(fields, at, reading),
    )
    return check if len(reading.errors) == before else None


def write_check(check: WorkspaceCheck) -> dict[str, Any]:
    """Return a check as a file writes it."""
    names = {"json_schema": "schema", _TEXTS: "text", **({"tools": "skills"} if check.type == "uses_skills" else {})}
    fields = {names.get(name, name): value for name, value in without_defaults(check).items()}
    texts = fields.get("text")
    return fields | ({"text": texts[0]} if isinstance(texts, list) and len(texts) == 1 else {})


def escapes(path: str) -> bool:
    """Whether a path leads out of its folder, or is absolute. A backslash and a drive count, too."""
    parts = path.replace("\\", "/").split("/")
    return path.startswith(("/", "\\", "~")) or ".." in parts or ":" in parts[0] or "\0" in path


def relative_path(fields: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> str:
    """Return a path that stays in its folder, or an empty text with an error."""
    path = reading.text(fields, name, at)
    if escapes(path):
        reading.error((at, name), f"must stay inside of the workspace, got {path!r:.80}")
        return ""
    return path.removeprefix("./")


def _texts(fields: dict[str, Any], name: str, at: Place, reading: Diagnostics) -> tuple[str, ...]:
    raw = fields.get(name)
    if raw is None:
        return ()
    texts = [raw] if isinstance(raw, str) else raw
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        reading.wrong_type((at, _LISTS[name]), "a text or an array of texts", raw)
        return ()
    return tuple(texts)


def _pattern(fields: dict[str, Any], at: Place, reading: Diagnostics) -> str:
    pattern = reading.text(fields, "pattern", at)
    try:
        UserPattern(pattern)
    except ValueError as error:
        reading.error((at, "pattern"), str(error))
    return pattern


def _schema(fields: dict[str, Any], at: Place, reading: Diagnostics) -> dict[str, Any] | None:
    schema = reading.mapping(fields, "schema", at)
    try:
        if schema is not None:
            json_schema(schema)
    except (ValueError, UsageError) as error:
        reading.error((at, "schema"), str(error))
    return schema


def _command(fields: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[str, ...]:
    raw = fields.get("command")
    if isinstance(raw, str):
        return ("sh", "-c", raw)
    if raw is not None and not (isinstance(raw, list) and raw and all(isinstance(word, str) for word in raw)):
        reading.wrong_type((at, "command"), "a command line, or an array of its words", raw)
        return ()
    return tuple(raw or ())


def _order(fields: dict[str, Any], at: Place, reading: Diagnostics) -> Any:
    order = fields.get("order", "any")
    if order not in ("any", "in_order", "exact"):
        reading.error((at, "order"), f"must be any, in_order or exact, got {order!r:.80}")
        return "any"
    return order
