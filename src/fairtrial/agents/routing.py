"""Route tool calls to an environment, which answers instead of the tool or rewrites its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fairtrial.agents.plain import plain
from fairtrial.agents.tracing.span_collection import collect_spans, hide_spans
from fairtrial.errors import SimulatedToolError
from fairtrial.protocols import DescribesTools, EndsConversation, Environment
from fairtrial.records.record import Json
from fairtrial.records.trace import ToolCall


class Answer(NamedTuple):
    """The answer to a call. If `own` is true, `value` is the object that the tool returned; otherwise it is JSON."""

    value: Any
    own: bool


async def route_call(
    environment: Environment,
    call: ToolCall,
    declaration: dict[str, Json],
    real: Callable[[], Awaitable[Any]],
    *,
    as_json: Callable[[Any], Json] = plain,
) -> Answer:
    """Return the answer of an environment to a call. `real` calls the tool itself.

    If the environment does not change the answer of the tool, the agent gets the very object that the tool returned.
    For example, a data frame stays a data frame.
    """
    latest: tuple[Any, Json] | None = None
    with hide_spans() as collection:  # a model that plays the tool is not the agent's

        async def real_as_json() -> Json:
            nonlocal latest
            with collect_spans(collection):
                value = await real()
            latest = (value, as_json(value))
            return latest[1]

        response = (await environment.answer(call, declaration, real_as_json)).response
    # Identity and not equality: an environment may return an equal answer of its own.
    if latest is not None and response is latest[1]:
        return Answer(latest[0], own=True)
    return Answer(response, own=False)


def describe_tool(environment: Environment | None, name: str, description: str | None) -> str | None:
    """Return the description of a tool that a model reads: that of the environment, if it changes descriptions."""
    own = description or ""
    described = environment.describe(name, own) if isinstance(environment, DescribesTools) else own
    return description if described == own else described


async def check_untouched(environment: Environment, call: ToolCall) -> None:
    """Raise SimulatedToolError if an environment would change the answer to a call that it does not reach.

    For example, the tool belongs to an agent that works inside another tool. Otherwise the tool itself may answer.
    """

    async def real() -> Any:
        return untouched

    untouched = {"answer": "of the tool itself"}
    result = await environment.answer(call, {"name": call.name}, real)
    if result.response is not untouched or result.injected:
        raise refusal(
            environment,
            f"the environment answers {call.name!r}, but it does not reach this tool of {call.author or 'the agent'}: "
            "the agent works inside a node or another tool",
        )


def refusal(environment: Environment, problem: str) -> SimulatedToolError:
    """Return the error of an environment that does not reach a tool. The agent cannot catch it and go on."""
    error = SimulatedToolError(problem)
    if isinstance(environment, EndsConversation):
        environment.end_conversation(error)
    return error
