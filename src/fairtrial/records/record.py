"""The base class of all records: frozen, slotted, comparable, and JSON both ways."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict with string keys."""

Extra = dict[str, Any] | None
"""The parts of a foreign file that no field holds. They are kept to be written back, and nothing else reads them."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """The base of all records. `gc=False` is safe because frozen records cannot form cycles.

    msgspec writes every field of a record, defaults included. For example, if a later version changes the default of
    `lower_is_better`, a stored outcome keeps its own value.
    """


_HTML: dict[type, Callable[[Any], str]] = {}


def show_as_html(kind: type, render_html: Callable[[Any], str]) -> None:
    """Let notebooks show a kind of record as the HTML that a function returns. Records themselves know no report."""
    _HTML[kind] = render_html


class Displayed(Record, frozen=True):
    """The base of records that a notebook shows as HTML, if a function for it is registered."""

    def _repr_html_(self) -> str | None:
        render_html = _HTML.get(type(self))
        return None if render_html is None else render_html(self)


def without_defaults(value: Any) -> Json:
    """Return a record as plain data without the fields that have their default, at any depth.

    It is shorter for people who read it, and the record can be made from it again.
    """
    if isinstance(value, msgspec.Struct):
        kind = value.__class__  # a score that is explained later has a type of its own
        fields = {
            name: without_defaults(item)
            for name, default in default_values(kind)
            if (item := getattr(value, name)) != default
        }
        config = kind.__struct_config__
        return fields if config.tag_field is None else {config.tag_field: config.tag, **fields}
    if isinstance(value, list | tuple):
        return [without_defaults(item) for item in value]
    if isinstance(value, dict):
        return {key: without_defaults(item) for key, item in value.items()}
    return value


@cache
def default_values(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a kind of record with their defaults. A field that is required has `msgspec.NODEFAULT`."""
    return tuple(
        (field.name, field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory())
        for field in msgspec.structs.fields(kind)
    )
