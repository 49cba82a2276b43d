"""The options of a class: its fields with a description, whether it is a Struct or a dataclass."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fairtrial.config.wording import allowed

NOT_BLANK = r"\S"
"""The pattern of a string that must hold more than white space."""


@dataclasses.dataclass(frozen=True)
class Prepared:
    """An annotation: `prepare` turns further spellings of a value into a value of the type, before the type is checked.

    `besides` tells a message which further values are allowed. For example, ADK writes the number of a strategy.
    """

    prepare: Callable[[Any], Any]
    besides: str = ""


@dataclasses.dataclass(frozen=True)
class Keys:
    """An annotation: the keys of this object are the options of `kind`. The value stays a dict of the given keys."""

    kind: type


@dataclasses.dataclass(frozen=True)
class Option:
    """One option: its name, the annotation of its field, and its default (`NODEFAULT` if it must be given).

    An option that is only `tolerated` is read and checked, but messages and documents do not offer it.
    """

    name: str
    annotation: Any
    default: Any = msgspec.NODEFAULT
    tolerated: bool = False

    @property
    def required(self) -> bool:
        """Whether the option must be given."""
        return self.default is msgspec.NODEFAULT

    @property
    def description(self) -> str:
        """The documentation of the option."""
        return _description(self.annotation)

    @property
    def allowed(self) -> str:
        """The values that are allowed, in words. For example: "a whole number of at least 1"."""
        return allowed_values(self.annotation)

    @property
    def default_json(self) -> str:
        """The default as JSON, or an empty text if the option must be given."""
        return "" if self.required else msgspec.json.encode(self.default).decode()

    @property
    def takes_null(self) -> bool:
        """Whether null is allowed. It means the default, which is null, an empty object or an empty array."""
        return self.default is None or self.default in ((), {})

    @property
    def kinds(self) -> list[type]:
        """The classes of the options inside this option, if it is an object with options of its own, or an array."""
        by_keys = [extra.kind for extra in unannotated(self.annotation)[1] if isinstance(extra, Keys)]
        return by_keys or _structs_in(self.annotation)

    @property
    def inner(self) -> tuple[Option, ...]:
        """The options inside this option."""
        return tuple(option for kind in self.kinds for option in list_options(kind))


@cache
def list_options(kind: type[Any]) -> tuple[Option, ...]:
    """Return the options of a Struct or dataclass, in the order of its fields."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(
        Option(name, hints[name], default) for name, default in _defaults(kind).items() if _description(hints[name])
    )


def unannotated(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without `Annotated`, and what the annotation adds to it."""
    if typing.get_origin(annotation) is Annotated:
        inner, *extras = typing.get_args(annotation)
        return inner, tuple(extras)
    return annotation, ()


def without_null(annotation: Any) -> Any:
    """Return a type without its annotations and without None: `int` for `Annotated[int | None, ...]`."""
    inner, _ = unannotated(annotation)
    if typing.get_origin(inner) not in (typing.Union, types.UnionType):
        return inner
    arms = [arm for arm in typing.get_args(inner) if arm is not type(None)]
    return unannotated(arms[0])[0] if len(arms) == 1 else inner


def is_struct(kind: Any) -> bool:
    """Whether a type is a Struct."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def allowed_values(annotation: Any) -> str:
    """Return the values that an annotated type allows, in words."""
    extras = unannotated(annotation)[1]
    besides = "".join(f", or {extra.besides}" for extra in extras if isinstance(extra, Prepared) and extra.besides)
    return allowed(annotation) + besides


def _structs_in(annotation: Any) -> list[type]:
    """The Structs that a type holds, such as `[InjectionConfig]` for `tuple[InjectionConfig, ...]`."""
    kind = without_null(annotation)
    return [kind] if is_struct(kind) else [struct for arm in typing.get_args(kind) for struct in _structs_in(arm)]


def _description(annotation: Any) -> str:
    extras = unannotated(annotation)[1]
    return next((extra.description for extra in extras if isinstance(extra, Meta) and extra.description), "")


def _defaults(kind: type) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        return {field.name: _default(field.default, field.default_factory) for field in dataclasses.fields(kind)}
    fields = msgspec.structs.fields(kind)
    return {field.name: _default(field.default, field.default_factory) for field in fields}


def _default(default: Any, factory: Any) -> Any:
    absent = (dataclasses.MISSING, msgspec.NODEFAULT)
    if default not in absent:
        return default
    return msgspec.NODEFAULT if factory in absent else factory()
