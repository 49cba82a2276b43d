"""JSON Schemas of users. Their patterns take linear time, and nothing outside of a schema is read."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from fairtrial.errors import UsageError, lacks_extra
from fairtrial.text.display import shorten
from fairtrial.text.pointer import escape

_LONGEST_MESSAGE = 200
_PARAMETER_KEYS = (
    "parameters",
    "parameters_json_schema",
    "parametersJsonSchema",
    "input_schema",
    "inputSchema",
    "args_schema",
)
"""The keys under which providers and frameworks declare the arguments of a tool."""


class SchemaProblem(NamedTuple):
    """A value that a schema does not allow: its JSON pointer, and the reason."""

    pointer: str
    message: str


class JsonSchema:
    """A compiled schema: draft 2020-12, or the draft that its `$schema` names.

    Raises ValueError if it is not a schema, and UsageError if the extra `schema` is not installed.
    """

    def __init__(self, schema: Any) -> None:
        require_schemas()
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.validator_for(
                schema, pattern_options=jsonschema_rs.RegexOptions(), retriever=_refuse
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError) as error:
            message = str(error).splitlines() or [""]
            raise ValueError(f"must be a JSON Schema: {shorten(message[0], _LONGEST_MESSAGE)}") from None

    def find_problem(self, value: Any) -> SchemaProblem | None:
        """Return the first problem of a value, or None if the schema allows it."""
        if self._validator.is_valid(value):
            return None
        error = next(iter(self._validator.iter_errors(value)))
        pointer = "".join(f"/{escape(str(key))}" for key in error.instance_path)
        return SchemaProblem(pointer, shorten(error.message, _LONGEST_MESSAGE))


def find_parameters(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the arguments that a tool declares, or an empty one if it declares none."""
    schemas = (declaration.get(key) for key in _PARAMETER_KEYS)
    return next((schema for schema in schemas if isinstance(schema, dict) and schema), {})


def require_schemas() -> None:
    """Raise UsageError if the library for schemas is not installed."""
    if importlib.util.find_spec("jsonschema_rs") is None:
        raise UsageError(lacks_extra("a check with 'json_schema'", "schema"), code="missing-package")


def json_schema(schema: Any) -> JsonSchema:
    """Return a compiled schema. Equal schemas are compiled once. Raises as `JsonSchema` does."""
    return _compile(msgspec.json.encode(schema))


@lru_cache(maxsize=256)
def _compile(text: bytes) -> JsonSchema:
    return JsonSchema(msgspec.json.decode(text))


def _refuse(uri: str) -> Any:
    """Refuse to read what a reference names: a schema of somebody else must not open files or connections."""
    raise ValueError(f"{uri} is outside of the schema, and is not read")
