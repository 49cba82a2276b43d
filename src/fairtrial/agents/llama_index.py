"""Sessions with LlamaIndex agents. Each user message is a workflow run in one shared context."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.factories import AgentSource
from fairtrial.agents.llama_index_observer import LlamaIndexObserver, declaration, observe_agents_in_tools, response_in
from fairtrial.agents.observer import Observer
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.user_parts import content_of, file_name, kind_of
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import About, AgentDetails, Message, Part
from fairtrial.system.importing import import_extra, import_object

EXTRA = "agents-llama-index"
_OPTIONS = ("chat_history", "max_iterations", "memory")


def agent_at(target: str) -> LlamaIndexAgent:
    """Return the agent at `llama-index:MODULE:NAME`, or of the factory with this name. Raises UsageError."""
    import_extra("llama_index.core.agent.workflow", EXTRA)
    path = target.partition(":")[2]
    return LlamaIndexAgent(path, _source(import_object(path, path)))


def agent_around(thing: Any) -> LlamaIndexAgent:
    """Return a session-opening agent for an agent of LlamaIndex."""
    return LlamaIndexAgent(_name_of(thing), _source(thing))


def _source(thing: Any) -> AgentSource:
    return AgentSource(thing, _is_agent, "an agent or an AgentWorkflow of LlamaIndex", _OPTIONS)


def _is_agent(thing: Any) -> bool:
    return hasattr(thing, "get_tools") and hasattr(thing, "run") and not inspect.isclass(thing)


def _name_of(thing: Any) -> str:
    return str(getattr(thing, "root_agent", None) or getattr(thing, "name", None) or "agent")


@dataclass(frozen=True, slots=True)
class LlamaIndexAgent:
    """An agent of LlamaIndex, or a workflow of several. The case's initial state is the state of its context."""

    path: str
    source: AgentSource = field(repr=False)

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: LlamaIndex has blocks for pictures, sounds, films and documents."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[LlamaIndexSession]:
        """Open a conversation. The agent is copied, so that wrappers stand around its steps and tools."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else {}
        async with self.source.open(case) as (original, options):
            session = LlamaIndexSession(original, options, Observer(environment))
            await session.set_state(state)
            try:
                yield session
            finally:
                await session.close()


class LlamaIndexSession:
    """One conversation, in a context of LlamaIndex. The context keeps the memory and the state."""

    def __init__(self, original: Any, options: dict[str, Any], observer: Observer) -> None:
        self._observer = observer
        self._name = _name_of(original)
        self._root = LlamaIndexObserver(observer).observed(original)
        observe_agents_in_tools()
        self._context = import_extra("llama_index.core.workflow", EXTRA).Context(self._root)
        memory = import_extra("llama_index.core.memory", EXTRA).ChatMemoryBuffer
        llm = _agents_of(self._root)[self._name].llm
        self._options = {"memory": memory.from_defaults(llm=llm)} | options
        self._state: Json = None
        self._run: Any = None
        self._question: Any = None

    async def set_state(self, state: dict[str, Any]) -> None:
        """Set the initial state: that of the agent, and the case's above it."""
        if state:
            await self._context.store.set("state", {**copy.deepcopy(self._root.initial_state), **state})

    async def close(self) -> None:
        """Stop a run that waits for the user."""
        if self._run is not None:
            await self._run.cancel_run()

    @property
    def about(self) -> About:
        """The agents with a request to a model in the latest invocation, and the state of the context."""
        state = self._state if isinstance(self._state, dict) and self._state else None
        return About(tuple(self._observer.agents.values()), state)

    async def declared(self) -> About:
        """Return the agents with their tools."""
        return About(
            tuple(
                AgentDetails(
                    str(agent.name), str(agent.system_prompt or ""), tuple(map(declaration, agent.tools or ()))
                )
                for agent in _agents_of(self._root).values()
            )
        )

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run the workflow, and yield the items. If a tool waits for the user, the message is the answer."""
        self._observer.begin_invocation()

        async def run() -> Iterable[Item]:
            if self._run is None:
                self._run = self._start(_user_message(message, parts))
            else:
                events = import_extra("llama_index.core.workflow.events", EXTRA)
                fields = self._question.model_dump(exclude={"prefix"})
                self._run.ctx.send_event(events.HumanResponseEvent(response=message, **fields))
            return await self._follow()

        async with aclosing(self._observer.items(run)) as items:
            async for item in items:
                yield item

    def _start(self, message: Any) -> Any:
        """Start a run. LlamaIndex copies the context of the run before, but warns that it cannot copy the memory."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Skipping serialization of known unserializable key: memory")
            run = self._root.run(user_msg=message, ctx=self._context, **self._options)
        self._context = run.ctx
        return run

    async def _follow(self) -> Iterable[Item]:
        """Wait until the run ends, or asks the user something. Return the reply, or the question."""
        question = import_extra("llama_index.core.workflow.events", EXTRA).InputRequiredEvent
        run = self._run
        async for event in run.stream_events():
            if type(event).__name__ == "ToolCallResult":
                output = event.tool_output
                self._observer.note_result(str(event.tool_id), response_in(output), is_error=bool(output.is_error))
            elif isinstance(event, question):
                self._question = event
                return (Message(as_text(event.get("prefix", "")), self._name),)
        self._run = None
        result = await run
        self._state = plain(await self._context.store.get("state", default=None))
        text = getattr(getattr(result, "response", None), "content", None)
        author = str(getattr(result, "current_agent_name", self._name))
        replies = [Message(str(text or "") if hasattr(result, "response") else as_text(result), author)]
        structured = getattr(result, "structured_response", None)
        if structured is not None:
            replies.append(Message(as_text(structured), author))
        return replies


def _agents_of(root: Any) -> Mapping[str, Any]:
    agents: Mapping[str, Any] = getattr(root, "agents", None) or {str(root.name): root}
    return agents


def _user_message(message: str, parts: Sequence[Part]) -> Any:
    types = import_extra("llama_index.core.base.llms.types", EXTRA)
    return types.ChatMessage(
        role="user", blocks=[types.TextBlock(text=message), *(_block(part, types) for part in parts)]
    )


def _block(part: Part, types: Any) -> Any:
    kind = kind_of(part)
    content = None if part.uri else content_of(part)
    mime_type, url = part.mime_type or None, part.uri or None
    if kind == "image":
        return types.ImageBlock(image=content, url=url, image_mimetype=mime_type)
    if kind == "audio":
        return types.AudioBlock(audio=content, url=url, format=(mime_type or "").partition("/")[2] or None)
    if kind == "video":
        return types.VideoBlock(video=content, url=url, video_mimetype=mime_type)
    return types.DocumentBlock(data=content, url=url, title=file_name(part), document_mimetype=mime_type)
