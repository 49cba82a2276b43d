"""Sessions with LlamaIndex agents. Each user message is a workflow run in one shared context."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, ObservedSession, Opening
from fairtrial.agents.observers.llama_index_observer import (
    LlamaIndexObserver,
    declaration,
    observe_agents_in_tools,
    response_in,
)
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.user_parts import detect_kind, file_name, read_content, refuse_parts
from fairtrial.records.trace import AgentDetails, Message, Part
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

EXTRA = "agents-llama-index"


class LlamaIndexAgent(ObservedFramework):
    """An agent of LlamaIndex, or a workflow of several. The case's initial state is the state of its context."""

    package_extra, library = EXTRA, "llama_index.core.agent.workflow"
    kind = "an agent or an AgentWorkflow of LlamaIndex"
    options = ("chat_history", "max_iterations", "memory")

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent or a workflow of agents."""
        return hasattr(thing, "get_tools") and hasattr(thing, "run") and not inspect.isclass(thing)

    @staticmethod
    def read_name(thing: Any) -> str:
        """Return the name of an agent, or of the first agent of a workflow."""
        return str(getattr(thing, "root_agent", None) or getattr(thing, "name", None) or "agent")

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation, with a copy of the agent."""
        return LlamaIndexSession(opening)


class LlamaIndexSession(ObservedSession):
    """One conversation, in a context of LlamaIndex. The context keeps the memory and the state."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening, LlamaIndexAgent.read_name(opening.thing))
        self._root = LlamaIndexObserver(self._observer).observed(opening.thing)
        observe_agents_in_tools()
        self._context = import_extra("llama_index.core.workflow", EXTRA).Context(self._root)
        memory = import_extra("llama_index.core.memory", EXTRA).ChatMemoryBuffer
        llm = _list_agents(self._root)[self._name].llm
        self._options = {"memory": memory.from_defaults(llm=llm)} | opening.options
        self._initial_state = opening.state
        self._latest_state: Json = None
        self._workflow: Any = None
        self._question: Any = None

    async def open(self) -> None:
        """Set the initial state: that of the agent, and the case's above it."""
        if self._initial_state:
            state = {**copy.deepcopy(self._root.initial_state), **self._initial_state}
            await self._context.store.set("state", state)

    async def close(self) -> None:
        """Stop a run that waits for the user."""
        if self._workflow is not None:
            await self._workflow.cancel_run()

    def _state(self) -> Json:
        return self._latest_state

    def _declare(self) -> Iterable[AgentDetails]:
        for agent in _list_agents(self._root).values():
            tools = tuple(map(declaration, agent.tools or ()))
            yield AgentDetails(str(agent.name), str(agent.system_prompt or ""), tools)

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Run the workflow. If a tool waits for the user, the message is the answer."""
        if self._workflow is None:
            self._workflow = self._begin_workflow(_user_message(message, parts))
        else:
            refuse_parts(parts)
            events = import_extra("llama_index.core.workflow.events", EXTRA)
            fields = self._question.model_dump(exclude={"prefix"})
            self._workflow.ctx.send_event(events.HumanResponseEvent(response=message, **fields))
        return await self._follow()

    def _begin_workflow(self, message: Any) -> Any:
        """Start a run. LlamaIndex copies the context of the run before, but warns that it cannot copy the memory."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Skipping serialization of known unserializable key: memory")
            run = self._root.run(user_msg=message, ctx=self._context, **self._options)
        self._context = run.ctx
        return run

    async def _follow(self) -> Iterable[Item]:
        """Wait until the run ends, or asks the user something. Return the reply, or the question."""
        question = import_extra("llama_index.core.workflow.events", EXTRA).InputRequiredEvent
        run = self._workflow
        async for event in run.stream_events():
            if type(event).__name__ == "ToolCallResult":
                output = event.tool_output
                self._observer.note_result(str(event.tool_id), response_in(output), is_error=bool(output.is_error))
            elif type(event).__name__ == "AgentStream" and event.delta and not self._thinks_in_text(event):
                self._observer.note_token()
            elif isinstance(event, question):
                self._question = event
                return (Message(as_text(event.get("prefix", "")), self._name),)
        self._workflow = None
        result = await run
        self._latest_state = plain(await self._context.store.get("state", default=None))
        text = getattr(getattr(result, "response", None), "content", None)
        author = str(getattr(result, "current_agent_name", self._name))
        replies = [Message(str(text or "") if hasattr(result, "response") else as_text(result), author)]
        structured = getattr(result, "structured_response", None)
        if structured is not None:
            replies.append(Message(as_text(structured), author))
        return replies

    def _thinks_in_text(self, event: Any) -> bool:
        """Whether an agent writes its thoughts and calls as text, as a `ReActAgent` does."""
        return hasattr(_list_agents(self._root).get(event.current_agent_name), "reasoning_key")


def _list_agents(root: Any) -> Mapping[str, Any]:
    agents: Mapping[str, Any] = getattr(root, "agents", None) or {str(root.name): root}
    return agents


def _user_message(message: str, parts: Sequence[Part]) -> Any:
    types = import_extra("llama_index.core.base.llms.types", EXTRA)
    return types.ChatMessage(
        role="user", blocks=[types.TextBlock(text=message), *(_block(part, types) for part in parts)]
    )


def _block(part: Part, types: Any) -> Any:
    kind = detect_kind(part)
    content = None if part.uri else read_content(part)
    mime_type, url = part.mime_type or None, part.uri or None
    if kind == "image":
        return types.ImageBlock(image=content, url=url, image_mimetype=mime_type)
    if kind == "audio":
        return types.AudioBlock(audio=content, url=url, format=(mime_type or "").partition("/")[2] or None)
    if kind == "video":
        return types.VideoBlock(video=content, url=url, video_mimetype=mime_type)
    return types.DocumentBlock(data=content, url=url, title=file_name(part), document_mimetype=mime_type)


agent_at, agent_around = LlamaIndexAgent.at, LlamaIndexAgent.around
