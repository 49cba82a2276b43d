"""Read conversations from any JSON, by JSONPath expressions (RFC 9535) that say where their parts stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.errors import FormatError, lacks_extra, spell
from fairtrial.formats.accounting import account_beside, account_calls, with_unread
from fairtrial.formats.chats.dialects import EXPORTED, conversation
from fairtrial.formats.datasets.column_roles import CONVERSATION, MAPPED_PARTS, MESSAGES, USER
from fairtrial.formats.kinds.kind import as_text, call_message, function_call, text_message
from fairtrial.formats.message_entries import read_response
from fairtrial.formats.nearest_format import described

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.attempt import Recording

KIND = "mapped JSON"
REPLY, CALLS, ID = "reply", "calls", "id"
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("args", "arguments", "input", "parameters")


def read_mapped(values: list[Any], reading: Diagnostics, stem: str) -> tuple[Recording, ...]:
    """Return a recording for each value, or for each conversation id if `conversation` is mapped.

    A text of JSON under a key of a value is decoded, because tables hold objects as texts. Raises FormatError for a
    path that is no JSONPath, or that leads nowhere in every value.
    """
    values = list(map(_with_objects, values))
    paths = _Paths(reading)
    groups: dict[str, list[tuple[int, dict[str, list[Any]]]]] = {}
    for i, value in enumerate(values):
        parts = {part: paths.find(part, value) for part in paths.expressions}
        name = as_text(next(iter(parts.get(CONVERSATION) or parts.get(ID) or ()), None)) or f"{stem}-{i + 1}"
        groups.setdefault(name, []).append((i, parts))
    paths.note_empty(values)
    reading.finish()
    return tuple(_recording(name, group, values, reading) for name, group in groups.items())


def _with_objects(value: Any) -> Any:
    """Return a row with the objects and lists in its texts."""
    if not isinstance(value, dict):
        return value
    return {key: read_response(item) if isinstance(item, str) else item for key, item in value.items()}


def _recording(
    name: str, group: list[tuple[int, dict[str, list[Any]]]], values: list[Any], reading: Diagnostics
) -> Recording:
    messages: list[Any] = []
    for _, parts in group:
        lists = (value if isinstance(value, list) else [value] for value in parts.get(MESSAGES, ()))
        history = [message for messages_of_row in lists for message in messages_of_row]
        # A later request of a conversation repeats the messages of the earlier ones.
        messages = history if history[: len(messages)] == messages and history else [*messages, *history]
        messages += _turn(parts)
    at: Place = ((), group[0][0])
    own = {EXPORTED: {"keeps_calls": True}} if CALLS in group[0][1] else {}
    request: dict[str, Any] = {"messages": messages, **own}
    recording = conversation(request, at, reading, name=name)
    for i, _ in group:
        source = values[i] if isinstance(values[i], dict) else {"value": values[i]}
        account_beside(source, recording.trace, ((), i), reading)
    if len(group) == 1:
        account_calls(values[group[0][0]], recording.trace, reading)
    return replace(recording, trace=with_unread(recording.trace, reading))


def _turn(parts: Mapping[str, list[Any]]) -> Iterator[Any]:
    """Yield the messages of a turn that stand in parts of their own."""
    for text in parts.get(USER, ()):
        yield text_message("user", text)
    calls = [_call(item, number) for number, item in enumerate(parts.get(CALLS, ()))]
    if calls:
        yield call_message(calls)
    for reply in parts.get(REPLY, ()):
        if isinstance(reply, list) and reply and isinstance(reply[0], dict):
            yield from reply
        else:
            yield reply if isinstance(reply, dict) and "role" in reply else text_message("assistant", reply)


def _call(item: Any, number: int) -> dict[str, Any]:
    """Return a call from its name, or from an object with its name and its arguments."""
    if isinstance(item, dict):
        inner = item["function"] if isinstance(item.get("function"), dict) else item
        name = next((inner[key] for key in _NAMES if isinstance(inner.get(key), str)), None)
        arguments = next((inner[key] for key in _ARGUMENTS if key in inner), None)
        return function_call(item.get("id") or f"call-{number}", name, arguments)
    return function_call(f"call-{number}", item, None)


class _Paths:
    """The compiled paths of a mapping. `note_empty` notes an error for each path that led nowhere."""

    def __init__(self, reading: Diagnostics) -> None:
        try:
            import jsonpath
        except ImportError as error:
            raise FormatError(reading.path, [lacks_extra(f"a path in {spell('columns')}", "map")]) from error
        self._reading = reading
        self.expressions: dict[str, Any] = {}
        self._filled: set[str] = set()
        for part, path in reading.columns.items():
            if part not in MAPPED_PARTS:
                allowed = ", ".join(MAPPED_PARTS)
                reading.error(
                    (), f"{spell('columns')}: {part!r} is not a part of a conversation; allowed are {allowed}"
                )
                continue
            try:
                self.expressions[part] = jsonpath.compile(path if path.startswith("$") else f"$.{path}", strict=True)
            except jsonpath.JSONPathError as error:
                reading.error((), f"{spell('columns')}: {part}={path} is no JSONPath: {str(error).splitlines()[0]}")
        reading.finish()

    def find(self, part: str, value: Any) -> list[Any]:
        """Return the values at the path of a part."""
        if not isinstance(value, dict | list):
            return []
        values = [match.value for match in self.expressions[part].finditer(value)]
        if values:
            self._filled.add(part)
        return values

    def note_empty(self, values: list[Any]) -> None:
        """Note each path that led nowhere, with the keys that stand at the end of the way."""
        for part in self.expressions.keys() - self._filled:
            path = self._reading.columns[part]
            end = _end_of_way(path, values[0] if values else None)
            self._reading.error((), f"{spell('columns')}: {part}={path} leads nowhere; {end}")


def _end_of_way(path: str, value: Any) -> str:
    """Return the deepest place on a way that is there, and what stands there."""
    place = ""
    for step in path.removeprefix("$").replace("[", ".").replace("]", "").strip(".").split("."):
        inner = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, list) and value:
            inner = value[0]
        if inner is None:
            break
        place, value = f"{place}/{step}", inner
    return f"at {place or '/'} stands {described(value)}"
