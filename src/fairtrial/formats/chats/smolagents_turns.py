"""Tell user messages from observations in smolagents logs, which give both the role of the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.formats.message_entries import Entry, UserMessage, read_response
from fairtrial.records.trace import Message, Step, Thought, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_TASK = "New task:\n"
"""The first words of each turn of a user. Every other message with the user's role comes from smolagents itself."""
_OBSERVATION = "Observation:\n"
_ERRORS = ("Error:\n", "Call id: ")
_FIRST_PLAN = "You are a world expert at analyzing a situation"
"""The first words of the only message in the request for the first plan of a run. The task stands in its middle."""
_TASK_OF_PLAN = "Here is your task:\n```\n"
_END_OF_TASK = "\n```\n"
_NEXT_PLAN = "Now write your updated facts below"
STARTS = (_TASK, _FIRST_PLAN)
_CALLS = "Calling tools:\n"
_CALL = "type:function,function:"
"""The words before each call in the list of calls, in the form of `_loosen`."""
_CODE = "{name:python_interpreter,arguments:"
"""The beginning of the call in which the code of an answer stands."""
_CODE_ENDS = ("</code>", "```")
"""What smolagents writes behind an answer that the provider cut before it."""
_UNQUOTED = str.maketrans("", "", "\"'\\")
CALLS_AS_TEXT = (
    "smolagents writes calls as text into its messages; score its spans instead, for example those of OpenInference"
)
ANSWER = "final_answer"
"""The tool with which an agent of smolagents replies to the user."""


def is_smolagents(entries: Iterable[Entry]) -> bool:
    """Whether messages are a request of smolagents, by the first message with the role of the user."""
    for entry in entries:
        if isinstance(entry, UserMessage):
            return entry.message.text.startswith(STARTS)
    return False


def turns_of_users(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the messages of a request of smolagents in which only the tasks of users are turns."""
    return tuple(turn for entry in entries for turn in _turns(entry))


def has_calls_as_text(entries: Iterable[Entry]) -> bool:
    """Whether a message tells of calls in a text. It is the `repr` of Python objects, which nobody reads as data."""
    return any(isinstance(entry, Message) and _CALLS in entry.text for entry in entries)


def drop_additions(text: str, calls: Iterable[ToolCall], answers: Sequence[str]) -> str:
    """Return a repeated answer without the additions of smolagents: the list of its calls and the mark behind its code.

    The list stays if a call in it is none of `calls`, and neither the reply nor the code in one of `answers`, the texts
    of answers. It is the `repr` of Python objects, which is compared with that of the calls and never parsed. Quotes,
    spaces and cases make no difference.
    """
    before, mark, listed = text.rpartition(_CALLS)
    if mark and not _tells_only(_loosen(listed), calls, answers):
        return text
    answer = (before if mark else text).rstrip()
    return next((answer.removesuffix(end) for end in _CODE_ENDS if answer.endswith(end)), answer)


def own_steps(request: Sequence[Entry], steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps of the answer to a request of smolagents.

    A plan is a thought. The call of the tool `final_answer` is the reply.
    """
    last = next((entry.message.text for entry in reversed(request) if type(entry) is UserMessage), "")
    is_plan = last.startswith(_FIRST_PLAN) or f"\n{_NEXT_PLAN}" in f"\n{last}"
    return tuple(_own_step(step, is_plan=is_plan) for step in steps)


def answer_text(value: Json) -> str:
    """Return the answer to the user as a text. It may be any value."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _tells_only(listed: str, calls: Iterable[ToolCall], answers: Sequence[str]) -> bool:
    first, *entries = listed.split(_CALL)
    if not entries or not first.startswith("[{id:") or not entries[-1].endswith("}}]"):
        return False
    code = entries[-1].removeprefix(_CODE).removesuffix("}}]")
    if len(entries) == 1 and entries[0].startswith(_CODE) and any(code in _loosen(repr(answer)) for answer in answers):
        return True
    pairs = [(call.name, call.args) for call in calls] + [(ANSWER, {"answer": answer}) for answer in answers]
    expected = [_loosen(f"{{'name': {name!r}, 'arguments': {args!r}}}") for name, args in pairs]
    beginnings = tuple(f"{call}}},{{id:" for call in expected)
    return all(entry.startswith(beginnings) for entry in entries[:-1]) and entries[-1].removesuffix("}]") in expected


def _loosen(text: str) -> str:
    return "".join(text.split()).translate(_UNQUOTED).lower()


def _own_step(step: Step, *, is_plan: bool) -> Step:
    if is_plan and isinstance(step, Message):
        return Thought(step.text, step.author, withheld=step.withheld)
    if isinstance(step, ToolCall) and step.name == ANSWER and not step.withheld:
        return Message(answer_text(step.args.get("answer", step.args)), step.author)
    return step


def _turns(entry: Entry) -> Iterator[Entry]:
    """Yield an entry, or the observation and the task in it: providers get neighbours of one role as one message."""
    if type(entry) is not UserMessage:
        yield entry
        return
    text = entry.message.text
    if text.startswith(_FIRST_PLAN):
        task = text.partition(_TASK_OF_PLAN)[2].rpartition(_END_OF_TASK)[0]
        yield replace(entry, message=replace(entry.message, text=task or text))
        return
    before, mark, task = f"\n{text}".rpartition(f"\n{_TASK}")
    observation = (before if mark else task).removeprefix("\n").partition(f"\n{_NEXT_PLAN}")[0]
    if observation.startswith((_OBSERVATION, *_ERRORS)):
        response = read_response(observation.removeprefix(_OBSERVATION))
        yield ToolResult("", response, is_error=observation.startswith(_ERRORS))
    if mark:
        yield replace(entry, message=replace(entry.message, text=task))
