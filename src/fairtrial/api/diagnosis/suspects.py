"""Suspects of a failed case beside the agent, each with the same case without it."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from fairtrial.metrics.tool_outages import tool_outages
from fairtrial.records.trace import Invocation, ToolCall, ToolResult, Trace
from fairtrial.simulate.counterfactuals import AlteredEnvironments, RepeatedUsers, call_key, exchange
from fairtrial.simulate.environment import SimulatedEnvironments
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.planned_case import PlannedCase
    from fairtrial.records.attempt import Recording
    from fairtrial.records.record import Json
    from fairtrial.records.result import CaseResult
    from fairtrial.records.score import FaultSide

_WORD = re.compile(r"\w(?:[\w.,:/-]*\w)?")
_LONGEST_VALUE = 6
"""Words of the longest value that is compared. Longer differences are other sentences and not other values."""


class Suspect(NamedTuple):
    """A suspect: its side, what is removed in words, and the case without it.

    `case` is None if it cannot be removed, and `removal` then says why.
    """

    side: FaultSide
    removal: str
    case: PlannedCase | None


class FailedCase(NamedTuple):
    """A case that failed, one of its failed attempts, and the other recordings of the run."""

    planned_case: PlannedCase
    result: CaseResult
    recording: Recording
    answers: Mapping[str, Json]
    passing: Recording | None


def find_suspects(failed: FailedCase) -> list[Suspect]:
    """Return the suspects in a failed attempt, in the order of the sides."""
    return [
        *_outages(failed),
        *_injections(failed),
        *_simulated_user(failed),
        *_contradictions(failed),
    ]


def collect_answers(recordings: Iterator[tuple[int, Recording]], cases: Sequence[PlannedCase]) -> dict[str, Json]:
    """Return the answers of tools by their calls: of the references, and of attempts in which nothing was injected."""
    answers: dict[str, Json] = {}
    expected = (Trace(case.case.conversation or ()) for case in cases)
    for trace in itertools.chain((recording.trace for _, recording in recordings), expected):
        for call, result in _answered_calls(trace.invocations):
            if not result.is_error and not result.injected:
                answers[call_key(call.name, call.args)] = result.response
    return answers


def _answered_calls(invocations: Sequence[Invocation]) -> Iterator[tuple[ToolCall, ToolResult]]:
    """Yield each result with its call: that with the same id, or else the next call of the same tool."""
    for invocation in invocations:
        calls = list(invocation.tool_calls)
        for step in invocation.steps or ():
            if not isinstance(step, ToolResult):
                continue
            candidates = [call for call in calls if call.name == step.name]
            same = [call for call in candidates if call.id and call.id == step.id] or candidates
            if same:
                calls.remove(same[0])
                yield same[0], step


def _outages(failed: FailedCase) -> Iterator[Suspect]:
    """Yield the tools that were down, with a recorded answer in their place."""
    down = [outage.result for outage in tool_outages(failed.recording.trace)]
    if not down:
        return
    calls = [call for call, result in _answered_calls(failed.recording.trace.invocations) if result in down]
    recorded_answers = {
        key: failed.answers[key] for call in calls if (key := call_key(call.name, call.args)) in failed.answers
    }
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    if recorded_answers:
        case = _with_environment(failed.planned_case, answers=recorded_answers)
        yield Suspect("infrastructure", f"with the recorded answer of {names}, which was down", case)
    else:
        problem = f"{names} was down, and neither the reference nor another attempt holds its answer"
        yield Suspect("infrastructure", problem, None)


def _injections(failed: FailedCase) -> Iterator[Suspect]:
    """Yield the injections, with an environment that injects nothing. An environment in Python is left out."""
    injections, environments = failed.result.injections, failed.planned_case.environments
    if injections and environments is not None:
        tools = ", ".join(dict.fromkeys(f"{own.injected.effect} into {own.tool}" for own in injections))
        rest = environments.without_injections() if isinstance(environments, SimulatedEnvironments) else None
        case = replace(failed.planned_case, environments=rest)
        yield Suspect("environment", f"without the injection ({tools})", case)


def _simulated_user(failed: FailedCase) -> Iterator[Suspect]:
    """Yield the simulated user, with the messages of an attempt that passed in its place."""
    case = failed.planned_case
    if case.case.conversation is not None:
        return
    if failed.passing is None:
        yield Suspect("simulator", "no attempt passed whose user could take the place of the simulated user", None)
        return
    messages = [invocation.query for invocation in failed.passing.trace.invocations]
    users = RepeatedUsers({case.case.id: messages})
    removal = f"with the user of attempt {failed.passing.attempt}, which passed"
    yield Suspect("simulator", removal, replace(case, users=users))


def _contradictions(failed: FailedCase) -> Iterator[Suspect]:
    """Yield values that a tool and the reference state differently, with the value of the reference in the answers.

    If the agent then passes, it repeats the tool faithfully, and the tool or the reference is wrong.
    """
    pairs: dict[tuple[str, str], None] = {}
    expected = failed.planned_case.case.conversation or ()
    for actual, reference in zip(failed.recording.trace.invocations, expected, strict=False):
        steps = [step for step in actual.steps or () if isinstance(step, ToolResult)]
        results = [step.response for step in steps if not step.injected]
        for own, value in _differences(actual.reply, reference.reply):
            if any(exchange(result, [(own, value)]) != result for result in results):
                pairs[own, value] = None
    if pairs:
        shown = ", ".join(f"{shorten(value, 40)!r} for {shorten(own, 40)!r}" for own, value in pairs)
        case = _with_environment(failed.planned_case, values=tuple(pairs))
        yield Suspect("expectation", f"with the value of the reference in the answers of tools ({shown})", case)


def _differences(actual: str, expected: str) -> Iterator[tuple[str, str]]:
    """Yield the short texts of a reply that another text of the reference stands for."""
    own, reference = list(_WORD.finditer(actual)), list(_WORD.finditer(expected))
    matcher = difflib.SequenceMatcher(
        None, [word[0].casefold() for word in own], [word[0].casefold() for word in reference], autojunk=False
    )
    for kind, i, j, k, end in matcher.get_opcodes():
        if kind == "replace" and max(j - i, end - k) <= _LONGEST_VALUE:
            yield actual[own[i].start() : own[j - 1].end()], expected[reference[k].start() : reference[end - 1].end()]


def _with_environment(case: PlannedCase, **changes: Any) -> PlannedCase:
    return replace(case, environments=AlteredEnvironments(**changes, inner=case.environments))
