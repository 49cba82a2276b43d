"""Sessions with any endpoint that takes and returns JSON, as a template describes it."""

from __future__ import annotations

import copy
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.agents.endpoints.chat_replies import separate_thoughts, time_of_first_text
from fairtrial.agents.endpoints.endpoint_client import (
    BODY,
    SHOWN,
    EndpointAgent,
    EndpointClient,
    StreamEvent,
    connect,
    fill,
    object_in,
    url_parts,
)
from fairtrial.agents.endpoints.endpoint_template import EndpointTemplate, template_in
from fairtrial.agents.plain import as_text
from fairtrial.agents.token_usage import sum_of_counts
from fairtrial.errors import AgentError
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.formats.tool_failures import has_failed
from fairtrial.records.trace import About, Message, Step, Thought, ToolCall, ToolResult, Usage
from fairtrial.text.display import shorten
from fairtrial.text.json_path import JsonPath

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase


def agent_at(target: str) -> JsonEndpointAgent:
    """Return the agent of `endpoint:FILE`, a template in JSON or YAML. Raises UsageError."""
    template = template_in(target.partition(":")[2])
    for url in (template.url, *([template.start.url] if template.start else ())):
        url_parts(url, like="http://localhost:8000/chat")
    return JsonEndpointAgent(template.url, template, body=object_in(BODY))


@dataclass(frozen=True, slots=True)
class JsonEndpointAgent(EndpointAgent):
    """An agent behind an endpoint that a template describes."""

    template: EndpointTemplate

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[JsonEndpointSession]:  # noqa: ARG002
        """Open a conversation with connections of its own, and send the request of its start if there is any."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else {}
        async with connect(self.url) as client:
            session = JsonEndpointSession(client, self.template, self.body, state)
            await session.start()
            yield session


class JsonEndpointSession:
    """One conversation."""

    about: About | None = None

    def __init__(
        self, client: EndpointClient, template: EndpointTemplate, more: dict[str, Any], state: dict[str, Any]
    ) -> None:
        self._client = client
        self._template = template
        self.hides_calls = template.calls is None
        self._more = more
        self._state = state
        self._conversation = client.conversation
        self._messages: list[dict[str, str]] = []
        self._is_named = not template.conversation

    async def start(self) -> None:
        """Send the request before the first message."""
        if self._template.start is not None:
            await self._post(self._template.start.url, self._template.start.body, "")

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Post the new message. Raises AgentError if the reply has an error or no text."""
        self._messages.append({"role": "user", "content": message})
        began = time.monotonic()
        received = await self._post(self._template.url, self._template.body, message)
        for times in time_of_first_text(received, began, lambda data: "".join(self._texts([data]))):
            yield times
        reply = _without_times(received)
        for problem in self._values("error", reply):
            if problem not in (None, False, ""):
                raise AgentError(f"{self._template.url}: {shorten(as_text(problem), SHOWN)}")
        state = next(iter(self._values("state", reply)), None)
        if isinstance(state, dict):
            self.about = About(final_state=state)
        usage = self._usage(reply)
        if usage != Usage():
            yield usage
        if not self._values("reply", reply):
            problem = f"{self._template.url}: nothing in the reply is at {self._template.reply}"
            raise AgentError(f"{problem}, got {shorten(as_text(reply), SHOWN)}")
        steps = separate_thoughts([*self._steps(reply), Message("".join(self._texts(reply)))])
        for step in steps:
            yield step
        self._messages.append(
            {"role": "assistant", "content": steps[-1].text if isinstance(steps[-1], Message) else ""}
        )

    async def _post(self, url: str, body: Any, message: str) -> Any:
        """Return a reply, and keep the id of the conversation in the first reply that has it."""
        headers = fill(self._template.headers, self._conversation)
        content = self._fill_placeholders(body, message)
        if isinstance(content, dict):
            content = {**content, **fill(self._more, self._conversation)}
        reply = await self._client.post(fill(url, self._conversation), content, headers)
        names = [] if self._is_named else self._values("conversation", _without_times(reply))
        if names:
            self._conversation, self._is_named = as_text(names[0]), True
        return reply

    def _fill_placeholders(self, value: Any, message: str) -> Any:
        """Return a part of the body with the new message, all messages, the state and the conversation in it."""
        if value == "{messages}":
            return list(self._messages)
        if value == "{state}":
            return self._state
        if isinstance(value, str):
            # In one pass over the text: the message may hold a placeholder itself.
            return message.join(fill(piece, self._conversation) for piece in value.split("{message}"))
        if isinstance(value, dict):
            return {name: self._fill_placeholders(inner, message) for name, inner in value.items()}
        return [self._fill_placeholders(inner, message) for inner in value] if isinstance(value, list) else value

    def _values(self, name: str, reply: Any) -> list[Any]:
        path: str = getattr(self._template, name)
        return JsonPath(path).find(reply) if path else []

    def _texts(self, reply: Any) -> list[str]:
        return [as_text(text) for text in self._values("reply", reply) if text is not None]

    def _steps(self, reply: Any) -> Iterator[Step]:
        """Yield the thoughts and the calls with their results."""
        for thought in self._values("thoughts", reply):
            if thought:
                yield Thought(as_text(thought))
        paths = self._template.calls
        for call in JsonPath(paths.at).find(reply) if paths is not None else ():
            assert paths is not None  # noqa: S101  (otherwise there are no calls)
            name, args, call_id, result = (
                next(iter(JsonPath(path).find(call)), None) if path else None
                for path in (paths.name, paths.args, paths.id, paths.result)
            )
            if not isinstance(name, str):
                problem = f"{self._template.url}: a call must have a name at {paths.name}"
                raise AgentError(f"{problem}, got {shorten(as_text(call), SHOWN)}")
            record = ToolCall(name, read_arguments(args), "" if call_id is None else as_text(call_id))
            yield record
            if result is not None:
                response = read_response(result) if isinstance(result, str) else result
                yield ToolResult(name, response, record.id, is_error=has_failed(response, None))

    def _usage(self, reply: Any) -> Usage:
        """Return the tokens of the whole reply. Several counts, for example of model calls, are added."""
        models = [model for model in self._values("model", reply) if isinstance(model, str)]
        return Usage(
            sum_of_counts(*self._values("input_tokens", reply)),
            sum_of_counts(*self._values("output_tokens", reply)),
            model=models[-1] if models else "",
        )


def _without_times(reply: Any) -> Any:
    """Return the JSON of a reply. That of a stream is the list of its events."""
    if not isinstance(reply, list):
        return reply
    return [event.data if isinstance(event, StreamEvent) else event for event in reply]
