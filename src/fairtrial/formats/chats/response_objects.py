"""Read conversations from OpenAI Responses API responses, if nobody kept the requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.accounting import with_unread
from fairtrial.formats.chats.assembly import (
    assemble,
    number_at,
    object_at,
    text_at,
)
from fairtrial.formats.chats.responses_items import RESPONSES, is_response
from fairtrial.formats.foreign_secrets import without_secrets
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.trace import Message, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

KIND = "OpenAI responses"
_CALLS_OF_CLIENTS = (
    *("function_call", "custom_tool_call", "computer_call"),
    *("local_shell_call", "shell_call", "apply_patch_call"),
)
"""The calls that the client runs. The provider runs the others within the response, for example a search of the web."""
_NO_INPUT = "a response object does not hold its input; keep the items of the conversation, or the requests too"


def read_responses(values: Sequence[Any], reading: Diagnostics, stem: str) -> tuple[Recording, ...]:
    """Return a recording for each chain of responses, linked by `previous_response_id`.

    The messages of the user and the results of tools are withheld. A response without a call that the
    client runs ends an invocation.
    """
    responses: dict[str, tuple[int, dict[str, Any]]] = {}
    for i, value in enumerate(values):
        if is_response(value):
            responses[text_at(value, "id") or f"#{i}"] = (i, value)
        else:
            reading.wrong_type(((), i), "a response with 'object': 'response'", value)
    previous = {key: text_at(value, "previous_response_id") for key, (_, value) in responses.items()}
    ends = [key for key in responses if key not in previous.values()]
    recordings: list[Recording] = []
    for number, end in enumerate(ends, 1):
        chain = [responses[key] for key in _chain(end, previous)]
        name = stem if len(ends) == 1 else f"{stem}-{number}"
        recordings.append(_recording(chain, name, reading))
    return tuple(recordings)


def _chain(end: str, previous: dict[str, str]) -> list[str]:
    """Return the ids of a chain from its first response. A circle ends where it began."""
    keys: list[str] = []
    while end in previous and end not in keys:
        keys.append(end)
        end = previous[end]
    return keys[::-1]


def _recording(chain: Sequence[tuple[int, dict[str, Any]]], name: str, reading: Diagnostics) -> Recording:
    first = chain[0][1]
    tools = first.get("tools")
    declarations = tuple(tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
    trace = assemble(_entries(chain, reading), text_at(first, "instructions"), declarations)
    trace = replace(with_unread(trace, reading), session_id=name)
    last = chain[-1][1]
    if last.get("status") != "failed":
        return without_secrets(Recording(name, trace), reading)
    error = object_at(last, "error")
    cause = ": ".join(filter(None, (text_at(error, "code"), text_at(error, "message")))) or "the response failed"
    failure = Failure("infrastructure", cause)
    return without_secrets(Recording(name, replace(trace, broken=cause), failure=failure, ended_by="failure"), reading)


def _entries(chain: Sequence[tuple[int, dict[str, Any]]], reading: Diagnostics) -> Iterator[Entry]:
    user_speaks = True
    for i, response in chain:
        at: Place = (((), i), "output")
        if user_speaks:
            yield UserMessage(Message("", withheld=_NO_INPUT))
        pending = False
        answered = {text_at(item, "call_id") for item in response["output"] if _is_output(item)}
        for place, item in enumerate(response["output"]):
            if not isinstance(item, dict):
                reading.wrong_type((at, place), "an item of the Responses API", item)
                continue
            entries = RESPONSES.entries(item, (at, place), reading)
            yield from entries
            if item.get("type") in _CALLS_OF_CLIENTS and text_at(item, "call_id") not in answered:
                calls = [entry for entry in entries if isinstance(entry, ToolCall)]
                yield from (ToolResult(call.name, id=call.id, withheld=_NO_INPUT) for call in calls)
                pending = True
        yield read_tokens(response)
        user_speaks = not pending


def _is_output(item: Any) -> bool:
    return isinstance(item, dict) and text_at(item, "type").endswith("_call_output")


def read_tokens(response: dict[str, Any]) -> Usage:
    """Return the tokens of a response."""
    usage = object_at(response, "usage")
    return Usage(
        number_at(usage, "input_tokens"),
        number_at(usage, "output_tokens"),
        number_at(object_at(usage, "output_tokens_details"), "reasoning_tokens"),
        number_at(object_at(usage, "input_tokens_details"), "cached_tokens"),
        text_at(response, "model"),
    )
