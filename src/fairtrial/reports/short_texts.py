"""Shorten the texts of a record for its layout, and remove secrets. A terminal lays out a megabyte too slowly."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.text.display import shorten

_TEXT_LENGTH = 1_000
_MOST_ITEMS = 50


def with_short_texts(value: Any) -> Any:
    """Return a record with texts of at most 1,000 characters and tuples of at most 50 items, at any depth.

    Secrets are replaced first, because half of a secret would not be found.
    """
    from fairtrial.text.redaction.redact import without_secrets  # most runs have no long text

    if isinstance(value, str):
        return value if isinstance(value, Enum) else shorten(without_secrets(value), _TEXT_LENGTH)
    if isinstance(value, tuple):
        return tuple(map(with_short_texts, value[:_MOST_ITEMS]))
    if isinstance(value, msgspec.Struct):
        return replace(value, **{name: with_short_texts(getattr(value, name)) for name in value.__struct_fields__})
    return value
