"""Route tool calls to an environment, which answers instead of the tool or rewrites its answer."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.agents.plain import plain
from fairtrial.agents.tracing.span_collection import collect_spans, hide_spans
from fairtrial.errors import SimulatedToolError
from fairtrial.protocols import DescribesTools, EndsConversation, Environment

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.trace import ToolCall

_ENVELOPES = ("function", "toolSpec")
_GROUPS = ("functionDeclarations", "function_declarations")


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


def describe_declaration(environment: Environment | None, tool: Any) -> Any:
    """Return the declaration of a tool in a request to a model, with the description of the environment.

    A declaration is a dictionary of a provider, or a group of functions. Other objects stay as they are.
    """
    if environment is None:
        return tool
    if not isinstance(tool, dict):
        functions = getattr(tool, "function_declarations", None)
        changed = [describe_object(environment, own) for own in functions or ()]
        is_same = all(own is new for own, new in zip(functions or (), changed, strict=True))
        return tool if is_same else tool.model_copy(update={"function_declarations": changed})
    declared = dict(tool)
    for key, value in tool.items():
        if key in _ENVELOPES:
            declared[key] = describe_declaration(environment, value)
        elif key in _GROUPS and isinstance(value, list):
            declared[key] = [describe_declaration(environment, own) for own in value]
    if isinstance(name := tool.get("name"), str):
        description = describe_tool(environment, name, tool.get("description"))
        declared |= {} if description == tool.get("description") else {"description": description}
    return declared


def describe_object(environment: Environment | None, tool: Any) -> Any:
    """Return a tool with `name` and `description`, or a copy of it if the environment describes it in another way."""
    name = getattr(tool, "name", None)
    if environment is None or not isinstance(name, str) or not hasattr(tool, "description"):
        return tool
    description = describe_tool(environment, name, tool.description)
    if description == tool.description:
        return tool
    copied = copy.copy(tool)
    copied.description = description
    return copied


def describe_in_prompt(environment: Environment | None, prompt: str, tools: Mapping[str, str]) -> str:
    """Return a prompt that lists tools, with the descriptions of the environment. `tools` are descriptions by name."""
    for name, description in tools.items() if environment is not None else ():
        listed = prompt.find(name)
        place = prompt.find(description, listed) if description and listed >= 0 else -1
        if place >= 0:
            described = describe_tool(environment, name, description) or ""
            prompt = prompt[:place] + described + prompt[place + len(description) :]
    return prompt


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
