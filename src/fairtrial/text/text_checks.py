"""Decide checks of texts: whether a reply, or a file, contains, matches or is what a check asks for."""

from __future__ import annotations

import csv
import io
import json
from typing import NamedTuple

import regex

from fairtrial.records.workspace import Check
from fairtrial.text.display import shorten
from fairtrial.text.json_schema import problems

_MOST_SECONDS = 5.0
_SHOWN = 120
_MOST_PROBLEMS = 3
TEXT_CHECKS = ("contains", "not_contains", "matches", "not_matches", "json", "csv_rows")


class Decision(NamedTuple):
    """Whether a check holds, and why. None means that it could not be decided."""

    passed: bool | None
    reason: str


def decide_text(check: Check, text: str) -> Decision:
    """Return whether a check of a text holds."""
    if check.type in ("contains", "not_contains"):
        return _contains(check, text)
    if check.type in ("matches", "not_matches"):
        return _matches(check, text)
    if check.type == "json":
        return _json(check, text)
    return _rows(check, text)


def decide_number(check: Check, number: float, what: str) -> Decision:
    """Return whether a number is within the limits of a check. `what` names it, for example "files"."""
    if check.at_least is not None and number < check.at_least:
        return Decision(False, f"{number:g} {what}, at least {check.at_least:g} are needed")
    if check.at_most is not None and number > check.at_most:
        return Decision(False, f"{number:g} {what}, at most {check.at_most:g} are allowed")
    return Decision(True, f"{number:g} {what}")


def _contains(check: Check, text: str) -> Decision:
    def fold(value: str) -> str:
        return value.casefold() if check.ignore_case else value

    whole = fold(text)
    found = [each for each in check.texts if fold(each) in whole]
    missing = [each for each in check.texts if each not in found]
    if check.type == "not_contains":
        shown = ", ".join(repr(shorten(each, _SHOWN)) for each in found)
        return Decision(not found, f"found {shown}" if found else "found none of the texts")
    shown = ", ".join(repr(shorten(each, _SHOWN)) for each in missing)
    return Decision(not missing, f"did not find {shown}" if missing else "found every text")


def _matches(check: Check, text: str) -> Decision:
    flags = regex.IGNORECASE if check.ignore_case else 0
    try:
        found = regex.search(check.pattern, text, flags, timeout=_MOST_SECONDS)
    except TimeoutError:
        return Decision(None, f"the pattern took more than {_MOST_SECONDS:g} seconds")
    if found is None:
        return Decision(check.type == "not_matches", "found no match")
    return Decision(check.type == "matches", f"found {shorten(found[0], _SHOWN)!r}")


def _json(check: Check, text: str) -> Decision:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Decision(False, f"is not JSON: {shorten(str(error), _SHOWN)}")
    if check.json_schema is None:
        return Decision(True, "is JSON")
    found = [problem for problem, _ in zip(problems(value, check.json_schema), range(_MOST_PROBLEMS), strict=False)]
    return Decision(not found, "; ".join(found) if found else "fits the schema")


def _rows(check: Check, text: str) -> Decision:
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as error:
        return Decision(False, f"is not CSV: {error}")
    return decide_number(check, max(0, len(rows) - 1), "rows")
