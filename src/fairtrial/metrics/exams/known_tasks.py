"""Tasks with known results for prompts in which a model writes instead of answering."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fairtrial.errors import CaseError
from fairtrial.judge.judge import Judge
from fairtrial.llm.model import NamedModel, UnsentError
from fairtrial.llm.served_models import is_same_model
from fairtrial.metrics.adaptive_rubrics import Aspect, make_rubrics
from fairtrial.metrics.exams.known_answers import FAILS, HOLDS, MIDDLE, TYPICAL_TOKENS, KnownAnswer, read_table
from fairtrial.metrics.grounding import Hallucinations
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.judging.judge_check import CheckResult
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.trace import About, AgentDetails, Invocation, Message, ToolCall, Trace
from fairtrial.simulate.played import PlayedCall, Player
from fairtrial.simulate.scenarios import write_scenarios
from fairtrial.simulate.user import SimulatedUsers
from fairtrial.text.display import compact
from fairtrial.text.language import detect_language

_HOLDING = ("stop", "answers", "cut", "written")


class WritingCase(KnownAnswer, frozen=True):
    """One task with its known result.

    `answer` is "stop" or "go_on" for a simulated user, "answers" or "error" for a simulated tool, "cut" for sentences
    and "written" for scenarios and rubrics. The text must contain one of `says`, and none of `lacks`. A call is
    `[tool, arguments]`, and an earlier call also has its result.
    """

    plan: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    tool: dict[str, Json] = {}
    data: Json = None
    earlier: tuple[tuple[str, dict[str, Json], Any], ...] = ()
    call: tuple[str, dict[str, Json]] = ("", {})
    sentences: tuple[str, ...] = ()
    assistant: str = ""
    instruction: str = ""
    count: int = 0
    aspect: Aspect = "general"
    says: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    @property
    def right_outcome(self) -> str:
        """The outcome of the right result."""
        return HOLDS if self.answer in _HOLDING else FAILS

    @property
    def text(self) -> str:
        """The text that is to be cut. Japanese and Chinese have no space between sentences."""
        return ("" if self.language in ("ja", "zh") else " ").join(self.sentences)

    def fits(self, text: str) -> bool:
        """Whether a text contains one of the required texts, and none of the forbidden texts."""
        folded = text.casefold()
        has_required = not self.says or any(required.casefold() in folded for required in self.says)
        return has_required and not any(forbidden.casefold() in folded for forbidden in self.lacks)

    @property
    def token_estimate(self) -> int:
        """The estimated tokens of the prompt."""
        return TYPICAL_TOKENS

    async def ask(self, judge: Judge) -> CheckResult:
        """Let the first model of a judge write once, and return the result."""
        voter, replies = judge.panel[0], list[Reply]()

        async def collect(prompt: Prompt) -> Reply:
            reply = await voter(prompt)
            replies.append(reply)
            return reply

        outcome = problem = ""
        is_sent = True
        try:
            outcome = await _TASKS[self.prompt](voter.through(collect), self)
        except UnsentError as error:
            problem, is_sent = str(error), bool(replies)
        except (CaseError, ValueError) as error:
            problem = str(error)
        others = {reply.model for reply in replies if not is_same_model(voter.name, reply.model)}
        if others and judge.strict_model:
            outcome, problem = "", f"another model answered: asked {voter.name!r}"
        costs = [reply.cost for reply in replies]
        known_costs = [cost for cost in costs if cost is not None]
        return CheckResult(
            model=voter.name,
            id=self.id,
            prompt=self.prompt,
            rule=self.rule,
            language=self.language,
            expected=self.right_outcome,
            outcome=outcome,
            problem=problem,
            rationale=replies[-1].text if replies else "",
            calls=max(len(replies), is_sent),
            seconds=sum(reply.seconds for reply in replies),
            cost=sum(known_costs) if len(known_costs) == len(costs) else None,
            served=", ".join(sorted(others)),
        )


async def _simulated_user(model: NamedModel, case: WritingCase) -> str:
    scenario = Scenario(case.turns[0][0], case.plan)
    turns = [Invocation(Message(query), (), Message(reply, "agent")) for query, reply in case.turns]
    user = SimulatedUsers(model)(EvalCase(case.id, scenario=scenario), 1)
    message = await user.next_message(Trace(tuple(turns)))
    if message is None:
        return HOLDS
    return FAILS if case.fits(message) else MIDDLE


async def _simulated_tool(model: NamedModel, case: WritingCase) -> str:
    earlier = [PlayedCall(ToolCall(name, arguments), response) for name, arguments, response in case.earlier]
    player = Player(model, case.data)
    response = await player.answer(ToolCall(*case.call), case.tool, earlier, draw=case.id)
    if isinstance(response, dict) and response.keys() & {"error", "error_code", "error_message"}:
        return FAILS
    return HOLDS if case.fits(compact(response)) else MIDDLE


async def _segments(model: NamedModel, case: WritingCase) -> str:
    sentence_texts, _, problem = await Hallucinations(Judge((model,), 1), segmenter="judge").cut_reply(case.text)
    if sentence_texts is None and not problem.endswith("its cut does not give the reply again"):
        raise ValueError(problem)
    return HOLDS if sentence_texts == case.sentences else FAILS


async def _scenarios(model: NamedModel, case: WritingCase) -> str:
    scenarios = await write_scenarios(model, case.assistant, count=case.count, instruction=case.instruction)
    texts = [f"{scenario.starting_prompt} {scenario.conversation_plan}" for scenario in scenarios]
    are_right = all(case.fits(text) and detect_language(text) == case.language for text in texts)
    return HOLDS if are_right and len(texts) == case.count else FAILS


async def _adaptive_rubrics(model: NamedModel, case: WritingCase) -> str:
    about = About((AgentDetails("agent", case.assistant, (case.tool,) if case.tool else ()),))
    invocations = tuple(Invocation(Message(query), about=about) for query, _ in case.turns)
    rubrics, _, problem = await make_rubrics(Judge((model,), 1), case.aspect, Trace(invocations), len(invocations) - 1)
    if not rubrics:
        raise ValueError(problem)
    text = "\n".join(rubric.text for rubric in rubrics)
    return HOLDS if case.fits(text) and detect_language(text) == case.language else FAILS


_TASKS: dict[str, Callable[[NamedModel, WritingCase], Awaitable[str]]] = {
    "simulated_user": _simulated_user,
    "simulated_tool": _simulated_tool,
    "segments": _segments,
    "scenarios": _scenarios,
    "adaptive_rubrics": _adaptive_rubrics,
}
WRITING_PROMPTS = tuple(_TASKS)
"""The prompts that let a model write."""


def writing_cases(name: str) -> tuple[WritingCase, ...]:
    """Return the table of a prompt."""
    return read_table(name, WritingCase)
