"""Contents that were not recorded are never compared, or shown to a judge as an empty text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from builders import call, case, criterion, recording, trace, turn, work
from commands import case as eval_case
from commands import eval_set, fairtrial, write
from fairtrial.errors import CaseError
from fairtrial.formats.recordings import line
from fairtrial.judge.judge import Judge
from fairtrial.llm.model import NamedModel
from fairtrial.metrics.conversation import TaskSuccess, ToolUseQuality, TrajectoryQuality
from fairtrial.metrics.custom.instance_metric import InstanceMetric
from fairtrial.metrics.custom.prompt_metric import PromptMetric
from fairtrial.metrics.efficiency import InferenceCallCount, TokenUsage, ToolCallCount
from fairtrial.metrics.grounding import Grounding, Hallucinations
from fairtrial.metrics.judge_context import whole
from fairtrial.metrics.reasoning_value import ReasoningValue
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.response_evaluation import ResponseEvaluation
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics, ToolUseRubrics, TrajectoryRubrics
from fairtrial.metrics.safety import Safety
from fairtrial.metrics.simulator import UserSimulatorQuality
from fairtrial.metrics.tool_rules.user_consent import UserConsent
from fairtrial.metrics.trajectory import MatchType, ToolTrajectory
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.contents import withheld_contents
from fairtrial.records.result import Metric
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace, Usage
from fairtrial.scoring import score_case
from fairtrial.testing import ScriptedModel
from fairtrial.valuation.from_trace import from_trace
from judged import score

OFF = "the capture of contents is off; set CAPTURE_CONTENT=true"
FULL = turn(
    call("get", id=1), ToolResult("get", {"id": 1}), Message("Wait.", "shop"), query="hi", reply="The order is here."
)
PARTS: dict[str, Callable[[Invocation], Invocation]] = {
    "user": lambda each: replace(each, user=Message("", withheld=OFF)),
    "args": lambda each: with_step(each, 0, ToolCall("get", withheld=OFF)),
    "results": lambda each: with_step(each, 1, ToolResult("get", withheld=OFF)),
    "messages": lambda each: with_step(each, 2, Message("", "shop", withheld=OFF)),
    "reply": lambda each: replace(each, final_response=Message("", withheld=OFF)),
}
EXPECTED = replace(
    case(turn(call("get", id=1), reply="The order is here.")),
    context="The order is here.",
    rubrics=(Rubric("r", "ok"),),
)
SCENARIO = EvalCase("case", scenario=Scenario("hi", "Ask."))
HIDDEN = ToolCall("get", withheld=OFF)


def with_step(invocation: Invocation, place: int, step: Step) -> Invocation:
    """The invocation with another step at a place."""
    steps = list(invocation.steps or ())
    steps[place] = step
    return replace(invocation, steps=tuple(steps))


def silent() -> tuple[ScriptedModel, Judge]:
    """A model that gives no answer, and its judge: a test looks at the prompts only."""
    model = ScriptedModel(lambda _: "{}")
    return model, Judge((NamedModel("m", model),), votes=1)


def empty_reply(instance: dict[str, object]) -> float:
    """A metric of agents-cli that would take a reply that is not recorded for an empty one."""
    return float(bool(instance))


JUDGED: dict[str, tuple[Callable[[Judge], Metric], set[str]]] = {
    "final_response_match_v2": (FinalResponseMatch, {"user", "reply"}),
    "final_response_match_v2 with messages": (
        lambda judge: FinalResponseMatch(judge, include_intermediate_responses_in_final=True),
        {"user", "reply", "messages"},
    ),
    "response_evaluation_score": (ResponseEvaluation, {"user", "reply"}),
    "safety_v1": (Safety, {"user", "reply"}),
    "hallucinations_v1": (Hallucinations, {"user", "results", "reply"}),
    "hallucinations_v1 with messages": (
        lambda judge: Hallucinations(judge, evaluate_intermediate_nl_responses=True),
        {"user", "results", "messages", "reply"},
    ),
    "grounding_v1": (Grounding, {"reply"}),
    "rubric_based_final_response_quality_v1": (FinalResponseRubrics, {"user", "reply"}),
    "rubric_based_final_response_quality_v1 with messages": (
        lambda judge: FinalResponseRubrics(judge, include_intermediate_responses_in_final=True),
        {"user", "messages", "reply"},
    ),
    "rubric_based_tool_use_quality_v1": (
        lambda judge: ToolUseRubrics(judge, rubrics=(Rubric("t", "ok"),)),
        {"user", "args", "results"},
    ),
    "rubric_based_multi_turn_trajectory_quality_v1": (
        lambda judge: TrajectoryRubrics(judge, rubrics=(Rubric("t", "ok"),)),
        {"user", "reply"},
    ),
    "multi_turn_task_success_v1": (TaskSuccess, {"user", "reply"}),
    "multi_turn_trajectory_quality_v1": (TrajectoryQuality, {"user", "reply"}),
    "multi_turn_tool_use_quality_v1": (ToolUseQuality, {"user", "args", "results"}),
    "user_consent_v1": (UserConsent, {"user", "args"}),
    "prompt template of replies": (lambda judge: PromptMetric(judge, "Is {response} good?"), {"user", "reply"}),
    "prompt template of everything": (lambda judge: PromptMetric(judge, "Is {agent_data} good?"), set(PARTS)),
}


@pytest.mark.parametrize("name", JUDGED)
def test_no_judge_is_asked_about_a_content_that_is_not_recorded(name: str) -> None:
    """Each criterion needs some contents. Without one of them it is unscored, and the reason names the variable."""
    make, needed = JUDGED[name]
    for content, hide in PARTS.items():
        model, judge = silent()
        result = score(make(judge), trace(hide(FULL)), EXPECTED)
        assert bool(model.prompts) == (content not in needed), content
        if content in needed:
            (problem,) = {each.reason for each in (*result.parts, result) if each.reason}
            sides = {each.side for each in (*result.parts, result) if each.reason}
            assert problem.endswith(f"not recorded: {OFF}"), content
            assert sides == {"infrastructure"}, content


def test_results_of_earlier_invocations_are_evidence() -> None:
    """A claim of the second reply may rest on a result in the first invocation."""
    model, judge = silent()
    result = score(Hallucinations(judge), trace(PARTS["results"](FULL), FULL), EXPECTED)
    assert [part.side for part in result.parts] == ["infrastructure", "infrastructure"]
    assert model.prompts == []


def test_a_simulated_user_is_judged_by_recorded_messages() -> None:
    """An empty first message would not be the starting prompt."""
    model, judge = silent()
    result = score(UserSimulatorQuality(judge), trace(PARTS["user"](FULL)), SCENARIO)
    assert (result.value, result.side, model.prompts) == (None, "infrastructure", [])


def trajectory(*actual: ToolCall, expected: tuple[ToolCall, ...] = (), **options: object) -> Score:
    """The score of one invocation with these calls."""
    result = ToolTrajectory(**options)(trace(turn(*actual)), case(turn(*expected)))  # type: ignore[arg-type]
    return result.parts[0]


@pytest.mark.parametrize("match_type", ["EXACT", "IN_ORDER", "ANY_ORDER"])
def test_calls_without_arguments_are_unscored_unless_a_name_is_wrong(match_type: MatchType) -> None:
    """The arguments may be right, so that the names alone can only show that the calls are wrong."""
    hidden = trajectory(HIDDEN, expected=(call("get", id=1),), match_type=match_type)
    assert (hidden.value, hidden.side) == (None, "infrastructure")
    assert hidden.reason == f"the arguments of get are not recorded: {OFF}"
    assert trajectory(HIDDEN, expected=(call("buy"),), match_type=match_type).value == 0.0
    assert trajectory(HIDDEN, expected=(call("get", id=1), call("buy")), match_type=match_type).value == 0.0


def test_an_expected_call_without_arguments_is_not_met_by_hidden_arguments() -> None:
    """An absent content is not an empty one: nobody knows whether the agent gave arguments."""
    assert trajectory(HIDDEN, expected=(call("get"),)).value is None


def test_names_are_enough_without_arguments() -> None:
    """`ignore_args`, a rule that ignores the arguments, and a tool that is optional do not need them."""
    expected = (call("get", id=1),)
    assert trajectory(HIDDEN, expected=expected, ignore_args=True).value == 1.0
    assert trajectory(HIDDEN, expected=expected, match={"get": "ignore"}).value == 1.0
    assert trajectory(HIDDEN, optional_tools=("get",)).value == 1.0
    assert trajectory(HIDDEN, forbidden_tools=("get",)).value == 0.0
    assert trajectory(HIDDEN, expected=(call("other"), call("get")), match_type="IN_ORDER").value == 0.0
    assert trajectory(HIDDEN, call("get"), expected=(call("get"),), match_type="IN_ORDER").value == 1.0


def test_a_wrong_name_is_shown_beside_hidden_arguments() -> None:
    """The difference names the wrong tool, and does not say that arguments are missing."""
    wrong = trajectory(HIDDEN, call("sell"), expected=(call("get", id=1), call("buy")))
    assert wrong.reason.splitlines()[0] == "first difference at call 2: expected buy, got sell"
    assert "get(not recorded)" in wrong.reason


def test_partial_credit_needs_the_arguments() -> None:
    """Half of the calls may match or not."""
    assert trajectory(HIDDEN, expected=(call("get", id=1), call("buy")), partial="f1").value is None


def test_a_reply_that_is_not_recorded_is_no_empty_reply() -> None:
    """It is unscored, whatever the reference."""
    hidden = trace(PARTS["reply"](FULL))
    for reference in ("The order is here.", ""):
        (part,) = ResponseMatch()(hidden, case(turn(reply=reference))).parts
        assert (part.value, part.side, part.reason) == (None, "infrastructure", f"the reply is not recorded: {OFF}")


def test_counts_do_not_need_contents() -> None:
    """The calls are known, and their arguments do not count."""
    assert ToolCallCount()(trace(PARTS["args"](FULL)), EXPECTED).value == 1.0


@pytest.mark.parametrize("content", PARTS)
def test_functions_of_agents_cli_get_complete_conversations_only(content: str) -> None:
    """They see plain JSON, in which an absent text would be an empty text."""
    metric = InstanceMetric(empty_reply, "mine")
    result = asyncio.run(metric(trace(PARTS[content](FULL)), EXPECTED))
    assert (result.value, result.side) == (None, "infrastructure")
    assert asyncio.run(metric(trace(FULL), EXPECTED)).value == 1.0


def test_reasoning_is_not_valued_without_its_contents() -> None:
    """A thought without text would lower the value of the trace."""
    hidden = trace(replace(FULL, steps=(Thought("", withheld=OFF), *(FULL.steps or ()))))
    with pytest.raises(CaseError, match="a thought is not recorded: the capture of contents is off"):
        from_trace(hidden, confidence=0.9, success=True)
    assert ReasoningValue(confidence=0.9, success=True)(hidden, EXPECTED).side == "infrastructure"


def test_a_judge_sees_the_beginning_of_a_text_that_was_cut_off() -> None:
    """It stands in the context of another question, marked as incomplete."""
    cut = replace(FULL, final_response=Message("", withheld=OFF, beginning="The or"))
    assert whole(trace(cut))["reply 1"] == "The or… (the rest is not recorded)"
    assert whole(trace(PARTS["user"](FULL)))["user message 1"] == "(not recorded)"


def test_a_hidden_reply_is_an_action() -> None:
    """An agent that called no tool, as expected, and whose reply is hidden, did something."""
    expected = case(turn(reply="hello"))
    hidden = recording(replace(turn(), final_response=Message("", withheld=OFF)))
    counted = replace(criterion(ToolTrajectory(), 1.0), aggregation="parts")
    (outcome,) = asyncio.run(score_case(work(counted, expected=expected), hidden)).outcomes
    assert outcome.verdict == "passed"


def test_a_hidden_user_message_does_not_differ_from_the_expected_one() -> None:
    """Nobody knows what the user wrote, so that no warning says that it is something else."""
    hidden = recording(PARTS["user"](FULL))
    assert asyncio.run(score_case(work(expected=EXPECTED), hidden)).warnings == ()


def test_kinds_of_hidden_contents_are_named() -> None:
    """In the order of a conversation."""
    hidden = Trace((PARTS["args"](FULL), PARTS["user"](FULL)))
    assert withheld_contents(hidden.invocations) == ("user messages", "arguments")


def test_the_command_says_which_variable_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is blamed on the agent: the exit code is 3, the side is the infrastructure."""
    monkeypatch.chdir(tmp_path)
    hidden = PARTS["args"](PARTS["reply"](FULL))
    Path("hidden.jsonl").write_bytes(line(recording(hidden)))
    expected = eval_case("case", "The order is here.", "get", query="hi")
    expected["conversation"][0]["intermediate_data"]["tool_uses"][0]["args"] = {"id": 1}
    write("expected.evalset.json", eval_set(expected))
    exact = {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0}
    write("exact.json", {"criteria": exact})
    write("names.json", {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "ignore_args": True}}})
    command = ("score", "hidden.jsonl", "--against", "expected.evalset.json", "--config")
    unscored = fairtrial(*command, "exact.json", "--json", "-")
    assert unscored.code == 3
    (result,) = unscored.json["attempts"]
    assert [(each["verdict"], OFF in str(each["parts"])) for each in result["outcomes"][:2]] == [("unscored", True)] * 2
    assert result["fault"]["side"] == "infrastructure"
    assert fairtrial(*command, "names.json").code == 0
    assert fairtrial("check", "hidden.jsonl").out.rstrip().endswith("; not recorded: replies, arguments")


def test_tokens_of_an_agent_inside_a_result_count() -> None:
    """The agent was asked by the agent under test. Its work is the outer agent's, in every measure of work."""
    inner = Trace((replace(turn(call("find")), usages=(Usage(10, 1),)),))
    outer = replace(turn(call("ask"), ToolResult("ask", "it", inner=inner)), usages=(Usage(5, 1), Usage(6, 1)))
    assert TokenUsage()(trace(outer), EXPECTED).value == 24.0
    assert InferenceCallCount()(trace(outer), EXPECTED).value == 3.0
    assert ToolCallCount()(trace(outer), EXPECTED).value == 2.0
    result = asyncio.run(score_case(work(expected=EXPECTED), recording(outer)))
    assert result.usage == {"input_tokens": 21, "output_tokens": 3, "inference_calls": 3}


def test_a_transcript_says_that_a_content_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty reply, and a call without arguments, would look like what the agent did."""
    monkeypatch.chdir(tmp_path)
    hidden = PARTS["results"](PARTS["args"](PARTS["reply"](FULL)))
    Path("hidden.jsonl").write_bytes(line(recording(hidden)))
    write("expected.evalset.json", eval_set(eval_case("case", "The order is here.", "get", query="hi")))
    out = fairtrial("score", "hidden.jsonl", "--against", "expected.evalset.json").out
    shown = [" ".join(row.split()) for row in out.splitlines()]
    assert {"call get(not recorded)", "result get: (not recorded)", "agent (not recorded)"} <= set(shown)
    assert "(empty)" not in out
