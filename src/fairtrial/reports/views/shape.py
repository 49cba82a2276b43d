"""The base of the shapes of the view model."""

from __future__ import annotations

import msgspec


class ViewShape(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base of shapes that leave out the keys that have their default, also in the JSON report."""
