"""Writes src/view.ts: the TypeScript types of the view model, from its JSON Schema. `make ui` runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairtrial.reports.schemas import VIEWS, schema

FILE = Path(__file__).parent / "src" / "view.ts"
_EMPTY = (None, "", False, [], {})
_SIMPLE = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}


def types() -> str:
    """Return the module with a type for each shape."""
    interfaces = [_interface(name, shape) for name, shape in schema(VIEWS)["$defs"].items()]
    return "\n".join(["// `make ui` writes this file from the JSON Schema of the view model.", "", *interfaces])


def _interface(name: str, shape: dict[str, Any]) -> str:
    if "properties" not in shape:
        return f"export type {name} = {_type(shape)};\n"
    # A key that a page may leave out has an empty default, or none.
    required = shape.get("required", ())
    lines = [
        f"  {key}{'?' if value.get('default', 1 if key in required else None) in _EMPTY else ''}: {_type(value)};"
        for key, value in shape["properties"].items()
    ]
    return "\n".join([f"export interface {name} {{", *lines, "}", ""])


def _type(shape: dict[str, Any]) -> str:
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    if "anyOf" in shape:
        return " | ".join(_type(option) for option in shape["anyOf"])
    if "enum" in shape:
        return " | ".join(json.dumps(value) for value in shape["enum"])
    return _container(shape) or _SIMPLE.get(str(shape.get("type")), "unknown")


def _container(shape: dict[str, Any]) -> str:
    """Return the type of an array or of an object without fixed keys, or an empty text for other shapes."""
    if "prefixItems" in shape:
        return f"[{', '.join(_type(item) for item in shape['prefixItems'])}]"
    if shape.get("type") == "array":
        inner = _type(shape["items"]) if isinstance(shape.get("items"), dict) else "unknown"
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if shape.get("type") == "object":
        values = shape.get("additionalProperties")
        return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
    return ""


if __name__ == "__main__":
    FILE.write_text(types(), encoding="utf-8")
