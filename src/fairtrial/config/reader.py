"""The one reader of options. It checks that they are known, given once, of the right type and in range.

Every problem has the JSON pointer of the option, in the spelling of the file: a file that says `numSamples: 0` gets
"/judge_model_options/numSamples: must be a whole number of at least 1, got 0".
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from fairtrial.config.option import (
    Keys,
    Option,
    Prepared,
    allowed_values,
    list_options,
    unannotated,
    without_null,
)
from fairtrial.config.spelling import camel, file_pointer, snake, spellings
from fairtrial.config.wording import choices, format_value
from fairtrial.errors import ConfigError, nearest
from fairtrial.records.decoding import convert
from fairtrial.records.record import Json, Record
from fairtrial.text.pointer import escape

S = TypeVar("S", bound=Record)
Problem = tuple[str, str]
"""The pointer of an option, and what is wrong with it."""


class OptionError(ConfigError):
    """Options cannot be used. The pointers in `misfits` begin with the name of an option, without a slash."""

    def __init__(self, misfits: Iterable[Problem]) -> None:
        self.misfits = tuple(misfits)
        super().__init__(*(f"{pointer}: {problem}" if pointer else problem for pointer, problem in self.misfits))


@dataclass(frozen=True)
class ReadWith:
    """An annotation: `read_option(raw, reader, pointer)` returns the value, and notes its problems with the reader."""

    read_option: Callable[[Any, OptionReader, str], Any]


class OptionReader:
    """Reads options, and collects problems and warnings. An unknown option is a warning if `lenient`."""

    def __init__(self, *, lenient: bool = False) -> None:
        self.misfits: list[Problem] = []
        self.warnings: list[str] = []
        self.lenient = lenient

    @property
    def problems(self) -> list[str]:
        """Every problem behind its pointer."""
        return [f"{pointer}: {problem}" for pointer, problem in self.misfits]

    def note(self, pointer: str, problem: str) -> None:
        """Note a problem."""
        self.misfits.append((pointer, problem))

    def read(self, raw: Json, kind: type[S], pointer: str) -> S | None:
        """Return an object whose keys are the options of a Struct, or None if it has problems."""
        before = len(self.misfits)
        values = self.values(raw, list_options(kind), pointer)
        if len(self.misfits) > before:
            return None
        try:
            return kind(**values)
        except OptionError as error:
            for place, problem in error.misfits:
                self.note(pointer + file_pointer(raw, place), problem)
        return None

    def read_whole(self, raw: Json, kind: type[S], pointer: str) -> S:
        """Return an object whose keys are the options of a Struct. Raises ConfigError that lists every problem."""
        options = self.read(raw, kind, pointer)
        if options is None:
            raise ConfigError(*self.problems)
        return options

    def values(self, raw: Json, options: Sequence[Option], pointer: str, *, open_ended: bool = False) -> dict[str, Any]:
        """Return the checked options of an object under our names. Wrong options are left out.

        Unknown keys are returned as they are if `open_ended`.
        """
        if not isinstance(raw, Mapping):
            self.note(pointer, f"must be an object, got {format_value(raw)}")
            return {}
        by_name = {option.name: option for option in options}
        names = spellings(*by_name)
        first_keys: dict[str, str] = {}
        values: dict[str, Any] = {}
        for key, value in raw.items():
            place = f"{pointer}/{escape(str(key))}"
            name = names.get(key) or (_open_name(key) if open_ended else "")
            first_key = first_keys.setdefault(name or key, key)
            if not name:
                self._note_unknown(place, key, options)
            elif key != first_key:
                self.note(place, f"stands there twice, as {first_key!r} and as {key!r}; keep one")
            elif name not in by_name:
                values[name] = value
            else:
                before = len(self.misfits)
                checked = self.check(value, by_name[name], place)
                values |= {name: checked} if len(self.misfits) == before else {}
        for name, option in by_name.items():
            if option.required and name not in first_keys:
                self.note(pointer, f"must have {name!r}")
        return values

    def check(self, raw: Any, option: Option, pointer: str) -> Any:
        """Return the value of one option, and note its problems."""
        return (
            option.default if raw is None and option.takes_null else self._check_type(raw, option.annotation, pointer)
        )

    def _check_type(self, raw: Any, annotation: Any, pointer: str) -> Any:
        original = raw
        for extra in unannotated(annotation)[1]:
            if isinstance(extra, ReadWith):
                return extra.read_option(raw, self, pointer)
            if isinstance(extra, Keys):
                return self.values(_without_nulls(raw), list_options(extra.kind), pointer)
            if isinstance(extra, Prepared):
                raw = extra.prepare(raw)
        kind = without_null(annotation)
        if isinstance(kind, type) and issubclass(kind, Record):
            return raw if isinstance(raw, kind) else self.read(raw, kind, pointer)
        # msgspec would read an array in one go. Its items are read one by one, because each problem needs its pointer.
        if typing.get_origin(kind) is tuple and isinstance(raw, list | tuple):
            item = typing.get_args(kind)[0]
            return tuple(self._check_type(value, item, f"{pointer}/{i}") for i, value in enumerate(raw))
        try:
            value = convert(raw, annotation)
        except msgspec.ValidationError:
            self._misfit(original, annotation, pointer)
            return raw
        if isinstance(value, float) and not math.isfinite(value):
            self._misfit(original, annotation, pointer)
        return value

    def _misfit(self, raw: Any, annotation: Any, pointer: str) -> None:
        names = choices(without_null(annotation))
        hint = nearest(raw, names) if isinstance(raw, str) else ""
        self.note(pointer, f"must be {allowed_values(annotation)}, got {format_value(raw)}{hint}")

    def _note_unknown(self, pointer: str, key: str, options: Sequence[Option]) -> None:
        names = [option.name for option in options if not option.tolerated]
        problem = f"is not a known option{nearest(str(key), spellings(*names)) or '; allowed: ' + ', '.join(names)}"
        if self.lenient:
            self.warnings.append(f"{pointer}: {problem}")
        else:
            self.note(pointer, problem)


def check_options(owner: Any) -> None:
    """Check and convert the options of a dataclass or Struct that is being made in Python. Raises OptionError.

    A metric calls this in `__post_init__`, so that `ToolTrajectory(match_type="SORTED")` is refused as in a file.
    """
    reader = OptionReader()
    for option in list_options(owner.__class__):
        value = reader.check(getattr(owner, option.name), option, option.name)
        if isinstance(owner, msgspec.Struct):
            msgspec.structs.force_setattr(owner, option.name, value)
        else:
            object.__setattr__(owner, option.name, value)
    if reader.misfits:
        raise OptionError(reader.misfits)


class OptionRecord(Record, frozen=True):
    """A record of options. Files and Python are checked alike: a record with a wrong option cannot be made."""

    def __post_init__(self) -> None:
        check_options(self)
        if conflicts := tuple(self.conflicts()):
            raise OptionError(conflicts)

    def conflicts(self) -> Iterator[Problem]:
        """Yield the problems of options that are right by themselves, but not together."""
        return iter(())


def _without_nulls(raw: Json) -> Json:
    """An object without its nulls. ADK writes null for every setting of a model that was not set."""
    return {key: value for key, value in raw.items() if value is not None} if isinstance(raw, Mapping) else raw


def _open_name(key: str) -> str:
    """The snake_case name of an unknown key. A key that is not camelCase stays as it is."""
    name = snake(key)
    return name if camel(name) == key else key
