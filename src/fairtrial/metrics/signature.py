"""What exactly produced a number? Qualified names, options, and the source of functions."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from fairtrial.records.record import Json


def signature(metric: Any) -> dict[str, Json]:
    """Return the signature of a metric or seam: of a dataclass its name and fields, of a function its name and source.

    Sources are told by their SHA-256, fields that are callable by their own signature.
    """
    if dataclasses.is_dataclass(metric) and not isinstance(metric, type):
        fields = {field.name: _value(getattr(metric, field.name)) for field in dataclasses.fields(metric) if field.repr}
        return {"metric": f"{type(metric).__module__}:{type(metric).__qualname__}", "options": fields}
    if isinstance(metric, functools.partial):
        return {**signature(metric.func), "args": _value(metric.args), "keywords": _value(metric.keywords)}
    written = metric if hasattr(metric, "__qualname__") else type(metric)
    return {"metric": f"{written.__module__}:{written.__qualname__}", "source": _source(written)}


def add_signature(signatures: dict[str, Json], name: str, signed: Json, *, eval_set_id: str) -> None:
    """Add a signature by its name; where that stands for another one, by the eval set's too, numbered where need be."""
    longer = f"{eval_set_id}/{name}"
    names = itertools.chain((name, longer), (f"{longer} {number}" for number in itertools.count(2)))
    signatures[next(one for one in names if signatures.get(one, signed) == signed)] = signed


def _value(value: Any) -> Json:
    if callable(value):
        return signature(value)
    if isinstance(value, dict):
        return {str(key): _value(inner) for key, inner in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    # A default `repr` holds an address, which is another one in the next process.
    kind: Any = type(value)
    return f"{kind.__module__}:{kind.__qualname__}" if kind.__repr__ is object.__repr__ else repr(value)


def _source(function: Callable[..., Any]) -> str | None:
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()
    except (OSError, TypeError):
        return None
