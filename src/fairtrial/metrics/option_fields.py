"""What may a metric's options be? Fields of its dataclass that carry their documentation, and read themselves."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from fairtrial.config.wording import shown
from fairtrial.errors import ConfigError, collecting, nearest
from fairtrial.records.eval_config import CriterionSpec


def option(doc: str, *, default: Any, parse: Callable[[Any], Any] | None = None) -> Any:
    """Return a dataclass field that is an option of a criterion.

    `parse` turns the JSON value into the field's, and raises ValueError saying what is allowed.
    """
    return dataclasses.field(default=default, metadata={"doc": doc, "parse": parse})


def documented(metric: type) -> list[dataclasses.Field[Any]]:
    """Return the fields of a metric that are options."""
    return [field for field in dataclasses.fields(metric) if "doc" in field.metadata]


def hints(metric: type) -> dict[str, Any]:
    """Return the types of a metric's fields."""
    return typing.get_type_hints(metric)


def read_options(
    metric: type, spec: CriterionSpec, *, lenient: bool, accepted: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of a metric's options, and warnings.

    Raises ConfigError for values of the wrong kind and unknown options (warnings where `lenient`). Names in
    `accepted` are read by someone else.
    """
    fields = {field.name: field for field in documented(metric)}
    types = hints(metric)
    values: dict[str, Any] = {}
    problems: list[str] = []
    warnings: list[str] = []
    for name, raw in spec.options.items():
        if name in fields:
            with collecting(problems):
                values[name] = _value(fields[name], types[name], raw, spec.place(name))
        elif name not in accepted:
            others = nearest(name, [*fields, "threshold", *accepted]) or f"; allowed: threshold{_listed(fields)}"
            problem = f"{spec.place(name)}: is not an option of this criterion{others}"
            (warnings if lenient else problems).append(problem)
    if problems:
        raise ConfigError(*problems)
    return values, warnings


def _listed(names: Iterable[str]) -> str:
    return "".join(f", {name}" for name in sorted(names))


def check_options(metric: Any) -> None:
    """Read the options of a metric that is being made as a config's are read, so that Python gets the same errors."""
    types = hints(type(metric))
    for field in documented(type(metric)):
        value = _value(field, types[field.name], getattr(metric, field.name), field.name)
        object.__setattr__(metric, field.name, value)


def _value(field: dataclasses.Field[Any], hint: Any, raw: Any, pointer: str) -> Any:
    parse = field.metadata["parse"]
    try:
        return parse(raw) if parse else msgspec.convert(raw, type=hint, strict=True)
    except msgspec.ValidationError:
        raise ConfigError(f"{pointer}: must be {allowed(hint)}, got {shown(raw)}") from None
    except ValueError as error:
        raise ConfigError(f"{pointer}: {error}, got {shown(raw)}") from None


def allowed(hint: Any) -> str:
    """Return what values a type allows, in words."""
    if typing.get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, typing.get_args(hint)))}"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", type(None): "null"}
    if hint in names:
        return names[hint]
    origin = typing.get_origin(hint)
    if origin in (tuple, list):
        return "an array of strings" if typing.get_args(hint)[0] is str else "an array of objects"
    if origin in (dict, Mapping):
        return "an object"
    inner = [allowed(one) for one in typing.get_args(hint)]
    return " or ".join(inner) if inner else str(hint)
