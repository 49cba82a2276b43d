"""The lines of a transcript: messages, calls and expectations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.records.contents import placeholder
from fairtrial.records.failure_mode import StepKind
from fairtrial.records.state_delta import read_delta
from fairtrial.records.trace import Invocation, Message, Part, Step, Thought, ToolCall, ToolResult
from fairtrial.reports.changed_files import change_texts, git_text
from fairtrial.reports.numbers import quantity
from fairtrial.reports.transcript import JudgedPart, Transcript, inner_steps, judged_parts
from fairtrial.text.display import call, compact, fold, visible_line
from fairtrial.text.languages import say
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.attempt import Failure
    from fairtrial.records.case import EvalCase

LONGEST = 600
"""A text of more characters is folded, unless everything is asked for."""
_MOST_LINES = 40
_FIRST_LINES = 12
"""A conversation of more lines is folded in its middle, behind so many of its first lines."""


class Line(NamedTuple):
    """One line of a conversation: who or what it is about, its text, and its style in a terminal."""

    label: str
    text: str
    style: str = ""


def transcript_lines(transcript: Transcript, *, full: bool = False) -> Iterator[Line]:
    """Yield the conversation of an attempt, with the reason of each judge below the reply that it judged.

    Long texts are folded with their length. With `full` nothing is folded. Without a recording it yields nothing.
    """
    if transcript.recording is None:
        return
    for line in _lines(transcript):
        own = line._replace(label=say(line.label)) if line.label else line
        yield own if full else own._replace(text=fold(own.text, LONGEST))


def fold_middle(lines: Iterable[Line], hint: str) -> list[Line]:
    """Return the first and the last lines of a long conversation. `hint` says how the others are shown."""
    all_lines = list(lines)
    if len(all_lines) <= _MOST_LINES:
        return all_lines
    last = _MOST_LINES - _FIRST_LINES - 1
    note = Line("…", say("{n} more lines; {hint}", n=len(all_lines) - _FIRST_LINES - last, hint=hint), "dim")
    return [*all_lines[:_FIRST_LINES], note, *all_lines[-last:]]


def _lines(transcript: Transcript) -> Iterator[Line]:
    parts = judged_parts(transcript.result)
    invocations = transcript.invocations
    several = len(invocations) + len(transcript.missing) > 1
    for index, invocation in enumerate(invocations):
        if several:
            yield Line("", say("invocation {n}", n=index + 1), "bold")
        yield from _conversation_lines(invocation, _place(transcript, index))
        expected = transcript.expected(index)
        if expected is not None:
            yield from _make_expected(invocation, expected)
        yield from map(_make_judged, parts.pop(index, ()))
    for index, expected in enumerate(transcript.missing, len(invocations) + 1):
        yield Line("", say("invocation {n}, which did not happen", n=index), "bold")
        yield Line("user", _text(expected.user))
        yield from _expectations(expected)
    if transcript.case is not None:
        yield from _expected_overall(transcript.case)
    yield from _changed_files(transcript)
    failure = transcript.result.failure
    if failure is not None:
        yield _failure(failure)
    for remaining in parts.values():
        yield from map(_make_judged, remaining)


def _changed_files(transcript: Transcript) -> Iterator[Line]:
    """Yield the files that the agent changed, each with its sign and its diff, and the state of its repository."""
    delta = None if transcript.recording is None else read_delta(transcript.recording.trace)
    if delta is None:
        return
    yield from (Line("file", text) for text in change_texts(delta))
    if delta.git is not None:
        yield Line("git", git_text(delta.git))


_Place = tuple[int | StepKind | None, Line | None]
"""A step by its number or its kind, and the line below it that says why it is the decisive one."""


def _place(transcript: Transcript, index: int) -> _Place:
    """Return the decisive step of an attempt if it is in an invocation."""
    failed = transcript.failed
    if failed is None or failed.step is None or failed.step.invocation != index + 1:
        return None, None
    step = failed.step
    return step.step or step.kind, Line("decisive", visible_line(say_sentence(failed.reason)), "bold red")


def _conversation_lines(invocation: Invocation, place: _Place) -> Iterator[Line]:
    lines: list[tuple[int | StepKind, Line]] = [("user", Line("user", _text(invocation.user)))]
    lines += [(number, _step(step)) for number, step in enumerate(invocation.steps or (), 1)]
    reply = invocation.final_response
    lines.append(("reply", Line("agent", say("(no reply)"), "dim") if reply is None else Line("agent", _text(reply))))
    steps = dict(enumerate(invocation.steps or (), 1))
    for own, line in lines:
        yield from _inner_lines(steps.get(own) if isinstance(own, int) else None)
        yield line
        if own == place[0] and place[1] is not None:
            yield place[1]


def _inner_lines(step: Step | None, depth: int = 1) -> Iterator[Line]:
    """Yield the steps inside of a tool before its result, indented by their depth, with the agent of each."""
    for own in inner_steps(step) if isinstance(step, ToolResult) else ():
        yield from _inner_lines(own, depth + 1)
        line = _step(own)
        author = f"{own.author}: " if own.author else ""
        yield line._replace(text=f"{'  ' * depth}↳ {author}{line.text}")


def _step(step: Step) -> Line:
    if isinstance(step, Message):
        return Line("agent", _text(step))
    if isinstance(step, Thought):
        return Line("thought", placeholder(step) if step.withheld else step.text, "dim")
    if isinstance(step, ToolCall):
        return Line("call", f"{step.name}{placeholder(step)}" if step.withheld else call(step.name, step.args))
    changes = ", ".join(injection.effect for injection in step.injected)
    response = placeholder(step) if step.withheld else compact(step.response)
    text = f"{step.name}: {response}" + (f" (injected: {changes})" if changes else "")
    text += f" (approval: {step.approval.decision}, {step.approval.by})" if step.approval is not None else ""
    return Line("error", text, "red") if step.is_error else Line("result", text)


def _text(message: Message) -> str:
    text = placeholder(message) if message.withheld else message.text
    return " ".join(filter(None, (text, *map(_attachment, message.parts)))) or say("(empty)")


def _attachment(part: Part) -> str:
    return f"[{' '.join(filter(None, (part.mime_type or 'attachment', part.name)))}]"


def _make_expected(actual: Invocation, expected: Invocation) -> Iterator[Line]:
    """Yield the expectations that were not met, and one line about the others."""
    same_calls = expected.steps is None or _calls(expected) == _calls(actual)
    same_reply = expected.final_response is None or expected.reply == actual.reply
    if not same_calls:
        yield from _expected_calls(expected)
    if not same_reply:
        yield Line("expected", expected.reply or say("(an empty reply)"), "cyan")
    same_items = [
        name
        for name, is_expected, is_same in (
            ("calls", expected.steps is not None, same_calls),
            ("reply", expected.final_response is not None, same_reply),
        )
        if is_expected and is_same
    ]
    if same_items:
        yield Line("expected", say(f"the same {' and '.join(same_items)}"), "dim")


def _calls(invocation: Invocation) -> list[tuple[str, object]]:
    return [(step.name, step.args) for step in invocation.tool_calls]


def _expectations(expected: Invocation) -> Iterator[Line]:
    if expected.steps is not None:
        yield from _expected_calls(expected)
    if expected.final_response is not None:
        yield Line("expected", expected.reply, "cyan")


def _expected_calls(expected: Invocation) -> Iterator[Line]:
    for step in expected.tool_calls:
        yield Line("expected", call(step.name, step.args), "cyan")
    if not expected.tool_calls:
        yield Line("expected", say("no calls"), "cyan")


def _expected_overall(case: EvalCase) -> Iterator[Line]:
    """Yield the expectations of the conversation as a whole."""
    if case.scenario is not None:
        yield Line("scenario", case.scenario.conversation_plan, "cyan")
    for step in case.expected_calls or ():
        yield Line("expected", call(step.name, step.args), "cyan")
    if case.final_session_state is not None:
        yield Line("expected", say("final state {state}", state=compact(case.final_session_state)), "cyan")


def _failure(failure: Failure) -> Line:
    return Line("error", f"{say(failure.side)}: {say_sentence(failure.cause)}", "magenta")


def _make_judged(part: JudgedPart) -> Line:
    value = quantity(part.criterion, part.score.value)
    quotes = "".join(f" “{quote.text}”" for quote in part.score.quotes)
    place = f" {part.place}" if part.place else ""
    reason = part.score.reason if part.has_own_words else say_sentence(part.score.reason)
    return Line("judge", f"{part.criterion}{place} {value}: {reason}{quotes}".rstrip(": "), "yellow")
