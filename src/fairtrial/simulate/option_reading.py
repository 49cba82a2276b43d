"""What is wrong with the options of something simulated, and where? Unknown names and wrong values, all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from fairtrial.config.spelling import snake, spellings
from fairtrial.config.wording import shown
from fairtrial.errors import ConfigError, nearest
from fairtrial.formats.reading import Place, pointer
from fairtrial.records.record import Record

N = TypeVar("N", bound=Record)
Inner = Mapping[str, "Callable[[Options, Any, Place], Any]"]
"""What reads the fields that are more than one plain value."""


class Options:
    """The problems and warnings found so far; reads each kind of object, its `inner` fields by what reads them."""

    def __init__(self, inner: Inner, *, lenient: bool) -> None:
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self._inner = inner
        self._lenient = lenient

    def wrong(self, at: Place, problem: str) -> None:
        """Note a problem."""
        self.problems.append(f"{pointer(at)}: {problem}")

    def read_whole(self, raw: Any, kind: type[N], at: Place, check: Callable[[N, Options], None]) -> N:
        """Return a whole part of a configuration, in which `check` notes what its single fields cannot tell.

        Raises ConfigError that lists every problem.
        """
        options = self.read(raw, kind, at)
        if options is not None:
            check(options, self)
        if options is None or self.problems:
            raise ConfigError(*self.problems)
        return options

    def read(self, raw: Any, kind: type[N], at: Place) -> N | None:
        """Return an object with the objects in it; None where it cannot be read."""
        before = len(self.problems)
        values = self._fields(raw, kind, at)
        for name, value in values.items():
            values[name] = self._inner[name](self, value, (at, name)) if name in self._inner else value
        if len(self.problems) > before:
            return None
        try:
            return msgspec.convert(values, kind)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `$")
            name = path.strip(".`")
            got = f", got {shown(values[name])}" if name and ", got " not in problem else ""
            self.wrong((at, name) if name else at, problem[:1].lower() + problem[1:] + got)
            return None

    def _fields(self, raw: Any, kind: type[Record], at: Place) -> dict[str, Any]:
        """The known fields that are not null, under our names."""
        if not isinstance(raw, dict):
            self.wrong(at, f"must be an object, got {shown(raw)}")
            return {}
        names = spellings(*kind.__struct_fields__)
        values: dict[str, Any] = {}
        for key, value in raw.items():
            name = names.get(key)
            if name is None:
                allowed = f"; allowed: {', '.join(kind.__struct_fields__)}"
                problem = f"is not a known option{nearest(key, names) or allowed}"
                if self._lenient:
                    self.warnings.append(f"{pointer((at, key))}: {problem}")
                else:
                    self.wrong((at, key), problem)
            elif name in values:
                self.wrong((at, key), f"gives {name!r} a second time")
            elif value is not None:
                values[name] = value
        return values

    def all_of(self, raw: Any, kind: type[N], at: Place) -> list[N | None]:
        """Return the objects of an array, each None where it cannot be read."""
        if not isinstance(raw, list | tuple):
            self.wrong(at, f"must be an array, got {shown(raw)}")
            return []
        return [self.read(one, kind, (at, i)) for i, one in enumerate(raw)]


def settings(_: Options, raw: Any, __: Place) -> Any:
    """Return a model's settings with their names in snake_case."""
    return {snake(name): value for name, value in raw.items()} if isinstance(raw, dict) else raw
