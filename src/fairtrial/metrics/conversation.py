"""Conversation criteria: task success, trajectory quality and tool use quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fairtrial.metrics.asking import score_item, unfit
from fairtrial.metrics.judge_context import agents_at, all_replies, instructions, tools, whole
from fairtrial.metrics.judged_metric import RUBRIC, JudgedMetric, scale
from fairtrial.records.contents import DIALOGUE, Content
from fairtrial.records.score import PartKey, Score, average_parts

if TYPE_CHECKING:
    from fairtrial.judge.question import Question
    from fairtrial.records.case import EvalCase
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
    "recovers": "If something went wrong or was misunderstood, did the agent notice it and put it right?",
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


@dataclass(frozen=True)
class _Conversation(JudgedMetric):
    """The mean over questions, each answered about the conversation as a whole."""

    scale = RUBRIC
    templates = ("conversation",)
    questions: ClassVar[dict[str, str]]
    reads: ClassVar[tuple[Content, ...]] = DIALOGUE

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002 - every metric has two arguments
        """Judge the conversation as a whole."""
        if unfit_score := unfit(trace, reads=self.reads):
            return unfit_score
        ballot = await self.judge(self.ask_about(trace))
        return average_parts(
            score_item(ballot, item, self.scale, PartKey("question", id=item)) for item in self.questions
        )

    def ask_about(self, trace: Trace) -> Question:
        """Return the question about a conversation."""
        agents = agents_at(trace)
        context, subject = instructions(agents) | tools(agents), whole(trace)
        values = {"context_names": list(context), "judged_names": list(subject), "questions": self.questions}
        sample = all_replies(trace)
        return self.question("conversation", context | subject, list(self.questions), sample=sample, values=values)


@dataclass(frozen=True)
class TaskSuccess(_Conversation):
    """`multi_turn_task_success_v1`: 1.0 if the conversation reached the user's goal, else 0.0."""

    scale = YES_OR_NO
    questions = SUCCESS


@dataclass(frozen=True)
class TrajectoryQuality(_Conversation):
    """`multi_turn_trajectory_quality_v1`: the share of four questions about the way that are answered yes, 0..1."""

    questions = TRAJECTORY


@dataclass(frozen=True)
class ToolUseQuality(_Conversation):
    """`multi_turn_tool_use_quality_v1`: the share of five questions about the calls that are answered yes, 0..1."""

    questions = TOOL_USE
    reads = ("user", "args", "results")
