"""Read Inspect logs. Each sample and epoch is a recording."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.errors import FormatError
from fairtrial.formats.accounting import account, with_unread
from fairtrial.formats.chats.assembly import (
    assemble,
    join_texts,
    number_at,
    object_at,
    result,
    text_at,
    thoughts,
    unknown_part,
)
from fairtrial.formats.foreign_secrets import without_secrets
from fairtrial.formats.jsontext import decode
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage, read_arguments, read_response
from fairtrial.formats.number_range import finite
from fairtrial.formats.packed import check_size
from fairtrial.formats.timestamps import read_seconds
from fairtrial.records.attempt import EndedBy, Failure, Recording
from fairtrial.records.trace import Durations, Message, Part, Step, ToolCall, ToolResult, Trace, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

KIND = "Inspect log"
_DAMAGES = (OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error)
_LARGEST = 256 << 20
"""The most bytes of one entry of an archive. A small entry of a hostile archive may unpack to any size."""
_STEP = 1 << 20
"""So many bytes are unpacked between two looks at their number."""
_SOURCES_OF_USERS = ("input", "operator")
"""The sources of messages of users: the sample, and a person who takes part."""
_ATTACHMENT = "attachment://"
_MOST_DEPTH = 50
_NAME = "Inspect messages"
_MEDIA = ("image", "audio", "video", "document", "data")
_PART_TYPES = ("text", "reasoning", "tool_use", *_MEDIA)


def is_log(value: Any) -> bool:
    """Whether a document is a log in JSON."""
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and {"status", "version"} <= value.keys()


def read_log(whole: dict[str, Any], reading: Diagnostics) -> tuple[Recording, ...]:
    """Return the recordings of a log in JSON."""
    samples = reading.array(whole, "samples", ())
    recordings = (_recording(sample, (((), "samples"), i), reading) for i, sample in enumerate(samples))
    return tuple(without_secrets(recording, reading) for recording in recordings)


def iter_archive(source: Path | bytes, reading: Diagnostics) -> Iterator[Recording]:
    """Yield the recordings of an archive (`.eval`), sample by sample, by epoch and then in the order of the samples.

    Raises FormatError if the archive cannot be read.
    """
    try:
        with _zipfile().ZipFile(BytesIO(source) if isinstance(source, bytes) else source) as archive:
            packed_size = len(source) if isinstance(source, bytes) else source.stat().st_size
            names = [name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")]
            if not names and "header.json" not in archive.namelist():
                raise FormatError(reading.path, ["is a zip archive, but not a log of Inspect: it holds no samples"])
            ids = _sample_ids(archive, reading.path, packed_size)
            size = 0
            for name in sorted(names, key=lambda name: _read_place(name, ids)):
                data = _unpack_bytes(archive, name, reading.path, size, packed_size)
                size += len(data)
                sample = decode(data)
                yield without_secrets(_recording(sample, ((), name), reading), reading)
    except _damages() as error:
        raise FormatError(reading.path, [f"is a damaged archive: {error}"]) from error


def _damages() -> tuple[type[Exception], ...]:
    """Return the errors of a damaged archive."""
    from fairtrial.system.zstandard import zstd  # only an archive needs it

    return (*_DAMAGES, _zipfile().BadZipFile, zstd.ZstdError)


def _zipfile() -> Any:
    """Return the module that reads archives with Zstandard. Python's own reads them from 3.14 on."""
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        from backports.zstd import zipfile
    return zipfile


def _unpack_bytes(archive: Any, name: str, path: str, size: int, packed_size: int) -> bytes:
    """Return an entry. `size` bytes of an archive of `packed_size` bytes were unpacked before.

    Raises FormatError as soon as the bytes are too many for the archive, before all of them are in memory.
    """
    data = bytearray()
    with archive.open(name) as entry:
        while block := entry.read(_STEP):
            data += block
            check_size(size + len(data), packed_size, path)
            if len(data) > _LARGEST:
                raise FormatError(path, [f"{name}: is larger than {_LARGEST >> 20} MiB when it is unpacked"])
    return bytes(data)


def _sample_ids(archive: Any, path: str, packed_size: int) -> dict[str, int]:
    """Return the places of the samples in their data set. An archive that is still written has another header."""
    for name in ("header.json", "_journal/start.json"):
        if name in archive.namelist():
            header = decode(_unpack_bytes(archive, name, path, 0, packed_size))
            ids = object_at(object_at(header, "eval"), "dataset").get("sample_ids") if isinstance(header, dict) else ()
            return {str(sample_id): place for place, sample_id in enumerate(ids if isinstance(ids, list) else ())}
    return {}


def _read_place(name: str, ids: dict[str, int]) -> tuple[str, int, str]:
    """Return the place of an entry by its epoch and its sample, for example of `samples/weather_epoch_2.json`."""
    sample_id, _, epoch = name.removeprefix("samples/").removesuffix(".json").rpartition("_epoch_")
    return epoch.rjust(10, "0"), ids.get(sample_id, len(ids)), name


def _recording(sample: Any, at: Place, reading: Diagnostics) -> Recording:
    if not isinstance(sample, dict):
        reading.wrong_type(at, "a sample", sample)
        return Recording("", Trace())
    attachments = object_at(sample, "attachments")
    events = [event for event in reading.array(sample, "events", at) if isinstance(event, dict)]
    facts = _Facts(events)
    entries: list[Entry] = []
    messages = [_restore_attachments(message, attachments) for message in reading.array(sample, "messages", at)]
    is_of_user = _turns_of_users(sample.get("input"), messages, attachments)
    for i, message in enumerate(messages):
        if is_of_user(message):
            entries += _entries(message, facts, ((at, "messages"), i), reading)
    trace = with_unread(assemble(entries, "", facts.tools), reading)
    total, started = finite(sample.get("total_time")), read_seconds(sample.get("started_at"))
    if len(trace.invocations) == 1:
        durations = None if total is None else Durations(total=total)
        trace = replace(trace, invocations=(replace(trace.invocations[0], created=started, durations=durations),))
    cause = text_at(object_at(sample, "error"), "message")
    scores = _restore_attachments(object_at(sample, "scores"), attachments)
    extra = {name: value for name, value in (("target", sample.get("target")), ("scores", scores)) if value}
    trace = replace(
        trace, session_id=text_at(sample, "uuid"), broken=cause, outcome=_outcome(scores), extra=extra or None
    )
    failure = Failure("agent", cause, text_at(object_at(sample, "error"), "traceback")) if cause else None
    ended_by: EndedBy = "failure" if cause else "cap" if sample.get("limit") else "script"
    return Recording(str(sample.get("id")), trace, number_at(sample, "epoch") or 1, failure, ended_by)


def _turns_of_users(sample_input: Any, messages: list[Any], attachments: dict[str, Any]) -> Callable[[Any], bool]:
    """Return whether a message is to be read. Scaffolds of agents add messages with the role of the user.

    The input of the sample says which messages are the user's. If it has none of them, all messages count.
    """
    request = _restore_attachments(sample_input, attachments)
    requests = request if isinstance(request, list) else [{"role": "user", "content": request}]
    texts = [_extract_text(message) for message in requests if _is_of_role_user(message)]

    def is_given(message: Any) -> bool:
        return message.get("source") in _SOURCES_OF_USERS or _extract_text(message) in texts

    if not any(_is_of_role_user(message) and is_given(message) for message in messages):
        return lambda _: True
    return lambda message: not _is_of_role_user(message) or is_given(message)


def _is_of_role_user(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "user"


def _extract_text(message: dict[str, Any]) -> str:
    """Return the text of a message, without its pictures."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(text_at(part, "text") for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""


def _outcome(scores: Json) -> Any:
    """Return the outcome if all scorers agree on C (correct) or on I (incorrect), or else an empty text."""
    values = {str(score.get("value")) for score in scores.values() if isinstance(score, dict)}
    return {"C": "success", "I": "failure"}.get(values.pop(), "") if len(values) == 1 else ""


class _Facts:
    """The usages of model calls by the ids of their messages, the times of tools by the ids of calls, and the tools."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.usages: dict[str, Usage] = {}
        self.times: dict[str, tuple[float | None, float | None]] = {}
        self.tools: tuple[dict[str, Any], ...] = ()
        for event in events:
            if event.get("event") == "model":
                self._add_model(event)
            elif event.get("event") == "tool":
                timed = finite(event.get("working_time"))
                self.times[text_at(event, "id")] = (read_seconds(event.get("timestamp")), timed)

    def _add_model(self, event: dict[str, Any]) -> None:
        output = object_at(event, "output")
        choices = output.get("choices")
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        usage = object_at(output, "usage")
        self.usages[text_at(object_at(first, "message"), "id")] = Usage(
            number_at(usage, "input_tokens"),
            number_at(usage, "output_tokens"),
            number_at(usage, "reasoning_tokens"),
            number_at(usage, "input_tokens_cache_read"),
            text_at(output, "model") or text_at(event, "model"),
        )
        tools = event.get("tools")
        if not self.tools and isinstance(tools, list):
            self.tools = tuple(tool for tool in tools if isinstance(tool, dict))


def _entries(message: Any, facts: _Facts, at: Place, reading: Diagnostics) -> Sequence[Entry]:
    entries = list(_read_message(message, facts, at, reading))
    return account(message, entries, at, reading) if isinstance(message, dict) else entries


def _read_message(message: Any, facts: _Facts, at: Place, reading: Diagnostics) -> Iterator[Entry]:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ("system", "user", "assistant", "tool"):
        reading.wrong_type(at, "a message with a role of system, user, assistant, tool", message)
        return
    steps = list(_content(message.get("content"), at, reading))
    texts = "\n".join(step.text for step in steps if isinstance(step, Message) and step.text)
    parts = tuple(part for step in steps if isinstance(step, Message) for part in step.parts)
    if role == "system":
        yield Instruction(texts)
    elif role == "user":
        yield UserMessage(Message(texts, parts=parts))
    elif role == "tool":
        yield _result(message, texts, facts)
    else:
        yield from join_texts(steps)
        yield from _calls(message, facts, at, reading)
        usage = facts.usages.get(text_at(message, "id"))
        if usage is not None:
            yield usage
        elif message.get("source") == "generate":
            yield Usage(model=text_at(message, "model"))


def _content(content: Any, at: Place, reading: Diagnostics) -> Iterator[Step]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    for i, part in enumerate(reading.array({"content": content}, "content", at)):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            yield Message(text_at(part, "text"))
        elif kind == "reasoning":
            yield from thoughts(text_at(part, "summary") if part.get("redacted") else text_at(part, "reasoning"))
        elif kind in _MEDIA:
            yield Message("", parts=(_medium(part, kind),))
        elif kind == "tool_use":
            call_id, name = text_at(part, "id"), text_at(part, "name")
            yield ToolCall(name, read_arguments(part.get("arguments")), call_id)
            answer = part.get("result")
            response = read_response(answer) if isinstance(answer, str) else answer
            yield result(name, response, call_id, stated=True if part.get("error") else None)
        else:
            unknown_part(part, ((at, "content"), i), reading, _NAME, _PART_TYPES)


def _medium(part: dict[str, Any], kind: str) -> Part:
    address = text_at(part, kind)
    head, comma, data = address.partition(";base64,")
    if comma and head.startswith("data:"):
        return Part(head.removeprefix("data:"), data=data, name=text_at(part, "filename"))
    return Part(text_at(part, "mime_type"), address, name=text_at(part, "filename"))


def _calls(message: dict[str, Any], facts: _Facts, at: Place, reading: Diagnostics) -> Iterator[Step]:
    for i, call in enumerate(reading.array(message, "tool_calls", at)):
        if not isinstance(call, dict) or not isinstance(call.get("function"), str):
            reading.wrong_type(((at, "tool_calls"), i), "a call {'function': ..., 'arguments': {...}}", call)
            continue
        call_id = text_at(call, "id")
        started, _ = facts.times.get(call_id, (None, None))
        yield ToolCall(call["function"], read_arguments(call.get("arguments")), call_id, started=started)


def _result(message: dict[str, Any], text: str, facts: _Facts) -> ToolResult:
    call_id, error = text_at(message, "tool_call_id"), object_at(message, "error")
    response = {"error": text_at(error, "message") or text} if error else read_response(text)
    started, seconds = facts.times.get(call_id, (None, None))
    answer = result(text_at(message, "function"), response, call_id, stated=True if error else None)
    return replace(answer, started=started, seconds=seconds)


def _restore_attachments(value: Any, attachments: dict[str, Any], depth: int = 0) -> Any:
    """Return a value with its attachments in the place of the references to them."""
    if not attachments or depth > _MOST_DEPTH:
        return value
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, dict):
        return {key: _restore_attachments(item, attachments, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_restore_attachments(item, attachments, depth + 1) for item in value]
    return value
