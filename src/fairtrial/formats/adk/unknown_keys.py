"""Report unknown keys of a case that hold an expectation. The value says it, as no list of names is complete."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from fairtrial.formats.known_keys import KNOWN_NOTES, is_prose
from fairtrial.formats.right_forms import CALLS_FORM, is_no_expectation
from fairtrial.formats.value_shapes import holds_calls, holds_messages

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_NOTES_FORM = "; a text for people stands in 'description', 'notes' or 'metadata'"


def note_expectations(
    extra: dict[str, Any], at: Place, reading: Diagnostics, *, names: Iterable[str], quiet: Collection[str] = ()
) -> None:
    """Note unknown keys with calls, messages or texts. They may be an expectation, which nothing would check."""
    for key, value in extra.items():
        if key in quiet or key in KNOWN_NOTES or not is_no_expectation(key):
            continue
        if isinstance(value, str):
            if is_prose(value):
                reading.unknown(at, key, names, form=_NOTES_FORM)
            continue
        if not isinstance(value, list | dict):
            continue
        if holds_calls(value):
            reading.unknown(at, key, names, form=CALLS_FORM)
        elif holds_messages(value):
            reading.warning((at, key), "holds messages under an unknown key; they are not read")
        elif any(isinstance(text, str) and is_prose(text) for text in _items(value)):
            reading.unknown(at, key, names, form=_NOTES_FORM)


def _items(value: list[Any] | dict[str, Any]) -> list[Any]:
    """Return the items of a list or of an object. Data of other tools is nested deeper."""
    return list(value.values()) if isinstance(value, dict) else value
