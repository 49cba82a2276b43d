"""The template of an endpoint: its requests, and the paths of the reply and the calls in its responses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from fairtrial.config.reader import OptionReader, OptionRecord, Problem
from fairtrial.errors import ConfigError, UsageError
from fairtrial.formats.option_files import read_options
from fairtrial.records.record import Json
from fairtrial.text.json_path import JsonPath


class CallPaths(OptionRecord, frozen=True):
    """Where a reply reports calls of tools. The other paths begin at each call."""

    at: Annotated[str, Meta(description="the calls, for example `$.steps[?(@.type=='tool')]`")]
    name: Annotated[str, Meta(description="the name of the tool")] = "$.name"
    args: Annotated[str, Meta(description="the arguments: an object, or its JSON as text")] = "$.args"
    id: Annotated[str, Meta(description="the id of the call")] = "$.id"
    result: Annotated[str, Meta(description="the answer of the tool. A call without it has no result")] = "$.result"

    def conflicts(self) -> Iterator[Problem]:
        """Yield the paths that cannot be read."""
        yield from _bad_paths(self)


class StartRequest(OptionRecord, frozen=True):
    """A request before the first message, for example for a session."""

    url: Annotated[str, Meta(description="the URL of the request")]
    body: Annotated[Json, Meta(description="the body of the request")] = {}


class EndpointTemplate(OptionRecord, frozen=True):
    """The file of `endpoint:FILE`: the request for each message of the user, and the paths into the replies."""

    url: Annotated[str, Meta(description="the URL of each request. It may hold `{conversation}`")]
    body: Annotated[
        Json,
        Meta(
            description="the body of each request. In its texts, `{message}` stands for the new message and "
            "`{conversation}` for the id of the conversation. The whole texts `{messages}` and `{state}` stand for all "
            "messages so far, as `[{role, content}]`, and for the initial state of the case"
        ),
    ]
    reply: Annotated[str, Meta(description="the text of the reply. Several texts are joined")]
    headers: Annotated[
        dict[str, str],
        Meta(description="headers of each request, for example `{conversation}`. They are stored, so no secrets"),
    ] = {}
    start: Annotated[StartRequest | None, Meta(description="a request before the first message")] = None
    conversation: Annotated[
        str,
        Meta(
            description="the id that the server gave the conversation, in its first reply. It then stands for "
            "`{conversation}`. Empty: fairtrial chooses the id"
        ),
    ] = ""
    calls: Annotated[CallPaths | None, Meta(description="the calls of tools that a reply reports")] = None
    thoughts: Annotated[str, Meta(description="the reasoning that a reply shows")] = ""
    state: Annotated[str, Meta(description="the state of the session after the reply, an object")] = ""
    error: Annotated[str, Meta(description="the error of the agent. If it names a value, the attempt failed")] = ""
    input_tokens: Annotated[str, Meta(description="the tokens of the prompts")] = ""
    output_tokens: Annotated[str, Meta(description="the tokens of the replies")] = ""
    model: Annotated[str, Meta(description="the name of the model")] = ""

    def conflicts(self) -> Iterator[Problem]:
        """Yield the paths that cannot be read, and a body that holds no message."""
        yield from _bad_paths(self)
        text = msgspec.json.encode(self.body).decode()
        if "{message}" not in text and '"{messages}"' not in text:
            yield "body", 'must hold {message} in a text, or the text "{messages}"'


_NOT_PATHS = ("url", "body", "headers", "start", "calls")


def _bad_paths(options: OptionRecord) -> Iterator[Problem]:
    for name in options.__struct_fields__:
        path = getattr(options, name)
        if name in _NOT_PATHS or not path:
            continue
        try:
            JsonPath(path)
        except ValueError as error:
            yield name, f"is not a JSONPath: it {error}, got {path!r}"


def template_in(path: str) -> EndpointTemplate:
    """Return the template in a file of JSON or YAML. Raises UsageError."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", code="unreadable-file") from None
    raw = read_options(data, path)
    try:
        return OptionReader().read_whole(raw, EndpointTemplate, "")
    except ConfigError as error:
        raise UsageError("\n".join(f"{path}: {problem}" for problem in error.problems), code="unusable-agent") from None
