"""What every record is: frozen, slotted, comparable, and JSON both ways."""

from __future__ import annotations

from typing import Any

import msgspec

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict with string keys."""

Extra = dict[str, Any] | None
"""What a foreign file said beyond our fields, kept so that writing it back loses nothing."""


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The one kind of record. `gc=False` is safe because frozen records cannot form cycles."""
