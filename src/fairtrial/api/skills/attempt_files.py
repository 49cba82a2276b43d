"""The files of an attempt in the layout of agentskills.io: its grades, its time, and the files that the agent left."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.formats.skills.check_types import escapes
from fairtrial.records.score import Score
from fairtrial.records.state_delta import FileChange, read_delta
from fairtrial.records.trace import Invocation, Message, ToolResult

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.result import CaseResult
    from fairtrial.reports.transcript import Transcript

_TOKENS, _SECONDS = "token_usage_v1", "invocation_duration_v1"
_REPLY, _FAILURE = "reply.md", "failure.md"
_DIGITS = 4


class GradedAttempt(NamedTuple):
    """An attempt with its number, its grades, its tokens and its seconds.

    `grading` is None if no assertion was decided. Tokens and seconds are None if they are not recorded.
    """

    number: int
    grading: dict[str, Any] | None
    tokens: int | None
    seconds: float | None

    @property
    def timing(self) -> dict[str, Any]:
        """The content of timing.json. A missing number is left out, because programs compute with all of them."""
        fields: dict[str, Any] = {} if self.tokens is None else {"total_tokens": self.tokens}
        if self.seconds is not None:
            fields |= {"duration_ms": round(self.seconds * 1000), "total_duration_seconds": round(self.seconds, 3)}
        return fields


def grade_attempt(transcript: Transcript) -> GradedAttempt:
    """Return the grades of an attempt, with the evidence for each."""
    result = transcript.result
    tokens, seconds = _value(result, _TOKENS), _value(result, _SECONDS)
    rounded = None if tokens is None else round(tokens)
    return GradedAttempt(result.attempt, _grading(transcript), rounded, seconds)


def _grading(transcript: Transcript) -> dict[str, Any] | None:
    """Return the content of grading.json. The guide and skill-creator name the list of assertions differently.

    An assertion without a verdict has neither passed nor failed, so that it stands among the notes.
    """
    result = transcript.result
    assertions = list(_assertions(result, transcript.case))
    verdicts = [
        {"text": part.title, "passed": part.value == 1, "evidence": part.reason or ""}
        for part in assertions
        if part.value is not None
    ]
    if not verdicts:
        return None
    passed = sum(bool(assertion["passed"]) for assertion in verdicts)
    summary = {"passed": passed, "failed": len(verdicts) - passed, "total": len(verdicts)}
    remarks = [f"not decided: {part.title}: {part.reason}" for part in assertions if part.value is None]
    if result.failure is not None:
        remarks.append(f"the attempt broke off: {result.failure.cause}")
    return {
        "assertion_results": verdicts,
        "expectations": verdicts,
        "summary": {**summary, "pass_rate": round(passed / len(verdicts), _DIGITS)},
        "execution_metrics": _metrics(transcript.invocations),
        "user_notes_summary": {"uncertainties": [], "needs_review": remarks, "workarounds": []},
    }


def _assertions(result: CaseResult, case: EvalCase | None) -> Iterator[Score]:
    for outcome in result.outcomes:
        if outcome.threshold is not None and outcome.score.applicable:
            yield from _leaves(outcome.score, outcome.criterion, case)


def _leaves(score: Score, name: str, case: EvalCase | None) -> Iterator[Score]:
    if score.parts:
        for part in score.parts:
            yield from _leaves(part, assertion_text(part, case) or name, case)
    elif score.applicable:
        yield Score(score.value, score.reason, label=name)


def assertion_text(part: Score, case: EvalCase | None) -> str:
    """Return the text of the rubric, or the name of the check, that a part of a score belongs to."""
    if case is not None and part.key is not None and part.key.kind == "rubric":
        return next((rubric.text for rubric in case.rubrics if rubric.id == part.key.id), part.title)
    return part.title


def _metrics(invocations: Iterable[Invocation]) -> dict[str, Any]:
    calls: Counter[str] = Counter()
    errors = 0
    reply = ""
    for invocation in invocations:
        calls.update(call.name for call in (*invocation.tool_calls, *invocation.inner_tool_calls))
        errors += sum(isinstance(step, ToolResult) and bool(step.is_error) for step in invocation.steps or ())
        reply += invocation.reply
    return {
        "tool_calls": dict(calls),
        "total_tool_calls": calls.total(),
        "errors_encountered": errors,
        "output_chars": len(reply),
    }


def _value(result: CaseResult, criterion: str) -> float | None:
    return next((outcome.score.value for outcome in result.outcomes if outcome.criterion == criterion), None)


def output_files(transcript: Transcript) -> Iterator[tuple[str, bytes]]:
    """Yield the reply of an attempt and the files that the agent left, as far as the recording holds them.

    A new file is written as it is, and a changed file as its diff. A path that leads out of its folder is left out.
    """
    delta = read_delta(transcript.recording.trace) if transcript.recording is not None else None
    contents: dict[str, bytes] = {}
    for change in delta.files if delta is not None else ():
        if (name := _name(change)) and not escapes(name):
            contents[name] = change.diff.encode("utf-8", "replace")
    replies = [invocation.final_response for invocation in transcript.invocations if invocation.final_response]
    for reply in replies:
        contents |= _pictures(reply)
    own = {_REPLY: "\n\n".join(reply.text for reply in replies)}
    if transcript.result.failure is not None:
        own[_FAILURE] = transcript.result.failure.cause
    for name, text in own.items():
        contents[_free_name(name, contents)] = text.encode("utf-8", "replace")
    folders = {parent for name in contents for parent in _parents(name)}
    yield from ((name, content) for name, content in contents.items() if name not in folders)


def _name(change: FileChange) -> str:
    """Return the name of the file that shows a change, or an empty text if nothing can be shown."""
    if change.change == "added" and not change.is_cut and (change.diff or change.size == 0):
        return change.path
    if not change.diff:
        return ""
    return f"{change.path}.{'beginning' if change.change == 'added' else 'diff'}.txt"


def _pictures(reply: Message) -> dict[str, bytes]:
    pictures = {}
    for part in reply.parts:
        if part.name and part.data and not escapes(part.name):
            try:
                pictures[part.name] = base64.b64decode(part.data, validate=True)
            except binascii.Error:
                continue
    return pictures


def _free_name(name: str, taken: dict[str, bytes]) -> str:
    """Return a name at the top of the folder that no file and no folder of the agent has, in whatever case."""
    tops = {path.partition("/")[0].lower() for path in taken}
    number, own = 1, name
    while own.lower() in tops:
        number += 1
        own = name.replace(".", f"-{number}.", 1)
    return own


def _parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    yield from ("/".join(parts[:number]) for number in range(1, len(parts)))
