"""Decide checks of texts: a reply or a file contains a text, matches a pattern, or is JSON or a table."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, NamedTuple

import regex

from fairtrial.text.display import shorten
from fairtrial.text.json_schemas import json_schema

if TYPE_CHECKING:
    from fairtrial.records.workspace import WorkspaceCheck

_MOST_SECONDS = 5.0
_LONGEST_TEXT = 120
TEXT_CHECKS = ("contains", "not_contains", "matches", "not_matches", "json", "csv_rows")


class Decision(NamedTuple):
    """Whether a check holds, and why. None means that it could not be decided."""

    passed: bool | None
    reason: str


def decide_text(check: WorkspaceCheck, text: str) -> Decision:
    """Return whether a check of a text holds."""
    if check.type in ("contains", "not_contains"):
        return _contains(check, text)
    if check.type in ("matches", "not_matches"):
        return _matches(check, text)
    if check.type == "json":
        return _json(check, text)
    return _rows(check, text)


def decide_number(check: WorkspaceCheck, number: float, unit: str) -> Decision:
    """Return whether a number is within the limits of a check. `what` names it, for example "files"."""
    if check.at_least is not None and number < check.at_least:
        return Decision(False, f"{number:g} {unit}, at least {check.at_least:g} are needed")
    if check.at_most is not None and number > check.at_most:
        return Decision(False, f"{number:g} {unit}, at most {check.at_most:g} are allowed")
    return Decision(True, f"{number:g} {unit}")


def _contains(check: WorkspaceCheck, text: str) -> Decision:
    def fold(value: str) -> str:
        return value.casefold() if check.ignore_case else value

    whole = fold(text)
    present = [item for item in check.texts if fold(item) in whole]
    missing = [item for item in check.texts if item not in present]
    if check.type == "not_contains":
        quoted = ", ".join(repr(shorten(item, _LONGEST_TEXT)) for item in present)
        return Decision(not present, f"found {quoted}" if present else "found none of the texts")
    quoted = ", ".join(repr(shorten(item, _LONGEST_TEXT)) for item in missing)
    return Decision(not missing, f"did not find {quoted}" if missing else "found every text")


def _matches(check: WorkspaceCheck, text: str) -> Decision:
    flags = regex.IGNORECASE if check.ignore_case else 0
    try:
        match = regex.search(check.pattern, text, flags, timeout=_MOST_SECONDS)
    except TimeoutError:
        return Decision(None, f"the pattern took more than {_MOST_SECONDS:g} seconds")
    if match is None:
        return Decision(check.type == "not_matches", "found no match")
    return Decision(check.type == "matches", f"found {shorten(match[0], _LONGEST_TEXT)!r}")


def _json(check: WorkspaceCheck, text: str) -> Decision:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Decision(False, f"is not JSON: {shorten(str(error), _LONGEST_TEXT)}")
    if check.json_schema is None:
        return Decision(True, "is JSON")
    problem = json_schema(check.json_schema).find_problem(value)
    return Decision(problem is None, f"{problem.pointer or '/'}: {problem.message}" if problem else "fits the schema")


def _rows(check: WorkspaceCheck, text: str) -> Decision:
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as error:
        return Decision(False, f"is not CSV: {error}")
    return decide_number(check, max(0, len(rows) - 1), "rows")
