"""What happened: the messages, thoughts, tool calls and results of one conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairtrial.records.record import Extra, Json, Record
from fairtrial.records.rubric import Rubric


class Message(Record, frozen=True, tag_field="kind", tag="message"):
    """Something said in natural language. `author` is the agent's name, or empty for the user."""

    text: str
    author: str = ""
    extra: Extra = None


class Thought(Record, frozen=True, tag_field="kind", tag="thought"):
    """Reasoning that the agent showed; never part of a reply."""

    text: str
    author: str = ""
    extra: Extra = None


class ToolCall(Record, frozen=True, tag_field="kind", tag="tool_call"):
    """A call of a tool by its exact name, with its JSON arguments (absent is the same as none)."""

    name: str
    args: dict[str, Json] = {}
    id: str = ""
    author: str = ""
    extra: Extra = None


class Injection(Record, frozen=True):
    """What a simulated environment did on purpose to a tool's answer.

    `effect` names it, `detail` says what exactly. `invalidates` says that the attempt is no evidence about the agent.
    """

    effect: str
    detail: str = ""
    invalidates: bool = False


class ToolResult(Record, frozen=True, tag_field="kind", tag="tool_result"):
    """What a tool answered; `id` is that of its call where the recording has ids.

    `injected` is what a simulated environment did to the answer, in the order in which it was done.
    """

    name: str
    response: Json = None
    id: str = ""
    author: str = ""
    extra: Extra = None
    injected: tuple[Injection, ...] = ()


Step = Message | Thought | ToolCall | ToolResult
"""One thing inside an invocation."""


def split_reply(steps: Sequence[Step]) -> tuple[tuple[Step, ...], Message | None]:
    """Split what an agent did into the steps before its reply and the reply: its last messages, after the last tool.

    Messages that follow one another without a tool between them are the reply only in their last one.
    """
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        if isinstance(step, ToolCall | ToolResult):
            break
        if isinstance(step, Message):
            return (*steps[:i], *steps[i + 1 :]), step
    return tuple(steps), None


class Usage(Record, frozen=True):
    """The tokens of one model call; None is "not recorded"."""

    prompt_tokens: int | None = None
    candidates_tokens: int | None = None
    thoughts_tokens: int | None = None
    tool_use_prompt_tokens: int | None = None
    cached_tokens: int | None = None
    model: str = ""

    @property
    def input_tokens(self) -> int:
        """Prompt tokens and tool-use prompt tokens; cached tokens are part of the prompt."""
        return (self.prompt_tokens or 0) + (self.tool_use_prompt_tokens or 0)

    @property
    def output_tokens(self) -> int:
        """Tokens of the reply and of the thoughts before it."""
        return (self.candidates_tokens or 0) + (self.thoughts_tokens or 0)

    @property
    def recorded(self) -> bool:
        """Whether the call's tokens are known at all."""
        return any(
            count is not None
            for count in (self.prompt_tokens, self.candidates_tokens, self.thoughts_tokens, self.tool_use_prompt_tokens)
        )


class Durations(Record, frozen=True):
    """Seconds that an invocation took, and how many of them in models and tools; None is "not recorded"."""

    total: float | None = None
    model: float | None = None
    tool: float | None = None


class Event(Record, frozen=True):
    """How a foreign file grouped the next `size` steps, and what it said about the group."""

    author: str
    size: int
    extra: Extra = None


HANDOVER = "hands_over_to"
"""The key of ours in a tool's declaration that names the agent to which it hands over."""


class AgentDetails(Record, frozen=True):
    """One agent of the system under test: its instructions and the declarations of its tools (JSON as declared)."""

    name: str
    instructions: str = ""
    tool_declarations: tuple[dict[str, Any], ...] = ()
    extra: Extra = None

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        """The declarations that have a name, those inside a declaration group included."""
        declared: list[Any] = []
        for declaration in self.tool_declarations:
            inner = declaration.get("function_declarations") or declaration.get("functionDeclarations")
            declared += inner if isinstance(inner, list) else [declaration]
        return tuple(one for one in declared if isinstance(one, dict) and "name" in one)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the declared tools."""
        return tuple(str(one["name"]) for one in self.tools)


class About(Record, frozen=True):
    """What is known of the agents that worked on an invocation.

    `final_state` is the session's state after it; a recording keeps the last one, in its trace.
    """

    agents: tuple[AgentDetails, ...] = ()
    final_state: dict[str, Json] | None = None
    extra: Extra = None


class Invocation(Record, frozen=True):
    """One user message and all that the agent did until its reply.

    The same noun holds what was expected. `steps` is what came before the reply, in order; None says that nothing was
    recorded (or expected) about it, which is not the same as "no steps". `final_response` None: there is no reply (or
    no reference). `created` is in seconds since 1970. `unreported_injections` is what a simulated environment injected
    into calls and stands on no result among the steps (the agent was cut off, say), as results without a response.
    """

    user: Message
    steps: tuple[Step, ...] | None = None
    final_response: Message | None = None
    id: str = ""
    usages: tuple[Usage, ...] | None = None
    durations: Durations | None = None
    rubrics: tuple[Rubric, ...] = ()
    about: About | None = None
    events: tuple[Event, ...] | None = None
    extra: Extra = None
    created: float | None = None
    unreported_injections: tuple[ToolResult, ...] = ()

    @property
    def query(self) -> str:
        """The text of the user's message."""
        return self.user.text

    @property
    def reply(self) -> str:
        """The text of the reply without thoughts; empty where there is none."""
        return self.final_response.text if self.final_response else ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls in order; empty also where nothing was recorded."""
        return tuple([step for step in self.steps or () if type(step) is ToolCall])


class Trace(Record, frozen=True):
    """The invocations of one conversation in order, and the state that it ended in.

    `broken` is the cause of the failure that ended it, empty where nothing failed. An invocation without a reply at the
    end of a broken trace is the one that broke. `ended_by` is how the recording says that it ended, empty where it does
    not say.
    """

    invocations: tuple[Invocation, ...] = ()
    session_id: str = ""
    final_state: dict[str, Json] | None = None
    broken: str = ""
    ended_by: str = ""
    extra: Extra = None

    @property
    def agents(self) -> tuple[AgentDetails, ...]:
        """Every agent that any invocation tells of; where several tell of one, the last word counts."""
        known: dict[str, AgentDetails] = {}
        for invocation in self.invocations:
            known |= {agent.name: agent for agent in (invocation.about.agents if invocation.about else ())}
        return tuple(known.values())
