"""The criteria of skills: the checks that need no model, and whether an agent used the skill when it should."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial.metrics.pairing import unknown_calls
from fairtrial.records.score import PartKey, Score, average_parts
from fairtrial.records.state_delta import StateDelta, read_delta
from fairtrial.records.trace import Invocation, ToolCall, ToolResult, Trace
from fairtrial.text.text_decisions import TEXT_CHECKS, Decision, decide_number, decide_text

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json
    from fairtrial.records.workspace import Order, WorkspaceCheck

_SKILL_TOOLS = ("skill", "activate_skill", "use_skill", "load_skill")
_SKILL_ARGUMENTS = ("skill", "name", "skill_name", "command")
_SKILL_FILE = re.compile(r"([^\s/\\'\"]{1,100})[/\\]SKILL\.md\b")


@dataclass(frozen=True, slots=True)
class WorkspaceChecks:
    """`workspace_checks_v1`: the share of the checks of a workspace that hold, 0..1. No model is asked."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Decide the checks of the reply and of the steps, and read the others from the state delta."""
        checks = case.workspace.checks if case.workspace is not None else ()
        if not checks:
            return Score(applicable=False, reason="the case has no checks of a workspace")
        if trace.broken:
            return Score(None, trace.broken)
        delta = read_delta(trace)
        parts = [_part(check, number, trace, delta) for number, check in enumerate(checks, 1)]
        return average_parts(parts)


def _part(check: WorkspaceCheck, number: int, trace: Trace, delta: StateDelta | None) -> Score:
    passed, reason = _decide(check, trace, delta)
    value = None if passed is None else float(passed)
    key = PartKey("check", id=f"check {number}")
    return Score(value, reason, label=check.title, key=key, side="infrastructure" if passed is None else None)


def _decide(check: WorkspaceCheck, trace: Trace, delta: StateDelta | None) -> Decision:
    if check.type in TEXT_CHECKS and not check.path:
        withheld = next((item.final_response.withheld for item in trace.invocations if item.final_response), "")
        return Decision(None, withheld) if withheld else decide_text(check, _reply(trace))
    if check.type in ("exists", "absent", "changes_only", "command", *TEXT_CHECKS):
        results = [result for result in (delta.checks if delta is not None else ()) if result.check == check]
        if not results:
            return Decision(None, "the recording does not hold the result: the check needs a workspace")
        return Decision(results[0].passed, results[0].reason)
    if trace.incomplete:
        return Decision(None, trace.incomplete)
    return _decide_steps(check, trace)


def _reply(trace: Trace) -> str:
    return "\n".join(invocation.reply for invocation in trace.invocations)


def _decide_steps(check: WorkspaceCheck, trace: Trace) -> Decision:
    if check.type == "tokens":
        return _decide_tokens(check, trace)
    if check.type == "seconds":
        return _decide_seconds(check, trace)
    if unknown := unknown_calls(trace.invocations):
        return Decision(None, unknown)
    calls = [call.name for call in _calls(trace)]
    if check.type == "calls":
        own = [name for name in calls if not check.tools or name in check.tools]
        return decide_number(check, len(own), "calls")
    if check.type == "avoids_tools":
        tools = [tool for tool in check.tools if tool in calls]
        return Decision(not tools, f"called {', '.join(tools)}" if tools else "called none of them")
    names = [*used_skills(trace)] if check.type == "uses_skills" else calls
    return _in_order(check.tools, names, check.order)


def _decide_seconds(check: WorkspaceCheck, trace: Trace) -> Decision:
    """Decide by the time of all turns. If some have none, only a limit that the others pass is decided."""
    totals = [item.durations.total if item.durations is not None else None for item in trace.invocations]
    seconds = [total for total in totals if total is not None]
    is_too_long = check.at_most is not None and sum(seconds) > check.at_most
    is_long_enough = check.at_most is None and check.at_least is not None and sum(seconds) >= check.at_least
    if len(seconds) < len(totals) and not is_too_long and not is_long_enough:
        return Decision(None, f"{len(totals) - len(seconds)} of {len(totals)} turns have no time")
    return decide_number(check, sum(seconds), "seconds") if seconds else Decision(None, "no time is recorded")


def _decide_tokens(check: WorkspaceCheck, trace: Trace) -> Decision:
    totals = [usage.total_tokens for item in trace.invocations for usage in item.all_usages or ()]
    numbers = [total for total in totals if total is not None]
    is_too_many = check.at_most is not None and sum(numbers) > check.at_most  # the others can only add to it
    if len(numbers) < len(totals) and not is_too_many:
        return Decision(None, f"{len(totals) - len(numbers)} of {len(totals)} model calls have no tokens")
    return decide_number(check, sum(numbers), "tokens") if numbers else Decision(None, "no tokens are recorded")


def _calls(trace: Trace) -> Iterator[ToolCall]:
    for invocation in trace.invocations:
        yield from invocation.tool_calls
        yield from invocation.inner_tool_calls


def _in_order(expected: Sequence[str], names: Sequence[str], order: Order) -> Decision:
    name_list = ", ".join(names[:20]) or "nothing"
    if order == "exact":
        return Decision(list(expected) == list(names), f"used {name_list}")
    if order == "in_order":
        rest = iter(names)
        missing = next((name for name in expected if name not in rest), None)
        return Decision(missing is None, f"{missing} is missing in {name_list}" if missing else f"used {name_list}")
    missing = next((name for name in expected if expected.count(name) > names.count(name)), None)
    return Decision(missing is None, f"{missing} is missing in {name_list}" if missing else f"used {name_list}")


@dataclass(frozen=True, slots=True)
class SkillTrigger:
    """`skill_trigger_v1`: 1 if the agent used the skill exactly when the case says that it should, else 0."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Look for the skill among the calls: the harness's own tool, or a read of its SKILL.md."""
        own = case.workspace
        if own is None or own.triggers is None:
            return Score(applicable=False, reason="the case does not say whether the skill should be used")
        if own.variant == "without":
            return Score(applicable=False, reason="the skill is not installed")
        if not own.skill:
            return Score(None, "the case does not name its skill", side="expectation")
        if trace.broken or trace.incomplete:
            return Score(None, trace.broken or trace.incomplete)
        if unknown := unknown_calls(trace.invocations):
            return Score(None, unknown, side="infrastructure")
        names = list(dict.fromkeys(used_skills(trace)))
        triggered = own.skill in names
        other_names = [name for name in names if name != own.skill]
        summary = f"used {own.skill}" if triggered else f"did not use {own.skill}"
        reason = summary + (f", and used {', '.join(other_names)}" if other_names else "")
        return Score(float(triggered == own.triggers), reason, label="triggered" if triggered else "quiet")


def used_skills(trace: Trace) -> Iterator[str]:
    """Yield the names of the skills that an agent used, in the order of its calls. Failed calls do not count."""
    for invocation in trace.invocations:
        yield from _yield_skills(invocation)


def _yield_skills(invocation: Invocation) -> Iterator[str]:
    failed = {step.id for step in invocation.steps or () if isinstance(step, ToolResult) and step.is_error and step.id}
    for call in (*invocation.tool_calls, *invocation.inner_tool_calls):
        if call.id and call.id in failed:
            continue
        if call.name.lower() in _SKILL_TOOLS:
            value = next((call.args[key] for key in _SKILL_ARGUMENTS if isinstance(call.args.get(key), str)), "")
            if value:
                yield str(value).removeprefix("/").split()[0].rpartition(":")[2]
        else:
            for text in _texts(call.args):
                yield from dict.fromkeys(_SKILL_FILE.findall(text))


def _texts(value: Json) -> Iterator[str]:
    """Yield the texts of paths and commands among arguments. The content of a file that is written does not count."""
    items = value.items() if isinstance(value, dict) else ()
    for key, item in items:
        if key in ("content", "new_string", "old_string", "contents", "text"):
            continue
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            yield from (text for text in item if isinstance(text, str))
