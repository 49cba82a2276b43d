"""Decode YAML text into JSON values."""

from __future__ import annotations

from typing import Any

from fairtrial.errors import FormatError

SUFFIXES = (".yaml", ".yml")
_LARGEST = 1_000_000
"""Bytes. YAML is read for configurations only, and reading it takes long."""


def decode(data: bytes, path: str) -> Any:
    """Return the value of a YAML document, made of JSON's types.

    Raises FormatError with line and column. A key that stands twice, an alias, and a value that JSON does not have,
    for example a date, are errors.
    """
    import yaml  # only a configuration in YAML needs it

    if len(data) > _LARGEST:
        raise FormatError(path, [f"is larger than {_LARGEST:,} bytes; write JSON"])
    try:
        return _value(yaml.compose(data, Loader=yaml.SafeLoader), path)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise FormatError(path, [f"{place}is not YAML: {getattr(error, 'problem', None) or error}"]) from None
    except RecursionError:
        raise FormatError(path, ["is nested too deeply to be a file that anyone wrote"]) from None


def _value(node: Any, path: str) -> Any:
    """Return the value of a node. A second visit of a node means an alias, which could repeat it for ever."""
    import yaml

    constructor = yaml.constructor.SafeConstructor()
    visited: set[int] = set()

    def build(inner: Any) -> Any:
        place = f"line {inner.start_mark.line + 1}, column {inner.start_mark.column + 1}"
        if id(inner) in visited:
            raise FormatError(path, [f"{place}: is repeated by an alias (*name); write it out"])
        visited.add(id(inner))
        if isinstance(inner, yaml.SequenceNode):
            return [build(item) for item in inner.value]
        if isinstance(inner, yaml.MappingNode):
            found: dict[str, Any] = {}
            for key, item in inner.value:
                name = str(key.value)
                if name in found:
                    raise FormatError(path, [f"{place}: {name!r} stands there twice; keep one"])
                found[name] = build(item)
            return found
        scalar = constructor.construct_object(inner)
        if scalar is None or isinstance(scalar, bool | int | float | str):
            return scalar
        raise FormatError(path, [f"{place}: must be a value that JSON has, got {inner.value!r}; quote it"])

    return None if node is None else build(node)
