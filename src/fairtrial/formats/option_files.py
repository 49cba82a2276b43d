"""Read option files in JSON or YAML. A key that stands twice in an object is an error."""

from __future__ import annotations

from typing import Any

import msgspec

from fairtrial.errors import FormatError
from fairtrial.formats import yaml_text
from fairtrial.formats.jsontext import duplicate_keys


def read_options(data: bytes, path: str) -> Any:
    """Return the content of a file of options. Raises FormatError if it is not JSON, or not YAML by its name."""
    if path.endswith(yaml_text.SUFFIXES):
        return yaml_text.decode(data, path)
    try:
        options = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, [f"is not JSON: {error}"]) from None
    if places := duplicate_keys(data, path):
        raise FormatError(path, [f"{place}: stands there twice; keep one" for place in places])
    return options
