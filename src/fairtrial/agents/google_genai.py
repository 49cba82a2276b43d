"""Sessions with Google Gen AI SDK chats, whose requests and functions are observed."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.agents.adk_events import items_of_event
from fairtrial.agents.calling import declaration
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, ObservedSession, Opening
from fairtrial.agents.plain import plain
from fairtrial.agents.routing import describe_declaration
from fairtrial.agents.user_parts import read_content
from fairtrial.errors import AgentError
from fairtrial.records.trace import AgentDetails, Event, Part, ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.agents.observer import Observer
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

EXTRA = "agents-google-genai"


class GenAIAgent(ObservedFramework):
    """A chat of the SDK, sync or async. Each conversation has a copy of the chat, with the history of the chat."""

    package_extra, library, kind = EXTRA, "google.genai", "a chat of google.genai"

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is a chat."""
        return hasattr(thing, "send_message") and hasattr(thing, "get_history") and not inspect.isclass(thing)

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation, with a copy of the chat."""
        return GenAISession(opening)


class GenAISession(ObservedSession):
    """One conversation, in a chat of its own."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening, opening.target_name)
        chat = opening.thing
        client = _ObservedClient(chat._modules._api_client, self._name, self._observer)  # noqa: SLF001  (there is no public name)
        models = import_extra("google.genai.models", EXTRA).AsyncModels(client)
        self._config = config = _config(chat._config, client)  # noqa: SLF001
        chats = import_extra("google.genai.chats", EXTRA)
        history = list(chat.get_history())
        self._chat = chats.AsyncChat(modules=models, model=chat._model, config=config, history=history)  # noqa: SLF001

    def _declare(self) -> Iterable[AgentDetails]:
        instruction = getattr(self._config, "system_instruction", None)
        tools = getattr(self._config, "tools", None) or ()
        functions = tuple(declaration(tool) for tool in tools if inspect.isroutine(tool))
        return (AgentDetails(self._name, instruction if isinstance(instruction, str) else "", functions),)

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Send the message to the chat. The SDK calls the functions, and yields their results to the model."""
        await self._chat.send_message([message, *map(_encode_part, parts)] if parts else message)
        return ()


def _encode_part(part: Part) -> Any:
    types = import_extra("google.genai.types", EXTRA)
    kind = part.mime_type or "application/octet-stream"
    if part.uri:
        return types.Part.from_uri(file_uri=part.uri, mime_type=kind)
    return types.Part.from_bytes(data=read_content(part), mime_type=kind)


def _config(config: Any, client: _ObservedClient) -> Any:
    """Return a configuration whose functions are observed. Other tools, such as MCP sessions, stay as they are."""
    types = import_extra("google.genai.types", EXTRA)
    if config is None:
        return None
    options = types.GenerateContentConfig(**config) if isinstance(config, dict) else config.model_copy()
    if options.tools:
        options.tools = [
            client.routed(tool) if inspect.isroutine(tool) or inspect.ismethod(tool) else tool for tool in options.tools
        ]
    return options


class _ObservedClient:
    """Stands before the API client of the SDK, and reports requests, responses and calls of functions."""

    def __init__(self, client: Any, author: str, observer: Observer) -> None:
        self._client = client
        self._author = author
        self._observer = observer
        self._numbers = itertools.count(1)
        self._open_calls: list[ToolCall] = []
        self._declarations: dict[str, dict[str, Json]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def async_request(self, method: str, path: str, request: dict[str, Any], *more: Any, **options: Any) -> Any:
        """Send a request. The results of functions stand in the request, the calls in the response."""
        if request.get("tools"):
            tools = [describe_declaration(self._observer.environment, tool) for tool in request["tools"]]
            request = {**request, "tools": tools}
        self._note_request(request)
        with self._observer.model_at_work():
            response = await self._client.async_request(method, path, request, *more, **options)
        self._note_response(msgspec.json.decode(response.body or "{}"))
        return response

    def routed(self, function: Any) -> Any:
        """Return an async function that the environment answers, if there is any. It reports its result."""

        @functools.wraps(function)
        async def call(*args: Any, **arguments: Any) -> Any:
            record = self._take_call(function.__name__, plain(arguments))

            async def real() -> Any:
                if inspect.iscoroutinefunction(function):
                    return await function(*args, **arguments)
                return await asyncio.to_thread(function, *args, **arguments)

            declared = self._declarations.get(record.name, {"name": record.name})
            return (await self._observer.answer(record, declared, real)).value

        return call

    def _note_request(self, request: dict[str, Any]) -> None:
        groups = [tool for tool in request.get("tools") or () if isinstance(tool, dict)]
        tools: list[dict[str, Json]] = []
        for group in plain(groups):
            functions = group.pop("functionDeclarations", None) or ()
            tools += [_declaration(function) for function in functions]
            tools += [group] if group else []
        self._declarations |= {str(tool["name"]): tool for tool in tools if "name" in tool}
        instruction = plain(request.get("systemInstruction") or {})
        texts = (str(part.get("text", "")) for part in instruction.get("parts") or ())
        self._observer.note_request(self._author, "\n".join(texts), tools)
        contents = plain(request.get("contents") or [])
        for part in contents[-1].get("parts") or () if contents else ():
            result = part.get("functionResponse")
            call = self._take_call(str(result.get("name")), {}) if result else None
            if result and call:
                response = result.get("response")
                is_error = isinstance(response, dict) and "error" in response
                self._observer.note_result(call.id, response, is_error=is_error)

    def _note_response(self, response: dict[str, Any]) -> None:
        candidate: dict[str, Any] = next(iter(response.get("candidates") or ()), {})
        event = {
            "author": self._author,
            "content": candidate.get("content") or {"parts": [{"text": ""}]},
            "usageMetadata": response.get("usageMetadata"),
            "modelVersion": response.get("modelVersion"),
        }
        items: list[Item] = []
        for item in items_of_event({key: value for key, value in event.items() if value}, is_final=True):
            if isinstance(item, ToolCall):
                # The Gemini API gives no ids.
                call = replace(item, id=item.id or f"call-{next(self._numbers)}")
                self._open_calls.append(call)
                items.append(call)
            elif not isinstance(item, Event):
                items.append(item)
        reason = candidate.get("finishReason", "STOP")
        if not candidate or (reason not in ("STOP", "MAX_TOKENS") and not candidate.get("content")):
            feedback = response.get("promptFeedback") or {}
            raise AgentError(f"the model did not answer: {feedback.get('blockReason') or reason}")
        self._observer.note(*items)

    def _take_call(self, name: str, args: dict[str, Json]) -> ToolCall:
        """Return the first open call of a function. The SDK calls functions in the order of their calls."""
        call = next((call for call in self._open_calls if call.name == name), None)
        if call is None:
            return ToolCall(name, args, f"call-{next(self._numbers)}", self._author)
        self._open_calls.remove(call)
        return call


def _declaration(function: dict[str, Any]) -> dict[str, Json]:
    names = ("parameters_json_schema", "parametersJsonSchema", "parameters")
    schema = next((function[name] for name in names if function.get(name)), None)
    parameters = {"parameters_json_schema": _lower_types(schema)} if schema else {}
    return {"name": function.get("name"), "description": function.get("description") or "", **parameters}


def _lower_types(schema: Any) -> Any:
    """Return a schema with the types of JSON Schema. Gemini's schemas have types such as `STRING`."""
    if isinstance(schema, dict):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lower_types(value)
            for key, value in schema.items()
        }
    return [_lower_types(value) for value in schema] if isinstance(schema, list) else schema


agent_at, agent_around = GenAIAgent.at, GenAIAgent.around
