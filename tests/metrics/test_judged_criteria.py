"""The questions of each judged criterion, and the scores that follow from the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.errors import ConfigError
from fairtrial.judge.ballot_costs import judge_stats
from fairtrial.metrics.conversation import TaskSuccess, ToolUseQuality
from fairtrial.metrics.grounding import Grounding, Hallucinations, make_label
from fairtrial.metrics.response_evaluation import ResponseEvaluation
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics, ToolUseRubrics, TrajectoryRubrics
from fairtrial.metrics.safety import Safety
from fairtrial.metrics.simulator import UserSimulatorQuality
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import About, AgentDetails, Event, Message, ToolCall, ToolResult, Trace
from fairtrial.simulate.personas import PERSONAS, find_persona
from judged import Bench, fenced, invocation, score, unnumbered

ABOUT = About((AgentDetails("root", "안내원입니다.", ({"name": "get_weather"},)),))
CALL, RESULT = ToolCall("get_weather", {"city": "서울"}), ToolResult("get_weather", {"날씨": "맑음"})
TRACE = Trace(
    (
        invocation("안녕", "안녕하세요.", about=ABOUT),
        invocation("서울 날씨?", "서울은 맑습니다.", CALL, RESULT, Message("찾는 중입니다.", "root"), about=ABOUT),
    )
)
FIXED = EvalCase("c", TRACE.invocations)


def yes(*_: Any) -> dict[str, Any]:
    """Whatever is best, with a quote that is in the context."""
    return {"answer": "yes"}


def test_an_invocation_without_reference_is_not_applicable() -> None:
    """It is not asked about."""
    case = EvalCase("c", (invocation("안녕", None), TRACE.invocations[1]))
    bench = Bench(lambda *_: "valid")
    result = score(FinalResponseMatch(bench.judge), TRACE, case)
    assert [part.applicable for part in result.parts] == [False, True]
    assert len(bench.prompts) == 3


def test_an_invocation_that_was_never_reached_is_the_worst() -> None:
    """The recording ends without failure, one invocation early; a coherence grade is then 1."""
    short = Trace(TRACE.invocations[:1])
    assert score(FinalResponseMatch(Bench(lambda *_: "valid").judge), short, FIXED).parts[1].value == 0.0
    assert score(ResponseEvaluation(Bench(lambda *_: "5").judge), short, FIXED).parts[1].value == 1.0


def test_a_case_is_the_share_of_valid_invocations() -> None:
    """One of two."""
    bench = Bench(lambda _, prompt: "valid" if "맑" in fenced(prompt, "reply") else "invalid")
    assert score(FinalResponseMatch(bench.judge), TRACE, FIXED).value == 0.5


def test_interim_messages_are_part_of_the_reply_on_demand() -> None:
    """As in the peer."""
    bench = Bench(lambda *_: "valid")
    score(FinalResponseMatch(bench.judge, include_intermediate_responses_in_final=True), TRACE, FIXED)
    assert "찾는 중입니다.\n서울은 맑습니다." in {fenced(prompt, "reply") for prompt in bench.prompts}


def test_the_response_judge_sees_instructions_tools_calls_results_and_what_came_before() -> None:
    """All of it as itself, never escaped."""
    bench = Bench(yes)
    score(FinalResponseRubrics(bench.judge, (Rubric("a", "친절하다"),)), TRACE)
    last = bench.prompts[-1]
    assert fenced(last, "instructions of agent 1") == "agent: root\n안내원입니다."
    assert json.loads(fenced(last, "tool call 2.1")) == {"tool": "get_weather", "args": {"city": "서울"}}
    assert "맑음" in fenced(last, "tool result 2.2")
    assert fenced(last, "reply 1") == "안녕하세요."
    assert "\\u" not in last.text


def test_the_tool_use_judge_does_not_see_the_reply() -> None:
    """It judges calls, not words."""
    bench = Bench(yes)
    score(ToolUseRubrics(bench.judge, (Rubric("a", "looks it up"),)), Trace(TRACE.invocations[1:]))
    assert "서울은 맑습니다." not in bench.prompts[0].text


def test_rubrics_of_criterion_case_and_invocation_are_judged_together() -> None:
    """Each invocation by its own set; a rubric of another type is not for this criterion."""
    first = invocation(
        "a", "b", rubrics=(Rubric("i", "i", type="FINAL_RESPONSE_QUALITY"), Rubric("t", "t", type="TOOL_USE_QUALITY"))
    )
    bench = Bench(yes)
    case = EvalCase("c", rubrics=(Rubric("c", "c", type="FINAL_RESPONSE_QUALITY"),))
    result = score(FinalResponseRubrics(bench.judge, (Rubric("k", "k"),)), Trace((first, invocation("a", "b"))), case)
    assert [[part.title for part in one.parts] for one in result.parts] == [["k", "c", "i"], ["k", "c"]]


GROUPS = EvalCase("c", rubrics=(Rubric("a", "a", type="booking"), Rubric("b", "b", type="TOOL_USE_QUALITY")))


@pytest.mark.parametrize(
    ("group", "ids"), [(None, ["a"]), ("*", ["a", "b"]), ("booking", ["a"]), ("TOOL_USE_QUALITY", ["b"])]
)
def test_a_rubric_group_reaches_every_rubric_criterion_unless_one_is_chosen(group: str | None, ids: list[str]) -> None:
    """A group whose name is no type of a criterion would otherwise be judged by nobody."""
    trace = Trace((invocation("q", "r"),))
    for metric in (FinalResponseRubrics, TrajectoryRubrics):
        result = score(metric(Bench(yes).judge, rubric_group=group), trace, GROUPS)
        (parts,) = (result.parts,) if metric is TrajectoryRubrics else (result.parts[0].parts,)
        assert [part.key and part.key.id for part in parts] == ids


@pytest.mark.parametrize("metric", [FinalResponseRubrics, ToolUseRubrics, TrajectoryRubrics])
def test_a_rubric_group_that_a_case_lacks_is_unscored(metric: Any) -> None:
    """A wrong key must not make every rubric inapplicable."""
    result = score(metric(Bench(yes).judge, rubric_group="bookings"), Trace((invocation("q", "r"),)), GROUPS)
    assert (result.value, result.applicable, result.side) == (None, True, "expectation")
    assert result.reason == "the case has no rubric group 'bookings'; its groups: booking, TOOL_USE_QUALITY"


def test_an_untyped_rubric_of_a_case_is_one_of_the_final_response_with_a_note() -> None:
    """The tool-use criterion leaves it alone."""
    case = EvalCase("c", rubrics=(Rubric("c", "c"),))
    result = score(FinalResponseRubrics(Bench(yes).judge), TRACE, case)
    assert "has no type" in result.parts[0].reason
    assert not score(ToolUseRubrics(Bench(yes).judge), TRACE, case).applicable


def test_the_same_id_twice_leaves_the_case_unscored() -> None:
    """The reason names both places, and nothing is asked."""
    bench = Bench(yes)
    case = EvalCase("c", rubrics=(Rubric("a", "x", type="TRAJECTORY_QUALITY"),))
    result = score(TrajectoryRubrics(bench.judge, (Rubric("a", "y"),)), TRACE, case)
    assert (result.value, result.applicable) == (None, True)
    assert result.reason == "rubric id 'a' is given twice: by the criterion and by the case"
    assert bench.prompts == []


def test_the_same_id_in_two_groups_names_both_groups() -> None:
    """The author sees which group to choose with a key."""
    case = EvalCase("c", rubrics=tuple(Rubric("a", "x", type=group) for group in ("booking", "tone")))
    reason = score(FinalResponseRubrics(Bench(yes).judge), Trace((invocation("q", "r"),)), case).reason
    assert reason.endswith("by the rubric group 'booking' of the case and by the rubric group 'tone' of the case")


def test_a_criterions_own_rubric_of_another_type_is_a_config_error() -> None:
    """It would never be used."""
    with pytest.raises(ConfigError, match="must be TOOL_USE_QUALITY or absent"):
        ToolUseRubrics(Bench(yes).judge, (Rubric("a", "x", type="TRAJECTORY_QUALITY"),))


def test_every_invocation_has_its_own_rubrics() -> None:
    """The peer judges all turns by the last one's rubrics: turn 1 "no" and turn 2 "yes" are 1.0 there, 0.5 here."""
    turns = tuple(
        invocation("q", "r", rubrics=(Rubric(name, name, type="FINAL_RESPONSE_QUALITY"),)) for name in ("r1", "r2")
    )
    bench = Bench(lambda item, prompt: "no" if fenced(prompt, f"rubric {item}") == "r1" else "yes")
    assert score(FinalResponseRubrics(bench.judge), Trace(turns)).value == 0.5


def label(**labels: str) -> Bench:
    """A judge with these labels, and a good quote for what is supported."""
    return Bench(lambda item, _: {"answer": labels.get(item, "supported"), "quote": "맑음"})


def test_sentences_are_labelled_against_what_the_agent_was_told() -> None:
    """Instructions, tools, messages, calls and results; nothing that the agent said."""
    bench = label()
    assert score(Hallucinations(bench.judge), TRACE).parts[1].value == 1.0
    shown = next(prompt.text for prompt in bench.prompts if "user message 2" in prompt.text)
    assert "맑음" in shown
    assert "찾는 중입니다." not in shown
    assert "안녕하세요." not in shown.partition("<<<JUDGED reply")[0]


def test_grounding_shows_the_context_of_the_case_alone() -> None:
    """A result of a tool supports nothing. The same sentence is supported for hallucinations."""
    trace, case = Trace((invocation("q", "맑음입니다.", RESULT),)), EvalCase("c", context="페이지 1: 비가 옵니다.")
    bench = label()
    result = score(Grounding(bench.judge), trace, case)
    assert result.value is None
    assert "not in the context" in result.parts[0].parts[0].reason
    shown = bench.prompts[0].text
    assert "페이지 1" in shown
    assert "tool result" not in shown.partition("Example:")[0]
    assert fenced(bench.prompts[0], "the case's context") == case.context
    assert score(Hallucinations(label().judge), trace, case).value == 1.0


def test_grounding_does_not_apply_without_a_context() -> None:
    """Nobody could support anything."""
    bench = label()
    result = score(Grounding(bench.judge), TRACE, EvalCase("c"))
    assert (result.applicable, result.reason, bench.prompts) == (False, "the case has no context", [])


def test_the_score_is_the_share_of_grounded_sentences_with_label_and_quote() -> None:
    """Supported and not applicable are grounded; each sentence keeps its label, reason and quotes."""
    trace = Trace((invocation("q", "하나. 둘. 셋. 넷.", RESULT),))
    result = score(Hallucinations(label(s2="unsupported", s3="not_applicable", s4="disputed").judge), trace)
    part = result.parts[0]
    assert part.value == 0.5
    assert [one.reason.partition(":")[0] for one in part.parts] == [
        "supported",
        "unsupported",
        "not_applicable",
        "disputed",
    ]
    assert [quote.text for quote in part.parts[0].quotes] == ["하나.", "맑음"]


def test_a_supported_vote_without_a_real_quote_is_asked_again_and_then_abstains() -> None:
    """It never counts as support."""
    bench = Bench(lambda *_: {"answer": "supported", "quote": "made up"}, votes=1)
    result = score(Hallucinations(bench.judge), TRACE)
    assert result.value is None
    assert "its quote is not in the context" in result.parts[1].parts[0].reason
    assert [prompt.ask for prompt in bench.prompts].count(2) == 2


def test_at_most_forty_sentences_are_labelled_in_a_call() -> None:
    """Ninety sentences are three questions."""
    trace = Trace((invocation("맑음", " ".join(f"Sentence {number}." for number in range(90))),))
    bench = label()
    result = score(Hallucinations(bench.judge), trace)
    assert len(result.parts[0].parts) == 90
    assert len(bench.ballots) == 3


def test_a_reply_without_sentences_is_not_applicable() -> None:
    """There is nothing to judge."""
    assert not score(Hallucinations(label().judge), Trace((invocation("q", "😊"),))).applicable


def test_interim_replies_are_labelled_against_what_came_before_them() -> None:
    """The result of the call that follows is no evidence for them."""
    trace = Trace((invocation("q", "끝.", Message("곧 맑아집니다.", "root"), RESULT),))
    bench = Bench(
        lambda _, prompt: {
            "answer": "unsupported" if "tool result" not in prompt.text else "supported",
            "quote": "맑음",
        }
    )
    result = score(Hallucinations(bench.judge, evaluate_intermediate_nl_responses=True), trace)
    assert [part.value for part in result.parts[0].parts] == [0.0, 1.0]


def test_interim_replies_are_not_labelled_against_later_grounding() -> None:
    """What was found for the message itself counts, what was found after it does not."""
    steps = (Message("곧 맑아집니다.", "root"), RESULT)
    events = tuple(Event("root", 1, grounding={"found": name}) for name in ("own", "later", "last"))
    bench = label()
    trace = Trace((invocation("맑음", "끝.", *steps, events=events),))
    score(Hallucinations(bench.judge, evaluate_intermediate_nl_responses=True), trace)
    seen = {
        unnumbered(one, fenced(one, "reply")): [name in one.text for name in ("own", "later", "last")]
        for one in bench.prompts
    }
    assert seen == {"곧 맑아집니다.": [True, False, False], "끝.": [True, True, True]}


def test_the_judge_may_cut_if_its_cut_gives_the_text_again() -> None:
    """A cut that changes a word is asked for again, then the reply is unscored."""
    good = json.dumps({"sentences": ["안녕하세요."]})
    answer = json.dumps({"answers": [{"id": "s1", "quote": "", "rationale": "greeting", "answer": "not_applicable"}]})
    trace = Trace(TRACE.invocations[:1])
    cut = Bench([json.dumps({"sentences": ["안녕!"]}), good, answer], votes=1)
    assert score(Hallucinations(cut.judge, segmenter="judge"), trace).value == 1.0
    bad = Bench([json.dumps({"sentences": ["안녕!"]})] * 2, votes=1)
    result = score(Hallucinations(bad.judge, segmenter="judge"), trace)
    assert result.parts[0].reason == "the judge could not cut the reply: its cut does not give the reply again"


def test_what_cutting_took_is_part_of_what_judging_took() -> None:
    """The call that cuts is on a ballot of the score, beside the one that labels."""
    answer = json.dumps({"answers": [{"id": "s1", "quote": "", "rationale": "greeting", "answer": "not_applicable"}]})
    bench = Bench(["no JSON", json.dumps({"sentences": ["안녕하세요."]}), answer], votes=1)
    result = score(Hallucinations(bench.judge, segmenter="judge"), Trace(TRACE.invocations[:1]))
    spent = judge_stats(result, bench.ballots)
    assert spent is not None
    assert (spent.calls, spent.calls_saved, spent.abstentions) == (3, 0, 0)


@pytest.mark.parametrize(
    ("counted", "grounded", "expected"),
    [
        ({"supported": 1, "not_applicable": 1, "unsupported": 1}, True, "supported"),
        ({"not_applicable": 2, "supported": 1}, True, "not_applicable"),
        ({"contradictory": 1, "disputed": 1, "unsupported": 1}, False, "contradictory"),
        ({"disputed": 1, "unsupported": 1, "supported": 2}, False, "disputed"),
        ({"unsupported": 2, "contradictory": 1}, False, "unsupported"),
    ],
)
def test_the_label_is_the_most_frequent_on_the_winning_side(
    counted: dict[str, int], grounded: bool, expected: str
) -> None:
    """Ties: contradictory, disputed, unsupported; supported, not applicable."""
    assert make_label(counted, grounded) == expected


def test_an_unsafe_reply_names_its_hazards() -> None:
    """How many votes named each."""
    votes = iter([["hate"], ["hate", "privacy"], ["hate"]])
    bench = Bench(lambda *_: {"answer": "unsafe", "marks": next(votes)})
    result = score(Safety(bench.judge), Trace(TRACE.invocations[:1]))
    assert result.value == 0.0
    assert result.parts[0].reason.startswith("hate (3), privacy (1); unsafe 3")


@pytest.mark.parametrize("said", [{"answer": "unsafe"}, {"answer": "safe", "marks": ["hate"]}])
def test_a_verdict_on_safety_must_agree_with_its_marks(said: dict[str, Any]) -> None:
    """Unsafe without a hazard, and safe with one, are no votes."""
    result = score(Safety(Bench(lambda *_: said, votes=1).judge), Trace(TRACE.invocations[:1]))
    assert result.value is None


def test_a_conversation_is_judged_as_a_whole() -> None:
    """One question for the goal; of the tools the share of what was answered yes, without what does not apply."""
    assert score(TaskSuccess(Bench(yes).judge), TRACE).value == 1.0
    answers = {"right_tools": "yes", "right_arguments": "no", "nothing_missing": "not_applicable"}
    result = score(ToolUseQuality(Bench(lambda item, _: answers.get(item, "yes")).judge), TRACE)
    assert result.value == 0.75


def test_a_broken_conversation_is_not_judged_as_a_whole() -> None:
    """The reason names the failure."""
    broken = Trace(TRACE.invocations, broken="the agent crashed")
    result = score(TaskSuccess(Bench(yes).judge), broken)
    assert (result.value, result.reason) == (None, "the conversation broke: the agent crashed")


def test_coherence_is_the_median_grade() -> None:
    """Of 1, 4, 4, 5, 5 it is 4."""
    grades = {"1": "1", "2": "4", "3": "4", "4": "5", "5": "5"}
    bench = Bench(lambda _, prompt: grades[prompt.draw], all_votes=True)
    assert (
        score(ResponseEvaluation(bench.judge), Trace(TRACE.invocations[:1]), EvalCase("c", TRACE.invocations[:1])).value
        == 4.0
    )


SCENARIO = EvalCase("c", scenario=Scenario(" 안녕 ", "서울 날씨를 묻는다", "NOVICE"))


def test_a_simulated_user_starts_with_its_prompt_and_is_judged_from_then_on() -> None:
    """The first message takes no call; the judge sees plan, persona and its violations."""
    bench = Bench(lambda *_: "valid")
    assert score(UserSimulatorQuality(bench.judge), TRACE, SCENARIO).value == 1.0
    message = next(prompt for prompt in bench.prompts if prompt.id == "simulated_message")
    assert fenced(message, "plan") == "서울 날씨를 묻는다"
    novice = PERSONAS["NOVICE"]
    habits = [f"- {habit.name}: {habit.description}" for habit in novice.behaviors]
    assert fenced(message, "persona").splitlines() == [novice.description, *habits]
    assert fenced(message, "violation 1") == novice.behaviors[0].violation_rubrics[0]
    assert {prompt.id for prompt in bench.prompts} == {"simulated_message", "simulated_stop"}


def test_another_first_message_is_invalid() -> None:
    """Whatever the judge would say."""
    case = EvalCase("c", scenario=Scenario("hello", "plan"))
    assert score(UserSimulatorQuality(Bench(lambda *_: "valid").judge), TRACE, case).parts[0].value == 0.0


def test_a_wrong_stop_makes_the_last_message_invalid() -> None:
    """And says so."""
    bench = Bench(lambda _, prompt: "invalid" if prompt.id == "simulated_stop" else "valid")
    last = score(UserSimulatorQuality(bench.judge), TRACE, SCENARIO).parts[-1]
    assert last.value == 0.0
    assert last.reason.startswith("the stop was wrong")


def test_a_conversation_that_was_cut_off_leaves_its_last_message_open() -> None:
    """Whether it should have been the stop is not known: neither is asked about."""
    longer = Trace((*TRACE.invocations, invocation("고마워", "네.")), ended_by="cap")
    bench = Bench(lambda *_: "invalid")
    result = score(UserSimulatorQuality(bench.judge), longer, SCENARIO)
    assert [part.value for part in result.parts] == [1.0, 0.0, None]
    assert {prompt.id for prompt in bench.prompts} == {"simulated_message"}


def test_the_messages_before_a_conversation_broke_are_judged() -> None:
    """Only the one at which it broke is unscored; nobody stopped."""
    bench = Bench(lambda *_: "valid")
    broken = Trace((*TRACE.invocations, invocation("고마워", None)), broken="the agent crashed", ended_by="failure")
    result = score(UserSimulatorQuality(bench.judge), broken, SCENARIO)
    assert [part.value for part in result.parts] == [1.0, 1.0, None]
    assert result.parts[-1].reason == "broke here: the agent crashed"
    assert {prompt.id for prompt in bench.prompts} == {"simulated_message"}


def test_a_persona_is_shown_a_line_for_each_habit() -> None:
    """After its description."""
    bench = Bench(lambda *_: "valid")
    score(UserSimulatorQuality(bench.judge), TRACE, SCENARIO)
    shown = fenced(bench.prompts[0], "persona").splitlines()
    assert shown[0] == PERSONAS["NOVICE"].description
    assert len(shown) == 1 + len(PERSONAS["NOVICE"].behaviors)


def test_a_fixed_conversation_has_no_simulator_to_judge() -> None:
    """Not applicable."""
    assert not score(UserSimulatorQuality(Bench(yes).judge), TRACE, FIXED).applicable


def test_the_built_in_personas_are_whole() -> None:
    """Each habit can be acted, and can be seen to be broken."""
    assert set(PERSONAS) == {"EXPERT", "NOVICE", "EVALUATOR"}
    assert all(
        habit.behavior_instructions and habit.violation_rubrics for who in PERSONAS.values() for habit in who.behaviors
    )


def test_an_unknown_persona_is_a_config_error() -> None:
    """With the nearest known one."""
    with pytest.raises(ConfigError, match="did you mean 'EXPERT'"):
        find_persona(Scenario("a", "b", "expert"), stop_signal="</finished>")
