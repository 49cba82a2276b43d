"""Did the conversation reach its goal, in a good way, with a good use of tools?"""

from __future__ import annotations

from dataclasses import dataclass

from fairtrial.judge.judge import Judge
from fairtrial.metrics.asking import RUBRIC, Scale, question, scale, scored, unfit
from fairtrial.metrics.judge_context import agents_at, instructions, tools, whole
from fairtrial.records.case import EvalCase
from fairtrial.records.score import PartKey, Score, mean_of
from fairtrial.records.trace import Trace

YES_OR_NO = scale(["yes"], ["no"])
SUCCESS = {
    "goal_reached": "Did the user get what the user wanted, all of it, by the end of the conversation? (A goal that "
    "could not be reached counts as reached only if the agent said so rightly and did what was left to do.)"
}
TRAJECTORY = {
    "on_course": "Did every turn of the agent bring the user nearer to the goal, without needless questions, detours "
    "or repetition?",
    "remembers": "Did the agent keep to what was said and found out earlier in the conversation?",
    "recovers": "Where something went wrong or was misunderstood, did the agent notice it and put it right?",
    "within_rules": "Did the agent keep to its instructions?",
}
TOOL_USE = {
    "right_tools": "Was every call one of a tool that fits its purpose?",
    "right_arguments": "Did the arguments of every call follow from the conversation, the instructions or earlier "
    "results?",
    "nothing_missing": "Was every call made that was needed, before the agent relied on it?",
    "nothing_needless": "Was every call needed?",
    "results_used": "Did what the agent said and did next agree with the results?",
}


async def _judge(judge: Judge, questions: dict[str, str], trace: Trace, on: Scale = RUBRIC) -> Score:
    """Return the mean over the questions, each answered about the conversation as a whole."""
    if unfit_score := unfit(trace):
        return unfit_score
    agents = agents_at(trace)
    context, subject = instructions(agents) | tools(agents), whole(trace)
    values = {"questions": questions, "context": list(context), "under": list(subject)}
    ballot = await judge(question("conversation", context | subject, list(questions), on, values))
    return mean_of(scored(ballot, item, on, PartKey("question", id=item)) for item in questions)


@dataclass(frozen=True)
class TaskSuccess:
    """`multi_turn_task_success_v1`: 1.0 if the conversation reached the user's goal, else 0.0."""

    judge: Judge

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002 - every metric has two arguments
        """Judge the conversation as a whole."""
        return await _judge(self.judge, SUCCESS, trace, YES_OR_NO)


@dataclass(frozen=True)
class TrajectoryQuality:
    """`multi_turn_trajectory_quality_v1`: the share of four questions about the way that are answered yes, 0..1."""

    judge: Judge

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002 - every metric has two arguments
        """Judge the conversation as a whole."""
        return await _judge(self.judge, TRAJECTORY, trace)


@dataclass(frozen=True)
class ToolUseQuality:
    """`multi_turn_tool_use_quality_v1`: the share of five questions about the calls that are answered yes, 0..1."""

    judge: Judge

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002 - every metric has two arguments
        """Judge the conversation as a whole."""
        return await _judge(self.judge, TOOL_USE, trace)
