"""Questions with known answers for every judge prompt, in four languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.judge.judge import Judge
from fairtrial.judge.question import Question
from fairtrial.metrics.conversation import TaskSuccess, ToolUseQuality, TrajectoryQuality
from fairtrial.metrics.exams.known_answers import (
    ABSENT,
    FAILS,
    HOLDS,
    MIDDLE,
    KnownAnswer,
    describe_ballots,
    read_table,
)
from fairtrial.metrics.grounding import Hallucinations
from fairtrial.metrics.judge_context import actions
from fairtrial.metrics.judged_metric import GRADES, JudgedMetric, Scale
from fairtrial.metrics.response_evaluation import ResponseEvaluation
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics, ToolUseRubrics, TrajectoryRubrics
from fairtrial.metrics.safety import Safety
from fairtrial.metrics.simulator import UserSimulatorQuality
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.judging.judge_check import CheckResult
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import About, AgentDetails, Invocation, Message, Step, ToolCall, ToolResult, Trace
from fairtrial.text.sentences import sentences

if TYPE_CHECKING:
    from fairtrial.records.ballot import Answer, Ballot


class CheckCase(KnownAnswer, frozen=True):
    """One question to a judge with its right answer.

    A turn is the user's message, then the calls as `[tool, arguments, result]`, then the reply. The last turn is under
    judgement.
    """

    turns: tuple[tuple[Any, ...], ...] = ()
    question: str = ""
    reference: str = ""
    rubric: str = ""
    plan: str = ""
    instructions: str = ""
    tools: tuple[str, ...] = ()

    @property
    def trace(self) -> Trace:
        """The conversation."""
        declarations = tuple({"name": tool} for tool in self.tools)
        about = About((AgentDetails("agent", self.instructions, declarations),))
        return Trace(tuple(_invocation(turn, about) for turn in self.turns))

    @property
    def token_estimate(self) -> int:
        """The estimated tokens of the prompt."""
        prompt = check_question(Judge(()), self).question.prompt
        return _tokens(prompt.system) + _tokens(prompt.text)

    async def ask(self, judge: Judge) -> CheckResult:
        """Put the question to the vote of a judge, and return the result."""
        checked = check_question(judge, self)
        ballot = await judge(checked.question)
        outcome = checked.outcome(ballot)
        opinions = ballot.opinions(checked.item)
        return CheckResult(
            model=judge.panel[0].name,
            id=self.id,
            prompt=self.prompt,
            rule=self.rule,
            language=self.language,
            expected=checked.right_outcome(self.answer),
            outcome=outcome,
            problem="" if outcome else ballot.why_unscored(checked.item),
            rationale=opinions[0].rationale if opinions else "",
            **describe_ballots([ballot]),
        )


def _tokens(text: str) -> int:
    """Return the estimated tokens: one for 4 ASCII characters, and one for each other character."""
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + len(text) - plain


def _invocation(turn: Sequence[Any], about: About) -> Invocation:
    query, *rest = turn
    steps: list[Step] = []
    for name, arguments, result in (entry for entry in rest if not isinstance(entry, str)):
        steps += (ToolCall(name, arguments), ToolResult(name, result))
    final = Message(rest[-1], "agent") if rest and isinstance(rest[-1], str) else None
    return Invocation(Message(query), tuple(steps), final, about=about)


class CheckQuestion(NamedTuple):
    """The question of a case, the item that the case is about, and the scale of its answers."""

    question: Question
    item: str
    scale: Scale

    def outcome(self, ballot: Ballot) -> str:
        """Return the outcome that the votes decided, or an empty text if they decided nothing."""
        result = ballot.decisions[self.item].result
        if not result.applicable:
            return ABSENT
        return "" if result.value is None else self._make_outcome(result.value)

    def right_outcome(self, answer: Answer) -> str:
        """Return the outcome that an answer stands for."""
        return ABSENT if answer in self.scale.absent else self._make_outcome(self.scale.worth[answer])

    def _make_outcome(self, value: float) -> str:
        low, high = (2.0, 4.0) if self.scale is GRADES else (0.0, 1.0)
        if value >= high:
            return HOLDS
        return FAILS if value <= low else MIDDLE


Asked = tuple[JudgedMetric, Question]
"""A metric, and the question that it asks."""


def _final_response_match(judge: Judge, case: CheckCase) -> Asked:
    metric = FinalResponseMatch(judge)
    return metric, metric.compare(case.trace.invocations[-1], _reference(case))


def _coherence(judge: Judge, case: CheckCase) -> Asked:
    metric = ResponseEvaluation(judge)
    return metric, metric.grade(case.trace.invocations[-1], _reference(case))


def _reference(case: CheckCase) -> Invocation:
    return Invocation(Message(case.turns[-1][0]), (), Message(case.reference, "agent"))


def _rubric_final_response(judge: Judge, case: CheckCase) -> Asked:
    return _by_rubric(FinalResponseRubrics(judge), case)


def _rubric_tool_use(judge: Judge, case: CheckCase) -> Asked:
    return _by_rubric(ToolUseRubrics(judge), case)


def _by_rubric(metric: FinalResponseRubrics | ToolUseRubrics, case: CheckCase) -> Asked:
    context, subject = metric.show(case.trace, len(case.turns) - 1)
    sample = case.turns[-1][-1] or case.turns[-1][0]
    return metric, metric.ask_about([Rubric("rubric", case.rubric)], context, subject, sample=sample)


def _rubric_trajectory(judge: Judge, case: CheckCase) -> Asked:
    metric = TrajectoryRubrics(judge)
    context, subject = metric.show(case.trace)
    return metric, metric.ask_about([Rubric("rubric", case.rubric)], context, subject, sample=case.turns[-1][-1])


def _hallucinations(judge: Judge, case: CheckCase) -> Asked:
    metric, trace, index = Hallucinations(judge), case.trace, len(case.turns) - 1
    invocation = trace.invocations[index]
    context = metric.context_before(trace, EvalCase("check"), index) | actions(invocation, index, messages=False)
    sentence_texts = sentences(invocation.reply)
    return metric, metric.ask_about(context, invocation.reply, sentence_texts, range(len(sentence_texts)))


def _safety(judge: Judge, case: CheckCase) -> Asked:
    metric = Safety(judge)
    return metric, metric.ask_about(case.trace, len(case.turns) - 1)


def _conversation(judge: Judge, case: CheckCase) -> Asked:
    kinds = (TaskSuccess, TrajectoryQuality, ToolUseQuality)
    metric = next(kind for kind in kinds if case.question in kind.questions)(judge)
    return metric, metric.ask_about(case.trace)


def _simulated_message(judge: Judge, case: CheckCase) -> Asked:
    metric, scenario = UserSimulatorQuality(judge), Scenario(case.turns[0][0], case.plan)
    return metric, metric.ask_about_message(scenario, case.trace, len(case.turns) - 1)


def _simulated_stop(judge: Judge, case: CheckCase) -> Asked:
    metric, scenario = UserSimulatorQuality(judge), Scenario(case.turns[0][0], case.plan)
    return metric, metric.ask_about_stop(scenario, case.trace)


_QUESTIONS: dict[str, Callable[[Judge, CheckCase], Asked]] = {
    "final_response_match": _final_response_match,
    "rubric_final_response": _rubric_final_response,
    "rubric_tool_use": _rubric_tool_use,
    "rubric_trajectory": _rubric_trajectory,
    "hallucinations": _hallucinations,
    "safety": _safety,
    "conversation": _conversation,
    "coherence": _coherence,
    "simulated_message": _simulated_message,
    "simulated_stop": _simulated_stop,
}
JUDGED_PROMPTS = tuple(_QUESTIONS)
"""The prompts with a closed set of answers."""


def check_cases(name: str) -> tuple[CheckCase, ...]:
    """Return the table of a prompt, or the questions of `judge check --quick` for the name "ping"."""
    return read_table(name, CheckCase)


def check_question(judge: Judge, case: CheckCase) -> CheckQuestion:
    """Return the question that the prompt of a case asks."""
    metric, question = _QUESTIONS[case.prompt](judge, case)
    return CheckQuestion(question, case.question or question.items[0], metric.scale)
