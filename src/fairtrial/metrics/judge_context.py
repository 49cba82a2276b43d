"""The texts of a conversation for judge prompts. Their names are ours, and their content is the recorded text."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from fairtrial.records.contents import find_media, name_media, placeholder, readable
from fairtrial.records.state_delta import read_delta
from fairtrial.records.trace import AgentDetails, Invocation, Message, Part, ToolCall, ToolResult, Trace
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.records.record import Json

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The kinds of pictures that the models of all large providers see."""
SOUNDS = ("audio/wav", "audio/mpeg")
"""The kinds of sounds that models which hear take."""
MOST_PICTURES = 6
_LONGEST_PICTURES = 6_000_000
"""Characters of all pictures and sounds in base64 that a judge sees."""
_LONGEST_FILE, _LONGEST_FILES, _MOST_FILES = 8_000, 40_000, 50
"""Characters of one file and of all files, and the number of files, that a judge sees."""

Texts = dict[str, str]
"""Texts by name, in the order in which the judge sees them. For example, `{"reply 1": "It is sunny."}`."""


def agents_at(trace: Trace, index: int | None = None) -> tuple[AgentDetails, ...]:
    """Return the agents of the invocation at `index`, or all agents of the trace if the invocation names none."""
    about = trace.invocations[index].about if index is not None else None
    return about.agents if about and about.agents else trace.agents


def instructions(agents: Sequence[AgentDetails]) -> Texts:
    """Return the instructions of every agent that has some."""
    return {
        f"instructions of agent {number}": f"agent: {agent.name}\n{agent.instructions}"
        for number, agent in enumerate(agents, 1)
        if agent.instructions
    }


def tools(agents: Sequence[AgentDetails]) -> Texts:
    """Return the tool declarations of every agent that has some, as JSON."""
    return {
        f"tools of agent {number}": "\n".join(map(compact, agent.tool_declarations))
        for number, agent in enumerate(agents, 1)
        if agent.tool_declarations
    }


def opening(trace: Trace) -> Texts:
    """Return the messages of the agent before the first message of the user."""
    return {f"opening message {number}": readable(message) for number, message in enumerate(trace.opening, 1)}


def user_message(invocation: Invocation, index: int) -> Texts:
    """Return the user's message of the invocation at `index`."""
    return {f"user message {index + 1}": readable(invocation.user)}


def actions(
    invocation: Invocation,
    index: int,
    *,
    messages: bool,
    before_step: int | None = None,
    pictures: Sequence[Part] = (),
) -> Texts:
    """Return the agent's actions before its reply: calls, results, grounding and, on request, its messages.

    `before_step` cuts the actions off before that step. The grounding of the step itself is still included. Pictures
    and sounds in results are named. `pictures` are shown beside the texts.
    """
    texts: Texts = {}
    number = index + 1
    for place, step in enumerate((invocation.steps or ())[:before_step], 1):
        if isinstance(step, ToolCall):
            args = placeholder(step) if step.withheld else step.args
            texts[f"tool call {number}.{place}"] = compact({"tool": step.name, "args": args})
        elif isinstance(step, ToolResult):
            response = placeholder(step) if step.withheld else name_media(step.response, pictures)
            texts[f"tool result {number}.{place}"] = compact({"tool": step.name, "response": response})
        elif isinstance(step, Message) and messages:
            texts[f"interim message {number}.{place}"] = readable(step)
    for place, grounding in enumerate(_grounding(invocation, before_step), 1):
        texts[f"grounding {number}.{place}"] = compact(grounding)
    return texts


def _grounding(invocation: Invocation, before_step: int | None) -> list[Json]:
    """Return the grounding of all events that do not begin after step `before_step`."""
    events = invocation.events or ()
    starts = accumulate((event.size for event in events), initial=0)
    return [
        event.grounding
        for event, start in zip(events, starts, strict=False)
        if event.grounding and (before_step is None or start <= before_step)
    ]


def reply(invocation: Invocation, index: int, *, interim: bool = False, pictures: Sequence[Part] = ()) -> Texts:
    """Return the agent's reply, behind its earlier messages if `interim`. `pictures` are shown beside it."""
    return {f"reply {index + 1}": full_reply(invocation, interim=interim, pictures=pictures)}


def find_pictures(invocation: Invocation, *, with_reply: bool = True) -> tuple[Part, ...]:
    """Return the pictures and sounds in a reply and in the results of tools, up to a bound.

    Those of the reply come first, for example pictures that a coding agent left in its workspace, and then those of
    the latest results, for example screenshots.
    """
    pictures: list[Part] = []
    budget = _LONGEST_PICTURES
    reply = invocation.final_response
    parts = list(reply.parts) if reply is not None and with_reply else []
    for step in reversed(invocation.steps or ()):
        if isinstance(step, ToolResult):
            parts += find_media(step.response)
    for part in dict.fromkeys(parts):
        is_shown = part.mime_type in PICTURES or part.mime_type in SOUNDS
        if is_shown and 0 < len(part.data) <= budget and len(pictures) < MOST_PICTURES:
            try:
                base64.b64decode(part.data, validate=True)
            except ValueError:
                continue
            budget -= len(part.data)
            pictures.append(part)
    return tuple(pictures)


def produced_files(trace: Trace, index: int) -> Texts:
    """Return the files that a coding agent left in its workspace, beside its last reply. Their texts are bounded."""
    delta = read_delta(trace) if index == len(trace.invocations) - 1 else None
    if delta is None:
        return {}
    texts: Texts = {}
    budget = _LONGEST_FILES
    for number, file in enumerate(delta.files[:_MOST_FILES], 1):
        excerpt = file.diff[: min(budget, _LONGEST_FILE)]
        budget -= len(excerpt)
        ending = "\n(the rest is not shown)" if file.is_cut or len(excerpt) < len(file.diff) else ""
        texts[f"file {number}"] = f"{file.path}: {file.change}, {file.size} bytes\n{excerpt}{ending}"
    if delta.git is not None:
        commits = "\n".join(delta.git.commits) or "no new commit"
        texts["repository"] = f"branch {delta.git.branch}, {delta.git.uncommitted} uncommitted changes\n{commits}"
    omitted = delta.omitted + max(0, len(delta.files) - _MOST_FILES)
    if omitted or not delta.files:
        texts["other files"] = f"{omitted} more files changed" if omitted else "the agent changed no file"
    return texts


def full_reply(invocation: Invocation, *, interim: bool, pictures: Sequence[Part] = ()) -> str:
    """Return the text of the reply, behind the agent's earlier messages if `interim`, one message a line."""
    messages = [readable(step) for step in invocation.steps or () if isinstance(step, Message)] if interim else []
    return "\n".join([*messages, readable(invocation.final_response, pictures)])


def history(trace: Trace, *, with_actions: bool, with_replies: bool) -> Texts:
    """Return the turns before the first recorded invocation. A judge may need them, and nothing scores them."""
    texts: Texts = {}
    for place, invocation in enumerate(trace.history):
        texts |= user_message(invocation, place)
        if with_actions:
            texts |= actions(invocation, place, messages=False)
        if with_replies:
            texts |= reply(invocation, place)
    return {f"history: {name}": text for name, text in texts.items()}


def earlier(trace: Trace, index: int, *, with_actions: bool = True, with_replies: bool = True) -> Texts:
    """Return the conversation before the invocation at `index`: messages, calls, results and replies in order."""
    texts = opening(trace) if with_replies else {}
    texts |= history(trace, with_actions=with_actions, with_replies=with_replies)
    for place, invocation in enumerate(trace.invocations[:index]):
        texts |= user_message(invocation, place)
        if with_actions:
            texts |= actions(invocation, place, messages=False)
        if with_replies:
            texts |= reply(invocation, place)
    return texts


def all_replies(trace: Trace) -> str:
    """Return the replies of a conversation, one a line."""
    return "\n".join(readable(invocation.final_response) for invocation in trace.invocations)


def whole(trace: Trace) -> Texts:
    """Return the whole conversation."""
    texts = opening(trace) | history(trace, with_actions=True, with_replies=True)
    for index, invocation in enumerate(trace.invocations):
        texts |= user_message(invocation, index) | actions(invocation, index, messages=True) | reply(invocation, index)
    return texts
