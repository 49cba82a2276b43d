"""The base class of all records: frozen, slotted, comparable, and JSON both ways."""

from __future__ import annotations

from typing import Any

import msgspec

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict with string keys."""

Extra = dict[str, Any] | None
"""The parts of a foreign file that no field holds. They are kept to be written back, and nothing else reads them."""


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The base of all records. `gc=False` is safe because frozen records cannot form cycles."""
