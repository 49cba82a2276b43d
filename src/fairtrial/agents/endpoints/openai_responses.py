"""Sessions with agents behind OpenAI's Responses API. The server keeps the conversation."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
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
    url_ending_in,
)
from fairtrial.agents.user_parts import responses_content
from fairtrial.errors import AgentError
from fairtrial.formats.chats.assembly import with_name
from fairtrial.formats.chats.response_objects import read_tokens
from fairtrial.formats.chats.responses_items import RESPONSES
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Invocation,
    Message,
    Part,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    split_reply,
)
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_ENDPOINT = "/responses"
_DELTAS = tuple(f"response.{kind}.delta" for kind in ("output_text", "refusal", "audio", "audio.transcript"))
"""The events that add text or sound to the reply. Those of thoughts and calls have other names."""


def agent_at(target: str) -> ResponsesAgent:
    """Return the agent at `responses:URL` or `responses:URL#MODEL`. The URL may end in `/responses` or not."""
    url, _, model = target.partition(":")[2].partition("#")
    endpoint = url_ending_in(_ENDPOINT, url, like="responses:http://localhost:8000/v1")
    return ResponsesAgent(endpoint, model or "default", body=object_in(BODY))


@dataclass(frozen=True, slots=True)
class ResponsesAgent(EndpointAgent):
    """An agent that answers with response objects. It runs its tools itself, and reports their calls and results.

    Each request holds only the new message, and names the previous response. If the server keeps nothing
    (`"store": false` in the body), each request holds the conversation so far.
    """

    model: str = "default"

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: the protocol has a place for pictures, sounds, files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ResponsesSession]:  # noqa: ARG002
        """Open a conversation with connections of its own."""
        async with connect(self.url) as client:
            yield ResponsesSession(client, self.url, {"model": self.model, **fill(self.body, client.conversation)})


class ResponsesSession:
    """One conversation: a chain of responses."""

    def __init__(self, client: EndpointClient, url: str, fields: dict[str, Any]) -> None:
        self._client = client
        self._url = url
        self._fields = fields
        self._is_stored = fields.get("store") is not False
        self._previous = ""
        self._history: list[dict[str, Any]] = []
        self.about: About | None = None

    def take_earlier_turns(self, invocations: Sequence[Invocation], final_state: dict[str, Json] | None) -> bool:  # noqa: ARG002
        """Go on behind the turns of an earlier session, unless the server keeps them under an id that is lost."""
        for invocation in () if self._is_stored else invocations:
            self._history += [
                {"role": "user", "content": responses_content(invocation.query, invocation.user.parts)},
                {"role": "assistant", "content": invocation.reply},
            ]
        return not self._is_stored

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Post the new message. Raises AgentError if the reply is not a response, or a response that failed."""
        self._history.append({"role": "user", "content": responses_content(message, parts)})
        inputs = self._history[-1:] if self._is_stored else self._history
        chain = {"previous_response_id": self._previous} if self._is_stored and self._previous else {}
        began = time.monotonic()
        received = await self._client.post(self._url, {**self._fields, "input": inputs, **chain})
        for times in time_of_first_text(received, began, _text_of_event):
            yield times
        response = self._ensure_valid(received)
        self._previous = str(response.get("id") or "")
        self.about = _about(response) or self.about
        yield read_tokens(response)
        steps = self._steps(response["output"])
        for step in steps:
            yield step
        _, answer = split_reply(steps)
        self._history.append({"role": "assistant", "content": answer.text if answer else ""})

    def _ensure_valid(self, reply: Any) -> dict[str, Any]:
        """Return the response object in a reply. A stream holds it in its last events."""
        if isinstance(reply, list):
            datas = [event.data for event in reply if isinstance(event, StreamEvent) and isinstance(event.data, dict)]
            objects = [data["response"] for data in datas if isinstance(data.get("response"), dict)]
            failures = [data for data in datas if data.get("type") == "error"]
            reply = (failures or objects or [None])[-1]
        problem = isinstance(reply, dict) and (reply.get("error") or (reply.get("type") == "error" and reply))
        if problem:
            raise AgentError(f"{self._url}: the response failed: {shorten(str(problem), SHOWN)}")
        if not isinstance(reply, dict) or not isinstance(reply.get("output"), list):
            raise AgentError(f"{self._url}: must reply an object with 'output', got {shorten(str(reply), SHOWN)}")
        return reply

    def _steps(self, output: list[Any]) -> list[Step]:
        reading = Diagnostics(self._url)
        for i, item in enumerate(output):
            if not isinstance(item, dict):
                reading.wrong_type((((), "output"), i), "an item", item)
        names: dict[str, str] = {}
        steps = [
            with_name(entry, names)
            for i, item in enumerate(output)
            if isinstance(item, dict)
            for entry in RESPONSES.entries(item, (((), "output"), i), reading)
            if isinstance(entry, Message | Thought | ToolCall | ToolResult)
        ]
        if reading.errors:
            raise AgentError(f"{self._url}: {reading.errors[0]}")
        return separate_thoughts(steps)


def _text_of_event(event: Any) -> str:
    """Return the text in an event that adds text or sound to the reply, as `response.output_text.delta` does."""
    delta = event.get("delta") if isinstance(event, dict) and event.get("type") in _DELTAS else None
    return delta if isinstance(delta, str) else ""


def _about(response: dict[str, Any]) -> About | None:
    """Return the instructions and tools that the server used, if it tells them."""
    instructions, tools = response.get("instructions"), response.get("tools")
    declarations = tuple(tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
    text = instructions if isinstance(instructions, str) else ""
    return About((AgentDetails("assistant", text, declarations),)) if text or declarations else None
