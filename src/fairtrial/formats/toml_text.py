"""Values of TOML files, and the table of this package in a project file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fairtrial.errors import FormatError

SUFFIX = ".toml"
_SHARED = "pyproject.toml"
"""The file that holds tables of many tools."""


def decode(data: bytes, path: str) -> Any:
    """Return the value of a TOML document. Raises FormatError with line and column."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        problem, _, place = str(error).rstrip(")").partition(" (at ")
        raise FormatError(path, [f"{place}: is not TOML: {problem}" if place else f"is not TOML: {problem}"]) from None


def project_table(data: bytes, path: str) -> dict[str, Any] | None:
    """Return the options of a project file, or None if a `pyproject.toml` has no table `tool.fairtrial`."""
    if PurePath(path).name != _SHARED:
        table = decode(data, path)
    elif b"fairtrial" in data:
        table = (decode(data, path).get("tool") or {}).get("fairtrial")
    else:
        table = None
    return table if isinstance(table, dict) else None


def encode_texts(values: Mapping[str, str]) -> str:
    """Return a TOML document of texts by their names, which are bare keys."""
    return "".join(f"{name} = {encode_value(value)}\n" for name, value in values.items())


def encode_value(value: Any) -> str:
    """Return a value as TOML writes it, an object as an inline table whose names are bare keys.

    A string is one of JSON but for the character DEL, which TOML escapes.
    """
    if isinstance(value, Mapping):
        return (
            f"{{ {', '.join(f'{name} = {encode_value(inner)}' for name, inner in value.items())} }}" if value else "{}"
        )
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
