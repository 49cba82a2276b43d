"""Check the expectation of a case: impossible for any agent, or plainly not intended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from fairtrial.errors import nearest
from fairtrial.records.trace import HANDOVER, Invocation, Message, ToolCall, Trace
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_TRANSFERS = ("transfer_to_", "handoff_to_")
"""The prefixes of tools by which ADK, the OpenAI Agents SDK, LangGraph and Strands hand over to another agent."""
_SERVERS = {"hosted_mcp", "mcp_server"}
"""The tools that the OpenAI Agents SDK and Pydantic AI declare for an MCP server that the model's provider calls."""


def undeclared_tools(expected: Collection[str], trace: Trace) -> Iterator[str]:
    """Yield a problem for each expected tool that the agent does not declare."""
    declared = _read_declared(trace)
    if declared:
        for name in expected:
            if name not in declared:
                tools = shorten(", ".join(sorted(declared)), 200)
                yield f"the expected tool {name!r} is none that the agent declares ({tools}){nearest(name, declared)}"


def _read_declared(trace: Trace) -> set[str]:
    """Return the names of all tools that exist, or no names if there may be more tools.

    There may be more if an agent was not reached, or if a tool leads to a server with tools of its own.
    """
    agents = [
        agent for invocation in trace.invocations for agent in (invocation.about.agents if invocation.about else ())
    ]
    tools = [tool for agent in agents for tool in agent.tools]
    alone = len({agent.name for agent in agents}) == 1 and not any(map(_leads_elsewhere, tools))
    return {str(tool["name"]) for tool in tools} if alone else set()


def _leads_elsewhere(tool: dict[str, Json]) -> bool:
    """Return whether a tool gives access to tools that its agent does not declare."""
    name = str(tool["name"])
    return HANDOVER in tool or name.startswith(_TRANSFERS) or name in _SERVERS


def forbidden_tools(expected: Collection[str], forbidden: Collection[str]) -> Iterator[str]:
    """Yield a problem for each expected tool that is forbidden."""
    for name in expected:
        if name in forbidden:
            yield f"the expected tool {name!r} is one of the forbidden_tools"


def conflicting_counts(expected: Counter[str], case: EvalCase) -> Iterator[str]:
    """Yield a problem for each tool that a case expects more often as a whole than in its invocations together."""
    conversation = case.conversation or ()
    if expected and all(invocation.steps is not None for invocation in conversation):
        own = Counter(call.name for invocation in conversation for call in invocation.tool_calls)
        for name in expected - own if own else ():
            yield f"{name!r} is expected of the conversation as a whole more often than of its invocations"


def blank_references(case: EvalCase) -> Iterator[str]:
    """Yield a problem for an empty conversation, and for each reference that says nothing."""
    if case.conversation == ():
        yield "the case's conversation is empty"
    for number, invocation in enumerate(case.conversation or (), 1):
        if _says_nothing(invocation):
            yield f"the reference of invocation {number} is blank, and no call is expected there"


def _says_nothing(expected: Invocation) -> bool:
    reference = expected.final_response
    if reference is None or reference.text.strip():
        return False
    if any(isinstance(step, Message | ToolCall) for step in expected.steps or ()):
        return False
    return not reference.parts
