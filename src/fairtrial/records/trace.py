"""The record of a conversation: messages, thoughts, tool calls and tool results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from fairtrial.records.check import Check
from fairtrial.records.record import Displayed, Extra, Json, Record
from fairtrial.records.rubric import Rubric


class Timed(Record, frozen=True, kw_only=True):
    """When a step happened, and the OpenTelemetry span that it was recorded in. None and "" mean "not recorded".

    `started` is in seconds since 1970, `seconds` is the duration of the step.
    """

    started: float | None = None
    seconds: float | None = None
    span_id: str = ""
    parent_id: str = ""


class Captured(Timed, frozen=True, kw_only=True):
    """How much of the content of a step was recorded: its text, its arguments or its response.

    `withheld` is the reason if the content is not in the recording, for example because the capture of contents was
    off. The content is then empty, which says nothing: it must not be compared, and no judge may see it as an empty
    text. `beginning` is the beginning of a content that was cut off, as text.
    """

    withheld: str = ""
    beginning: str = ""


class Part(Record, frozen=True):
    """Content of a message that is not text, for example an image.

    The content is either at `uri` or in `data`, which is base64. `name` is the name of the file.
    """

    mime_type: str = ""
    uri: str = ""
    data: str = ""
    name: str = ""


class Message(Captured, frozen=True, tag_field="kind", tag="message"):
    """A message in natural language. `author` is the agent's name, or empty if the user wrote the message."""

    text: str
    author: str = ""
    extra: Extra = None
    parts: tuple[Part, ...] = ()
    model: str = ""


class Thought(Captured, frozen=True, tag_field="kind", tag="thought"):
    """Reasoning that the agent showed. A thought is never part of a reply."""

    text: str
    author: str = ""
    extra: Extra = None
    model: str = ""


class ToolCall(Captured, frozen=True, tag_field="kind", tag="tool_call"):
    """A call of a tool by its exact name, with its JSON arguments. Absent arguments equal empty arguments."""

    name: str
    args: dict[str, Json] = {}
    id: str = ""
    author: str = ""
    extra: Extra = None
    model: str = ""


class Injection(Record, frozen=True):
    """A change that a simulated environment made on purpose to the answer of a tool.

    `effect` names the change and `detail` describes it. If `invalidates` is true, the attempt says nothing about the
    agent.
    """

    effect: str
    detail: str = ""
    invalidates: bool = False


class Approval(Record, frozen=True):
    """The decision about a call that waited for a decision. `by` is the user of the conversation, or the case.

    `args` are the arguments that replace those of the agent. `reason` is the message with which the user rejected.
    """

    decision: Literal["approve", "reject", "edit"]
    by: Literal["user", "case"] = "user"
    args: dict[str, Json] | None = None
    reason: str = ""


class ToolResult(Captured, frozen=True, tag_field="kind", tag="tool_result"):
    """The answer of a tool. `id` is the id of the call if the recording has ids.

    `is_error` says that the tool failed. Each reader and each agent decides it from the marks of its own format, for
    example `isError` of MCP or `status: error` of LangChain. `injected` lists the changes that a simulated environment
    made, in their order. `inner` is the work of an agent that answered as a tool. Its calls are not among the calls of
    the invocation. `approval` is the decision about the call, if the agent waited for a decision.
    """

    name: str
    response: Json = None
    id: str = ""
    author: str = ""
    extra: Extra = None
    injected: tuple[Injection, ...] = ()
    is_error: bool = False
    inner: Trace | None = None
    approval: Approval | None = None

    @property
    def is_rejected(self) -> bool:
        """Whether a decision kept the tool from running. That is no error of the tool."""
        return self.approval is not None and self.approval.decision == "reject"


Step = Message | Thought | ToolCall | ToolResult
"""An action inside an invocation."""


def one_message(messages: Sequence[Message]) -> Message:
    """Return messages that follow one another as one, with a blank line between their texts.

    If a part of it was withheld, the whole is not known.
    """
    if len(messages) == 1:
        return messages[0]
    withheld = next((message.withheld for message in messages if message.withheld), "")
    text = "" if withheld else "\n\n".join(message.text for message in messages if message.text)
    parts = tuple(part for message in messages for part in message.parts)
    return Message(text, parts=parts, withheld=withheld)


def split_reply(steps: Sequence[Step]) -> tuple[tuple[Step, ...], Message | None]:
    """Split the steps of an agent into the steps before the reply and the reply.

    The reply is the last message after the last tool. If several messages follow one another without a tool between
    them, only the last message is the reply.
    """
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        if type(step) is ToolCall or type(step) is ToolResult:
            break
        if type(step) is Message:
            return (*steps[:i], *steps[i + 1 :]), step
    return tuple(steps), None


class Usage(Record, frozen=True):
    """The tokens of one model call, with OpenTelemetry's meaning. None means "not recorded".

    Input tokens include tokens from a cache and tokens of tool results. Output tokens include reasoning tokens.
    `first_token` are the seconds from the request to the first piece of text or sound that the model streamed.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    model: str = ""
    first_token: float | None = None

    @property
    def total_tokens(self) -> int | None:
        """Input and output tokens together, or None if neither is recorded."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)


class Durations(Record, frozen=True):
    """The seconds of an invocation, and how many of them passed in models and in tools. None means "not recorded".

    `first_token` are the seconds from the user's message to the first piece of text or sound that the agent streamed.
    """

    total: float | None = None
    model: float | None = None
    tool: float | None = None
    first_token: float | None = None


class Event(Record, frozen=True):
    """A group of steps in a foreign file: the next `size` steps.

    `grounding` holds the sources that the model's provider searched, as the provider wrote them.
    """

    author: str
    size: int
    extra: Extra = None
    grounding: Json = None


HANDOVER = "hands_over_to"
"""Our own key in the declaration of a tool. It names the agent that the tool hands over to."""


class AgentDetails(Record, frozen=True):
    """An agent of the system under test: its instructions and the declarations of its tools (JSON as declared)."""

    name: str
    instructions: str = ""
    tool_declarations: tuple[dict[str, Any], ...] = ()
    extra: Extra = None

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        """The declarations that have a name, including declarations inside a group (`function_declarations`)."""
        declarations: list[Any] = []
        for declaration in self.tool_declarations:
            group = declaration.get("function_declarations") or declaration.get("functionDeclarations")
            declarations += group if isinstance(group, list) else [declaration]
        return tuple(
            declaration for declaration in declarations if isinstance(declaration, dict) and "name" in declaration
        )

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the declared tools."""
        return tuple(str(tool["name"]) for tool in self.tools)


class About(Record, frozen=True):
    """The agents that worked on an invocation.

    `final_state` is the state of the session after the invocation. A recording keeps only the last state, in its trace.
    """

    agents: tuple[AgentDetails, ...] = ()
    final_state: dict[str, Json] | None = None
    extra: Extra = None


class Origin(Record, frozen=True):
    """The place of an invocation in the traces of its source: its trace, and the root span of its work.

    `response_id` is the id that the provider gave to the last answer of a model. All are empty if they are unknown.
    """

    trace_id: str
    span_id: str = ""
    response_id: str = ""


class Invocation(Record, frozen=True):
    """A user's message and everything that the agent did until its reply.

    The same record also describes an expectation. `steps` are the steps before the reply, in their order. `steps` is
    None if nothing was recorded (or expected) about the steps. An empty tuple means that there were none.
    `final_response` is None if the reply (or the reference) is missing. `created` is in seconds since 1970.
    `unreported_injections` are changes by a simulated environment to calls that have no result among the steps, for
    example because the agent was cut off. They are kept as results without a response. `checks` belong to an
    expectation.
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
    origin: Origin | None = None
    checks: tuple[Check, ...] = ()

    @property
    def query(self) -> str:
        """The text of the user's message."""
        return self.user.text

    @property
    def reply(self) -> str:
        """The text of the reply without thoughts, or an empty text without a reply."""
        return self.final_response.text if self.final_response else ""

    @property
    def inner_invocations(self) -> tuple[Invocation, ...]:
        """The invocations of the agents that answered as tools."""
        inner = inner_traces((self,))
        return tuple(invocation for trace in inner for invocation in trace.invocations) if inner else ()

    @property
    def all_usages(self) -> tuple[Usage, ...] | None:
        """The usages of the invocation and of the agents that answered as tools in it, or None if none is recorded."""
        own = inner_traces((self,))
        inner = [usage for trace in own for invocation in trace.invocations for usage in invocation.all_usages or ()]
        return self.usages if not inner else (*(self.usages or ()), *inner)

    @property
    def inner_tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the agents that answered as tools, and of the agents inside these."""
        return tuple(
            call
            for invocation in self.inner_invocations
            for call in (*invocation.tool_calls, *invocation.inner_tool_calls)
        )

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls in their order. The tuple is empty also if no steps were recorded."""
        return tuple([step for step in self.steps or () if type(step) is ToolCall])


class Trace(Displayed, frozen=True):
    """The invocations of one conversation in their order, and the state at its end.

    `broken` is the cause of the failure that ended the conversation, or empty if nothing failed. If the last
    invocation of a broken trace has no reply, that invocation failed. `ended_by` names the way in which the
    conversation ended. `reward` is the number that a benchmark gave to the conversation, for example 1.0 in tau-bench.
    `outcome` says whether the agent reached its goal. All are empty or None if the recording does not say. `opening`
    are messages of the agent before the first message of the user, for example a greeting. They are not an invocation.
    `history` are the turns before the first recorded invocation, as a later call of the model tells them. Judges see
    them, and nothing scores them. `turns_unknown` says that the recording has no texts that show where turns begin, so
    that all of it is one invocation. `incomplete` is the reason for which calls and turns may be missing in the
    recording, for example because an SDK dropped attributes. A missing call then says nothing about the agent.
    """

    invocations: tuple[Invocation, ...] = ()
    session_id: str = ""
    final_state: dict[str, Json] | None = None
    broken: str = ""
    ended_by: str = ""
    extra: Extra = None
    reward: float | None = None
    outcome: Literal["", "success", "failure"] = ""
    opening: tuple[Message, ...] = ()
    history: tuple[Invocation, ...] = ()
    turns_unknown: bool = False
    incomplete: str = ""

    @property
    def agents(self) -> tuple[AgentDetails, ...]:
        """Every agent of the conversation. If several invocations describe an agent, the last description counts."""
        about = [invocation.about for invocation in self.invocations if invocation.about is not None]
        return tuple({agent.name: agent for own in about for agent in own.agents}.values()) if about else ()

    @property
    def models(self) -> Iterator[str]:
        """The model of each recorded call of the agent, as far as the recording names it."""
        return (usage.model for invocation in self.invocations for usage in invocation.usages or () if usage.model)

    @property
    def inner_incomplete(self) -> str:
        """Why the work of agents that answered as tools may be missing, or an empty text."""
        inner = inner_traces(self.invocations)
        return next(filter(None, (trace.incomplete or trace.inner_incomplete for trace in inner)), "") if inner else ""


def inner_traces(invocations: Iterable[Invocation]) -> list[Trace]:
    """Return the traces of the agents that answered as tools in invocations. Most have none."""
    return [
        step.inner
        for invocation in invocations
        for step in invocation.steps or ()
        if type(step) is ToolResult and step.inner is not None
    ]


def incomplete_trace(trace: Trace, reason: str) -> Trace:
    """Return a trace of which calls and turns may be missing for a reason. A missing reply is then withheld.

    Without a reason, the trace stays as it is.
    """
    if not reason:
        return trace
    unknown = None if trace.broken else Message("", withheld=reason)  # without a reply, a broken trace ends there
    invocations = tuple(
        invocation if _has_reply(invocation) else replace(invocation, final_response=unknown)
        for invocation in trace.invocations
    )
    return replace(trace, invocations=invocations, incomplete=trace.incomplete or reason)


def _has_reply(invocation: Invocation) -> bool:
    """Whether an invocation has a reply that is not blank, or of which it is said why it is missing."""
    reply = invocation.final_response
    return reply is not None and bool(reply.text or reply.parts or reply.withheld)
