"""Agent factories: user functions that make an agent for each conversation, with the framework's context."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairtrial.errors import UsageError, nearest

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase


@dataclass(frozen=True, slots=True)
class AgentSource:
    """An agent, or a factory: a function that makes an agent for each conversation.

    A factory is sync or async, or a generator of either kind, or an async context manager. It takes the case, or a
    parameter `config` as the servers of LangGraph give it, or nothing. It returns the agent, or the agent and a mapping
    of options, for example `(agent, {"context": customer})`. `options` are the names that the framework knows.
    """

    thing: Any = field(repr=False)
    is_agent: Callable[[Any], bool]
    kind: str
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise UsageError if the object is neither an agent nor a function that takes a case or nothing."""
        if not self.is_agent(self.thing) and not self.is_factory:
            raise UsageError(
                f"must be {self.kind}, or a function that returns it, got {type(self.thing).__name__}",
                code="unusable-agent",
            )
        if self.is_factory:
            _check_parameters(self.thing)

    @property
    def is_factory(self) -> bool:
        """Whether a function makes the agent."""
        return not self.is_agent(self.thing) and (inspect.isroutine(self.thing) or inspect.isclass(self.thing))

    @asynccontextmanager
    async def open(self, case: EvalCase) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
        """Yield the agent of a conversation and its options. What the factory has opened is closed at the end.

        Raises UsageError if the factory returns something else, or an option that the framework does not know.
        """
        if not self.is_factory:
            yield self.thing, {}
            return
        async with AsyncExitStack() as stack:
            result = self.thing(*_arguments(self.thing, case))
            if inspect.isasyncgen(result):
                result = asynccontextmanager(lambda: result)()
            elif inspect.isgenerator(result):
                result = stack.enter_context(contextmanager(lambda: result)())
            elif inspect.isawaitable(result):
                result = await result
            if not self.is_agent(result) and hasattr(result, "__aenter__"):
                result = await stack.enter_async_context(result)
            yield self._ensure_valid(result)

    def _ensure_valid(self, result: Any) -> tuple[Any, dict[str, Any]]:
        agent, options = result if isinstance(result, tuple) and len(result) == 2 else (result, {})
        if not self.is_agent(agent) or not isinstance(options, Mapping):
            got = f"({type(agent).__name__}, {type(options).__name__})" if options else type(agent).__name__
            raise UsageError(
                f"the function must return {self.kind}, or a pair of it and a mapping, got {got}", code="unusable-agent"
            )
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise UsageError(
                    f"option {name!r} is not known; known are {known}{nearest(str(name), self.options)}",
                    code="unusable-agent",
                )
        return agent, dict(options)


def factory_source(
    thing: Any, is_agent: Callable[[Any], bool], kind: str, options: tuple[str, ...] = ()
) -> AgentSource:
    """Return the source of agents that hold their conversation. Raises UsageError if it is not a factory."""
    source = AgentSource(thing, is_agent, kind, options)
    if not source.is_factory:
        raise UsageError(one_conversation(kind), code="unusable-agent")
    return source


def one_conversation(kind: str) -> str:
    """Return why an agent cannot be shared by conversations."""
    return (
        f"{kind} holds its conversation, so that each conversation needs an agent of its own; "
        "name a function that makes it"
    )


def _check_parameters(factory: Callable[..., Any]) -> None:
    """Raise UsageError if a factory needs more than the case. Every conversation would fail in the same way."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * len(_positional(signature)[:1]))
    except TypeError as error:
        name = getattr(factory, "__name__", "function")
        raise UsageError(
            f"must take the case, or 'config', or nothing, got {name}{signature}", code="unusable-agent"
        ) from error


def _positional(signature: inspect.Signature) -> list[inspect.Parameter]:
    """Return the parameters that an argument without a name can fill."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter for parameter in signature.parameters.values() if parameter.kind in kinds]


def _arguments(factory: Callable[..., Any], case: EvalCase) -> tuple[Any, ...]:
    """Return what a factory takes: nothing, the case, or a configuration with the state of the case."""
    parameters = _positional(inspect.signature(factory))
    if not parameters:
        return ()
    if parameters[0].name == "config":
        state = case.session_input.state if case.session_input else {}
        return ({"configurable": dict(state)},)
    return (case,)
