"""Format a value, and the allowed values, for a message."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fairtrial.records.score import Range

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", type(None): "null"}
_PLURALS = {str: "strings", int: "whole numbers", float: "numbers"}


def format_value(value: Any) -> str:
    """Return a short text for a JSON value in a message. For example, `[1, 2]` is "an array of 2"."""
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    if isinstance(value, dict):
        return f"an object with {', '.join(sorted(map(repr, list(value)[:3])))}" if value else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value)}" if value else "an empty array"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}...{text[0] if isinstance(value, str) else ''}"


def allowed(annotation: Any) -> str:
    """Return the values that a type allows, in words. For example: "a whole number of at least 1"."""
    limits: list[Meta] = []
    if typing.get_origin(annotation) is Annotated:
        annotation, *extras = typing.get_args(annotation)
        limits = [extra for extra in extras if isinstance(extra, Meta)]
    if annotation is Any:
        return "any JSON value"
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        *arms, last = map(allowed, typing.get_args(annotation))
        return f"{' or '.join(arms)}, or {last}" if last == "null" else " or ".join((*arms, last))
    return _words(annotation) + "".join(_limit(meta) for meta in limits)


def choices(annotation: Any) -> tuple[Any, ...]:
    """Return the values of a Literal or Enum, or nothing for another type."""
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(member.value for member in annotation)
    return ()


def _words(kind: Any) -> str:
    if names := choices(kind):
        return f"one of {_list_names(names)}" if len(names) > 1 else str(names[0])
    origin = typing.get_origin(kind) or kind
    if origin in (tuple, list):
        item = typing.get_args(kind)[0]
        names = choices(item)
        return f"an array of any of {_list_names(names)}" if names else f"an array of {_plural(item)}"
    if origin in (dict, Mapping) or issubclass(origin, msgspec.Struct):
        return "an object"
    return _WORDS[origin]


def _list_names(names: Sequence[Any]) -> str:
    return ", ".join(str(name) or '""' for name in names)


def _plural(item: Any) -> str:
    if typing.get_origin(item) is Annotated:
        item = typing.get_args(item)[0]
    arms = typing.get_args(item) if typing.get_origin(item) in (typing.Union, types.UnionType) else (item,)
    return " or ".join(_PLURALS.get(arm, "objects") for arm in arms)


def _limit(meta: Meta) -> str:
    """The range of a number, or the pattern of a string. The pattern of this package is `NOT_BLANK` alone."""
    if meta.pattern is not None:
        return " that is not blank"
    low = meta.gt if meta.ge is None else meta.ge
    high = meta.lt if meta.le is None else meta.le
    if low is None and high is None:
        return ""
    return f" {Range(low, high, open_low=meta.gt is not None, open_high=meta.lt is not None)}"
