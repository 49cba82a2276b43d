"""The signature of a metric: a digest of the code and options that produce a number."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairtrial.system.parsing import read_source

if TYPE_CHECKING:
    from fairtrial.records.record import Json


class Prompted:
    """A metric whose prompts are part of its signature."""

    @property
    def prompts(self) -> dict[str, Json]:
        """The versions of the prompts, by their names."""
        raise NotImplementedError


def signature(metric: Any) -> dict[str, Json]:
    """Return the signature of a metric or of an object that it calls, such as a judge.

    For a dataclass it consists of the qualified name and the fields, and callable fields have their own signature. A
    metric with a judge adds the versions of its prompts. For a function it consists of the qualified name and the
    SHA-256 of the source.
    """
    if dataclasses.is_dataclass(metric) and not isinstance(metric, type):
        fields = {field.name: _value(getattr(metric, field.name)) for field in dataclasses.fields(metric) if field.repr}
        prompts = {"prompts": metric.prompts} if isinstance(metric, Prompted) else {}
        return {"metric": f"{type(metric).__module__}:{type(metric).__qualname__}", "options": fields, **prompts}
    if isinstance(metric, functools.partial):
        return {**signature(metric.func), "args": _value(metric.args), "keywords": _value(metric.keywords)}
    code = metric if hasattr(metric, "__qualname__") else type(metric)
    return {"metric": f"{code.__module__}:{code.__qualname__}", "source": _source(code)}


def add_signature(signatures: dict[str, Json], name: str, entry: Json, *, eval_set_id: str) -> None:
    """Add a signature under a name that no other signature has.

    The first free name is taken, for example `calls`, `shop/calls`, `shop/calls 2`.
    """
    longer = f"{eval_set_id}/{name}"
    names = itertools.chain((name, longer), (f"{longer} {number}" for number in itertools.count(2)))
    signatures[next(key for key in names if signatures.get(key, entry) == entry)] = entry


def _value(value: Any) -> Json:
    if callable(value):
        return signature(value)
    if isinstance(value, dict):
        return {str(key): _value(inner) for key, inner in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    # The default `repr` contains an address, which differs in every process.
    kind: Any = type(value)
    return f"{kind.__module__}:{kind.__qualname__}" if kind.__repr__ is object.__repr__ else repr(value)


def _source(function: Callable[..., Any]) -> str | None:
    try:
        return hashlib.sha256(read_source(function).encode()).hexdigest()
    except (OSError, TypeError):
        return None
