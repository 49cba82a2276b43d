"""The base of the adapters of agent frameworks: targets, sessions, and the loop over the messages of a user."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from fairtrial.agents.approvals import Approvals
from fairtrial.agents.factories import AgentSource, factory_source, one_conversation
from fairtrial.agents.nested_runs import collect_requests, current_conversation, open_conversation
from fairtrial.agents.observer import Observer
from fairtrial.agents.plain import plain
from fairtrial.agents.user_parts import refuse_parts
from fairtrial.errors import UsageError
from fairtrial.records.trace import About, AgentDetails, Approval, Part, ToolCall, Usage
from fairtrial.system.importing import import_extra, import_object

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json


class Opening(NamedTuple):
    """The agent of a conversation with its options, its case, the environment, and the name of its target."""

    thing: Any
    options: dict[str, Any]
    case: EvalCase
    environment: Environment | None
    target_name: str

    @property
    def state(self) -> dict[str, Any]:
        """A copy of the initial state of the case."""
        return copy.deepcopy(self.case.session_input.state) if self.case.session_input else {}


@dataclass(frozen=True)
class ObservedFramework(ABC):
    """An agent of a framework, or its factory. A subclass says what an agent is, and which session talks to it.

    `library` is the module whose import proves the framework, and the extra `package_extra` installs it. `kind` names
    an agent for people, and `options` are those of a factory. If an agent holds its conversation, only a factory can be
    a target. With `shows_tools`, the environment describes the tools in every request to a model.
    """

    path: str
    source: AgentSource = field(repr=False)

    package_extra: ClassVar[str]
    library: ClassVar[str]
    kind: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    shows_tools: ClassVar[bool] = True
    holds_conversation: ClassVar[bool] = False

    @classmethod
    def at(cls, target: str) -> Self:
        """Return the agent at `KIND:MODULE:NAME`, or of the factory with this name. Raises UsageError."""
        import_extra(cls.library, cls.package_extra)
        path = target.partition(":")[2]
        return cls(path, cls.make_source(import_object(path, path)))

    @classmethod
    def around(cls, thing: Any) -> Self:
        """Return the agent for an object of the framework. Raises UsageError if conversations cannot share it."""
        if cls.holds_conversation:
            target = f"{cls.__module__.rpartition('.')[2]}:my_module:make_agent"
            raise UsageError(
                f"agent: {one_conversation(cls.kind)}, for example {target}, got {type(thing).__name__}",
                code="unusable-agent",
            )
        return cls(cls.read_name(thing), cls.make_source(thing))

    @classmethod
    def make_source(cls, thing: Any) -> AgentSource:
        """Return the source of agents in an object. Raises UsageError if it is none."""
        make = factory_source if cls.holds_conversation else AgentSource
        return make(thing, cls.is_agent, cls.kind, cls.options)

    @staticmethod
    @abstractmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent of the framework."""

    @staticmethod
    def read_name(thing: Any) -> str:
        """Return the name of an agent."""
        return str(getattr(thing, "name", None) or "agent")

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return why a message cannot hold the parts. The text is empty if it can."""
        return ""

    @abstractmethod
    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation, before it is opened."""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[FrameworkSession]:
        """Open a conversation, and close it at the end."""
        with open_conversation():
            async with self.source.open(case) as (thing, options):
                session = self.session(Opening(thing, options, case, environment, self.path.rpartition(":")[2]))
                try:
                    await session.open()
                    yield session
                finally:
                    await session.close()


class FrameworkSession(ABC):
    """One conversation, in which the user may have to decide about calls that wait. `_name` is the agent's name."""

    def __init__(self, opening: Opening, name: str) -> None:
        self._name = name
        self._approvals = Approvals(opening.case)
        self._conversation = current_conversation()

    async def open(self) -> None:  # noqa: B027
        """Begin the conversation."""

    async def close(self) -> None:  # noqa: B027
        """End the conversation."""

    @property
    def incomplete(self) -> str:
        """Why model calls may be missing. The text is empty if none are."""
        return self._conversation.gap

    @property
    @abstractmethod
    def about(self) -> About:
        """The agents with a request to a model in the latest invocation, and the state."""

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Send a message, and yield the items. If calls wait for a decision, the message decides."""
        if self._waiting():
            refuse_parts(parts)
        self._begin()
        items = self._approvals.send(
            message, lambda: self._start(message, parts), self._resume, self._waiting, lambda: self._name
        )
        async with aclosing(items):
            async for item in items:
                yield item

    def _begin(self) -> None:  # noqa: B027
        """Forget the earlier invocation."""

    @abstractmethod
    def _start(self, message: str, parts: Sequence[Part]) -> AsyncGenerator[Item, None]:
        """Yield the items of a run with a new message."""

    def _waiting(self) -> Sequence[ToolCall]:
        """Return the calls that wait for a decision."""
        return ()

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Yield the items of the run that goes on with a decision for each call that waits."""
        raise NotImplementedError


class ObservedSession(FrameworkSession):
    """One conversation whose models and tools report to an observer."""

    def __init__(self, opening: Opening, name: str) -> None:
        super().__init__(opening, name)
        self._observer = Observer(opening.environment)
        self._requests: list[bool] = []

    @property
    def about(self) -> About:
        """The agents with a request to a model in the latest invocation, and the state."""
        state = plain(self._state())
        return About(tuple(self._observer.agents.values()), state if isinstance(state, dict) and state else None)

    async def declared(self) -> About:
        """Return the agents with their instructions and tools, as far as they are known before a request."""
        return About(tuple(self._declare()))

    def _state(self) -> Json:
        """Return the state that the agent has now, or None."""
        return None

    @abstractmethod
    def _declare(self) -> Iterable[AgentDetails]:
        """Return the agents with their instructions and tools."""

    def _begin(self) -> None:
        self._observer.begin_invocation()

    def _start(self, message: str, parts: Sequence[Part]) -> AsyncGenerator[Item, None]:
        return self._items(lambda: self._run(message, parts))

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        return self._items(lambda: self._go_on(decisions))

    def _items(self, run: Callable[[], Awaitable[Iterable[Item]]]) -> AsyncGenerator[Item, None]:
        """Yield the items of a run. A framework may wrap the exception of a model, whose own class tells an outage.

        Requests that nothing has reported, for example of a model that plans, become calls of unknown tokens.
        """

        async def unwrapped() -> Iterable[Item]:
            # A framework may go on in a thread of an earlier message, whose requests count now.
            collect_requests(self._requests)
            untold = self._observer.usage_count - len(self._requests)
            try:
                items = list(await run())
                self._observer.check()
                untold += len(self._requests) - self._observer.usage_count
                return [*[Usage()] * (untold - sum(isinstance(item, Usage) for item in items)), *items]
            except Exception as error:
                own = self._observer.refusal or self._observer.error
                if own is None or own is error:
                    raise
                raise own from own.__cause__

        return self._observer.items(unwrapped)

    @abstractmethod
    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Run the agent with a message, and return the items that nothing has reported, for example the reply."""

    async def _go_on(self, decisions: Sequence[Approval]) -> Iterable[Item]:
        """Go on with the run that waits for decisions."""
        raise NotImplementedError
