"""The cases of a first evaluation, made from an agent, a table of questions, or recordings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.api.conversations import OnRecording, write_recordings
from fairtrial.api.eval_files import load_eval_set, save_eval_set
from fairtrial.api.eval_sets.eval_set_arguments import resolve_eval_set
from fairtrial.api.eval_sets.expecting import expect, expect_or_keep, expects_anything
from fairtrial.api.plan_options import READ, RunOptions
from fairtrial.api.planning import plan_run
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalSet
from fairtrial.text.facts.fact_reading import read_facts

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording

Watch = Callable[[int], AbstractContextManager[OnRecording]]
"""Shows the progress of so many conversations."""
_SHORTEST_LONG_REPLY = 40
"""The length of a reference from which it is a sentence and not a single fact."""


@dataclass(frozen=True)
class Beginning:
    """The material of a user: an agent, and a file of `questions` or of `recorded` conversations, or `messages`."""

    agent: str | None = None
    questions: Path | None = None
    recorded: Path | None = None
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class FirstCases:
    """The file of an eval set, its content, and whether all of its expectations come from recordings."""

    path: Path
    eval_set: EvalSet
    expects_recorded: bool
    warnings: tuple[str, ...] = ()


def name_cases(beginning: Beginning, folder: Path) -> Path:
    """Return the file of the eval set. Raises UsageError if it exists, and would have to be written."""
    source = beginning.questions or beginning.recorded
    target = folder / f"{source.name.partition('.')[0] if source else 'first'}.evalset.json"
    if beginning.questions is not None and any(map(expects_anything, load_eval_set(beginning.questions).cases)):
        return beginning.questions
    if target.exists():
        raise UsageError(
            f"{target} exists, and would be overwritten; name another folder, or take it as the questions",
            code="would-overwrite",
        )
    return target


def first_cases(beginning: Beginning, target: Path, watch: Watch) -> FirstCases:
    """Return the cases of a first evaluation, and write them unless a file of the user holds them already.

    Questions without expectations are asked once, and the replies of the agent become the expectations. Raises
    UsageError if the agent broke in every conversation, or if no questions are there.
    """
    if beginning.recorded is not None:
        expected = expect_or_keep([beginning.recorded], target.name.partition(".")[0])
        return _write_cases(target, expected.eval_set, expected.warnings, expects_recorded=not expected.stated_count)
    if beginning.questions is not None:
        eval_set = load_eval_set(beginning.questions)
        if target == beginning.questions and beginning.agent is None:
            raise UsageError(f"{target}: an agent must answer the questions; name it", code="missing-option")
        if target == beginning.questions:
            return FirstCases(target, eval_set, expects_recorded=False)
    else:
        resolved = resolve_eval_set([{"input": message} for message in beginning.messages])
        if not isinstance(resolved, EvalSet):
            raise UsageError("needs a file of questions, a file of recordings, or a message")
        eval_set = replace(resolved, id="first")
    if beginning.agent is None:
        raise UsageError("the questions have no expected replies, so that an agent must answer them; name it")
    eval_set, warnings = _ask_agent(eval_set, beginning.agent, watch)
    return _write_cases(target, eval_set, warnings)


def choose_criteria(cases: FirstCases) -> Mapping[str, Any]:
    """Return criteria that need no model, by the expectations: calls, single facts, facts in texts, or words."""
    eval_set = cases.eval_set
    invocations = [invocation for case in eval_set.cases for invocation in case.conversation or ()]
    replies = [reply.text for invocation in invocations if (reply := invocation.final_response) is not None]
    criteria: dict[str, Any] = {}
    if any(invocation.steps for invocation in invocations) or any(case.expected_calls for case in eval_set.cases):
        criteria["tool_trajectory_avg_score"] = {"threshold": 1.0, "match_type": "IN_ORDER"}
    if replies and not cases.expects_recorded and max(map(len, replies)) < _SHORTEST_LONG_REPLY:
        criteria["contains"] = {"threshold": 1.0, "ignore_case": True}
    elif any(map(read_facts, replies)):
        criteria["facts_match_v1"] = 1.0
    if any(case.checks or any(own.checks for own in case.conversation or ()) for case in eval_set.cases):
        criteria["checks_v1"] = 1.0
    if replies and not criteria:
        criteria["response_match_score"] = 0.5  # equal words decide only where nothing else can
    if not criteria:
        raise UsageError(
            "the cases expect neither calls nor replies nor checks, so that no criterion applies to them",
            code="too-little-data",
        )
    return criteria


def _ask_agent(eval_set: EvalSet, agent: str, watch: Watch) -> tuple[EvalSet, list[str]]:
    """Return cases with the answers of an agent as the expectations."""
    plan = plan_run(eval_set, agent, None, READ, RunOptions(1, is_scored=False))
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder, watch(plan.total) as show:

        def on_recording(recording: Recording, warnings: Any) -> None:
            if recording.failure is not None:
                failures.append(f"{recording.case_id}: {recording.failure.cause}")
            show(recording, warnings)

        path = Path(folder, "recorded.jsonl")
        write_recordings(plan, path, on_recording=on_recording)
        if len(failures) == plan.total:
            raise UsageError(f"the agent broke in every conversation; the first: {failures[0]}")
        new_set, warnings = expect([path], eval_set.id)
    return new_set, warnings


def _write_cases(target: Path, eval_set: EvalSet, warnings: list[str], *, expects_recorded: bool = True) -> FirstCases:
    target.parent.mkdir(parents=True, exist_ok=True)
    save_eval_set(eval_set, target)
    return FirstCases(target, eval_set, expects_recorded, tuple(warnings))
