"""Runs report on whose side an attempt went wrong, and count without those that say nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import fairtrial
from builders import call, turn
from fairtrial import api
from fairtrial.analysis.aggregation import aggregate
from fairtrial.judge.judge import Judge
from fairtrial.llm.model import CallError, NamedModel
from fairtrial.metrics.fault import SIMULATOR, find_invalidations
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics
from fairtrial.metrics.simulator import UserSimulatorQuality
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.planned_case import PlannedCase
from fairtrial.records.attempt import EndedBy, Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet, Scenario
from fairtrial.records.reply import Prompt
from fairtrial.records.result import CaseResult, Criterion, Fault, InvocationInjection, Outcome
from fairtrial.records.score import Score
from fairtrial.records.summary import CriterionSummary, Estimate
from fairtrial.records.trace import About, AgentDetails, Injection, Invocation, Message, Part, ToolResult, Trace
from fairtrial.scoring import score_case
from fairtrial.testing import ScriptedAgent, ScriptedModel, ScriptedUsers
from judged import Say, fenced, reply

GOOD = Criterion("good", lambda trace, _: trace.invocations[-1].reply == "good", 1.0)
PLAN = Scenario("Hello", "Ask where order A-17 is.")


def judge(say: Say | Exception, votes: int = 1) -> Judge:
    """A judge that says the same of everything, or whose model cannot be asked."""

    def line(prompt: Prompt) -> str:
        if isinstance(say, Exception):
            raise say
        return reply(prompt, say)

    return Judge((NamedModel("m", ScriptedModel(line)),), votes=votes)


GONE = judge(CallError("no such server"))
CONTENT = judge(lambda *_: "valid")
STRICT = judge(lambda *_: "invalid")


def scored(
    criteria: Sequence[Criterion] = (GOOD,),
    *invocations: Invocation,
    expected: EvalCase | None = None,
    failure: Failure | None = None,
    ended_by: EndedBy = "script",
) -> CaseResult:
    """The result of one recorded conversation; without invocations the agent said "good"."""
    happened = Trace(invocations or (turn(reply="good"),))
    recording = Recording("case", happened, 1, failure, "failure" if failure else ended_by)
    case = expected or EvalCase("case", (turn(query="hi", reply="good"),))
    (result,) = fairtrial.score([recording], EvalSet("s", (case,)), list(criteria)).cases
    return result


def sides(result: CaseResult) -> list[str]:
    """The sides that there is evidence for."""
    return [fault.side for fault in result.invalidations or ()]


def blamed(result: CaseResult) -> tuple[str, tuple[str, ...]]:
    """The side on which an attempt failed, and what shows it."""
    assert result.fault is not None
    return result.fault.side, result.fault.evidence


def test_what_passed_has_no_fault() -> None:
    """And is valid."""
    result = scored()
    assert (result.verdict, result.fault, result.invalidations) == ("passed", None, ())


def test_without_other_evidence_it_is_the_agent() -> None:
    """Of a reply that fails the criterion, and of a crash, whose cause is the evidence."""
    assert blamed(scored([GOOD], turn(reply="bad"))) == ("agent", ("good failed",))
    crash = scored(failure=Failure("agent", "RuntimeError: boom"))
    assert (crash.verdict, sides(crash)) == ("error", [])
    assert blamed(crash) == ("agent", ("RuntimeError: boom", "good unscored"))


def test_no_recording_is_infrastructure() -> None:
    """A case that nothing was recorded of."""
    run = fairtrial.score([Recording("other", Trace())], EvalSet("s", (EvalCase("case"),)), [GOOD])
    (result,) = run.cases
    assert (result.verdict, blamed(result)) == ("error", ("infrastructure", ("no recording",)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ZeroDivisionError("by 0"), "mine: the metric failed: ZeroDivisionError: by 0"),
        ("text", "mine: the metric failed: MetricError: must return a Score, a number or a bool, got str"),
        (7.0, "mine: must be from 0 to 1, got 7"),
    ],
)
def test_a_metric_that_breaks_is_infrastructure(given: Any, said: str) -> None:
    """One that raises, returns no score, or one outside its range: nobody knows what the agent is worth there."""

    def mine(_trace: Trace, _case: EvalCase) -> Any:
        if isinstance(given, Exception):
            raise given
        return given

    result = scored([Criterion("mine", mine, 0.5), GOOD], turn(reply="bad"))
    assert (result.verdict, blamed(result)) == ("failed", ("infrastructure", (said,)))


def test_a_metric_may_say_whose_doing_it_is_that_there_is_no_value() -> None:
    """Without that an unscored outcome speaks against no side."""
    silent = Criterion("mine", lambda *_: Score(None, "my own model is gone", side="judge"), 0.5)
    assert blamed(scored([silent])) == ("judge", ("mine: my own model is gone",))
    mute = Criterion("mine", lambda *_: Score(None, "nothing to see"), 0.5)
    assert (scored([mute]).verdict, scored([mute]).fault) == ("unscored", None)
    own = Criterion("mine", lambda *_: Score(None, "it hung up", side="agent"), 0.5)
    assert blamed(scored([own])) == ("agent", ("mine unscored",))


def test_a_judge_that_cannot_be_asked_is_the_judges() -> None:
    """With the cause of its abstentions."""
    result = scored([Criterion("match", FinalResponseMatch(GONE), 0.5)])
    said = "match: 1 of 1 votes are abstentions: no such server"
    assert (result.verdict, blamed(result)) == ("unscored", ("judge", (said,)))


def test_a_missing_quorum_is_evidence_also_where_the_rest_decides() -> None:
    """One of three replies cannot be judged: 2/3 at the least, which passes; the attempt is invalid all the same."""
    shaky = judge(lambda _, prompt: None if fenced(prompt, "reply") == "r2" else "valid")
    turns = [turn(reply=f"r{i}") for i in (1, 2, 3)]
    case = EvalCase("case", tuple(turns))
    criteria = [Criterion("match", FinalResponseMatch(shaky), 0.5, aggregation="parts")]
    result = scored(criteria, *turns, expected=case)
    assert (result.verdict, result.fault, sides(result)) == ("passed", None, ["judge"])


def test_a_user_who_leaves_the_plan_is_the_simulators() -> None:
    """The failed criterion on the user is the evidence, message by message."""
    turns = (turn(query="Hello", reply="Hi"), turn(query="Tell me a joke", reply="bad"))
    criteria = [Criterion(SIMULATOR, UserSimulatorQuality(STRICT), 1.0), GOOD]
    result = scored(criteria, *turns, expected=EvalCase("case", scenario=PLAN))
    assert result.verdict == "failed"
    assert blamed(result) == ("simulator", (f"{SIMULATOR}: user message 2: invalid 1: because",))


def test_a_user_who_cannot_go_on_is_the_simulators() -> None:
    """An exception of the simulator's own side."""
    cases = EvalSet("s", (EvalCase("case", scenario=PLAN),))
    agent = ScriptedAgent({"case": [["Hi"], ["good"]]})
    users = ScriptedUsers({"case": ["Hello", ValueError("no idea")]})
    (result,) = fairtrial.evaluate(cases, agent, [GOOD], users=users).cases
    assert (result.verdict, blamed(result)) == ("error", ("simulator", ("ValueError: no idea",)))


def test_the_cap_alone_is_no_evidence() -> None:
    """A conversation without end is valid, and what is open because of it is the agent's."""
    criteria = [Criterion(SIMULATOR, UserSimulatorQuality(CONTENT), 1.0, aggregation="parts")]
    turns = (turn(query="Hello", reply="Hi"), turn(query="Where is it?", reply="Who knows"))
    result = scored(criteria, *turns, expected=EvalCase("case", scenario=PLAN), ended_by="cap")
    assert (result.verdict, result.invalidations) == ("unscored", ())
    assert blamed(result) == (
        "agent",
        ("the conversation was ended by its cap on invocations", f"{SIMULATOR} unscored"),
    )


def test_a_judge_that_is_gone_is_evidence_behind_the_cap_too() -> None:
    """A message before the last could not be judged, cap or not."""
    criteria = [Criterion(SIMULATOR, UserSimulatorQuality(GONE), 1.0, aggregation="parts")]
    turns = (turn(query="Hello", reply="Hi"), *[turn(query="Where is it?", reply="Who knows")] * 2)
    result = scored(criteria, *turns, expected=EvalCase("case", scenario=PLAN), ended_by="cap")
    assert sides(result) == ["judge"]


def test_a_broken_environment_is_the_environments() -> None:
    """An exception of its side."""
    result = scored(failure=Failure("environment", "the model that plays the tool is gone"))
    assert blamed(result) == ("environment", ("the model that plays the tool is gone",))


def injected(*, invalidates: bool) -> Invocation:
    """An invocation whose tool was made to misbehave."""
    fault = Injection("timeout", "after 30 s", invalidates)
    return turn(call("get_order"), ToolResult("get_order", {}, injected=(fault,)), reply="bad")


def test_an_injected_fault_tests_the_agent_unless_the_config_says_otherwise() -> None:
    """By default the agent has to cope; marked `invalidates`, the attempt says nothing about it."""
    said = "timeout injected into get_order in invocation 1: after 30 s"
    assert blamed(scored([GOOD], injected(invalidates=True))) == ("environment", (said,))
    assert blamed(scored([GOOD], injected(invalidates=False))) == ("agent", ("good failed",))


def about(*agents: AgentDetails) -> About:
    """What is known of the agents."""
    return About(agents)


def agent(name: str, *tools: str) -> AgentDetails:
    """An agent with these tools."""
    return AgentDetails(name, "", tuple({"name": tool} for tool in tools))


CALLS = [Criterion("calls", ToolTrajectory(match_type="ANY_ORDER"), 1.0)]


def expecting(*names: str) -> EvalCase:
    """A case that expects these calls."""
    return EvalCase("case", (turn(*(call(name) for name in names), reply="good"),))


def heard(*agents: AgentDetails) -> Invocation:
    """An invocation without calls, of these agents."""
    return replace(turn(reply="good"), about=about(*agents))


def test_an_expected_tool_that_the_agent_does_not_declare_is_the_expectations() -> None:
    """No agent can call what it does not have."""
    result = scored(CALLS, heard(agent("shop", "find", "pay")), expected=expecting("find", "play"))
    said = "calls: the expected tool 'play' is none that the agent declares (find, pay); did you mean 'pay'?"
    assert blamed(result) == ("expectation", (said,))


@pytest.mark.parametrize(
    "agents",
    [
        [],
        [agent("shop")],
        [agent("shop", "find", "transfer_to_agent")],
        [agent("shop", "find", "handoff_to_agent")],
        [AgentDetails("shop", "", ({"name": "find"}, {"name": "escalate", "hands_over_to": "manager"}))],
        [agent("shop", "find", "hosted_mcp")],
        [agent("shop", "find", "mcp_server")],
        [agent("shop", "find"), agent("payment", "pay")],
        [agent("shop", "find", "fetch")],
    ],
)
def test_where_not_every_declaration_is_known_nothing_is_missing(agents: list[AgentDetails]) -> None:
    """Nothing declared, others to hand over to or to ask, several agents (some may not be reached), or declared."""
    assert blamed(scored(CALLS, heard(*agents), expected=expecting("fetch")))[0] == "agent"


def test_an_undeclared_tool_that_need_not_be_called_is_no_evidence() -> None:
    """Optional tools are not compared, and other criteria expect no calls."""
    optional = [Criterion("calls", ToolTrajectory(optional_tools=("fetch",)), 1.0)]
    for criteria in (optional, [GOOD]):
        assert scored(criteria, heard(agent("shop", "find")), expected=expecting("fetch")).invalidations == ()


def test_an_expected_tool_that_is_forbidden_contradicts_itself() -> None:
    """One call of it makes the score 0, none of it too."""
    criteria = [Criterion("calls", ToolTrajectory(forbidden_tools=("drop", "kill")), 1.0)]
    result = scored(criteria, expected=expecting("get", "drop"))
    assert blamed(result) == ("expectation", ("calls: the expected tool 'drop' is one of the forbidden_tools",))


def test_calls_that_the_own_conversation_lacks_contradict_it() -> None:
    """Who does what the invocations say does not do what is expected of the whole; arguments are not compared."""
    criteria = [Criterion("calls", ToolTrajectory(scope="conversation"), 1.0)]
    one = expecting("get", "pay")
    lacking = replace(one, expected_calls=(call("get"), call("get"), call("pay", amount=3)))
    said = "calls: 'get' is expected of the conversation as a whole more often than of its invocations"
    assert blamed(scored(criteria, expected=lacking)) == ("expectation", (said,))
    assert sides(scored(criteria, expected=replace(lacking, expected_calls=(call("pay", amount=3),)))) == []
    silent = replace(lacking, conversation=(turn(reply="good"),))
    assert sides(scored(criteria, expected=silent)) == []


def test_one_rubric_id_for_two_rubrics_is_the_expectations() -> None:
    """Neither can be asked for."""
    twice = (fairtrial.Rubric("kind", "is kind"), fairtrial.Rubric("kind", "is a kind of thing"))
    case = EvalCase("case", (turn(reply="good"),), rubrics=twice)
    result = scored([Criterion("rubrics", FinalResponseRubrics(CONTENT), 0.5)], expected=case)
    said = "rubrics: rubric id 'kind' is given twice: by the case and by the case"
    assert (result.verdict, blamed(result)) == ("unscored", ("expectation", (said,)))


@pytest.mark.parametrize("criterion", [ResponseMatch(), FinalResponseMatch(STRICT)])
def test_a_blank_reference_is_an_empty_expectation(criterion: Any) -> None:
    """Nobody means that an agent that is asked should say and do nothing."""
    result = scored([Criterion("match", criterion, 0.5)], expected=EvalCase("case", (turn(reply="  "),)))
    said = "match: the reference of invocation 1 is blank, and no call is expected there"
    assert blamed(result) == ("expectation", (said,))


@pytest.mark.parametrize(
    "expected",
    [
        turn(),
        turn(call("hand_over"), reply=""),
        turn(Message("one moment", "agent"), reply=""),
        replace(turn(), final_response=Message("", parts=(Part("image/png", data="AA=="),))),
    ],
)
def test_a_reference_that_can_be_meant_is_none(expected: Invocation) -> None:
    """No reference, a call and no word, words before it, a picture."""
    assert (
        scored([Criterion("match", ResponseMatch(), 0.5)], expected=EvalCase("case", (expected,))).invalidations == ()
    )


def test_an_empty_conversation_is_an_empty_expectation() -> None:
    """There, and nothing in it."""
    result = scored([Criterion("match", ResponseMatch(), 0.5)], expected=EvalCase("case", ()))
    assert sides(result) == ["expectation"]


def broken_everywhere() -> dict[str, Any]:
    """A recording, a case, criteria and outcomes with evidence on every side."""
    criteria = [
        Criterion("calls", ToolTrajectory(forbidden_tools=("drop",)), 1.0),
        Criterion(SIMULATOR, UserSimulatorQuality(STRICT), 1.0),
    ]
    outcomes = [
        Outcome("metric", Score(None, "boom", side="infrastructure"), 0.5),
        Outcome("judged", Score(None, "silence", side="judge"), 0.5),
        Outcome(SIMULATOR, Score(0.0, "off the plan"), 1.0),
    ]
    return {
        "recording": Recording("case", Trace()),
        "injections": [InvocationInjection(1, "get_order", Injection("timeout", invalidates=True))],
        "case": expecting("drop"),
        "criteria": criteria,
        "outcomes": outcomes,
    }


def test_the_first_side_that_has_evidence_counts() -> None:
    """Infrastructure, judge, simulator, environment, expectation; all of it is kept."""
    everything = broken_everywhere()
    found = find_invalidations(**everything)
    assert [fault.side for fault in found] == ["infrastructure", "judge", "simulator", "environment", "expectation"]
    failed = CaseResult("case", 0, (Outcome("m", Score(0.0), 0.5),))
    for i, fault in enumerate(found):
        assert replace(failed, invalidations=found[i:]).fault == fault
    assert blamed(replace(failed, invalidations=())) == ("agent", ("m failed",))


@given(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.integers(0, 31))
def test_validity_does_not_depend_on_the_agents_verdict(
    value: float, threshold: float, lower: bool, broken: int
) -> None:
    """Whatever the agent's number and threshold, the evidence is the same, and no other case is dropped."""
    given = broken_everywhere()
    kept = [one for i, one in enumerate(given["outcomes"]) if broken >> i & 1]
    invalidates = bool(broken & 8)
    given["injections"] = [InvocationInjection(1, "get_order", Injection("timeout", invalidates=invalidates))]
    given["criteria"] = given["criteria"] if broken & 16 else []
    own = Outcome("m", Score(value), threshold, lower_is_better=lower)
    without = find_invalidations(**{**given, "outcomes": kept})
    assert find_invalidations(**{**given, "outcomes": [own, *kept]}) == without
    assert bool(without) == bool(broken)


def attempt(position: int, value: float, *, valid: bool = True) -> CaseResult:
    """An attempt at a case with one number."""
    spoiled = () if valid else (Fault("simulator", ("off the plan",)),)
    return CaseResult(f"c{position}", position, (Outcome("m", Score(value), 0.5),), invalidations=spoiled)


def only(results: Sequence[CaseResult]) -> CriterionSummary:
    """The summary of the one criterion."""
    (found,) = aggregate(results).criteria
    return found


def test_valid_numbers_are_those_of_the_valid_attempts_alone() -> None:
    """An invalid attempt leaves them, passed or failed; the numbers over all are as they were."""
    good = [attempt(0, 1.0), attempt(1, 0.0), attempt(2, 1.0)]
    spoiled = [attempt(3, 1.0, valid=False), attempt(4, 0.0, valid=False), attempt(5, 0.0, valid=False)]
    alone, together = only(good), only([*good, *spoiled])
    assert together.valid is not None
    assert (together.valid.n, together.valid.mean, together.valid.pass_rate) == (3, alone.mean, alone.pass_rate)
    assert (together.mean.value, together.pass_rate.value) == (0.5, 0.5)
    assert aggregate([*good, *spoiled]).invalid == {"simulator": 3}


def test_where_all_are_valid_both_numbers_are_the_same() -> None:
    """Crashes of the agent included: they count against it."""
    crash = replace(attempt(2, 0.0), outcomes=(Outcome("m", Score(None), 0.5),), failure=Failure("agent", "boom"))
    found = only([attempt(0, 1.0), attempt(1, 1.0), crash])
    assert found.valid is not None
    assert (found.valid.mean, found.valid.pass_rate) == (found.mean, found.pass_rate)
    assert found.pass_rate.value == pytest.approx(2 / 3)


def test_where_none_is_valid_there_are_no_numbers() -> None:
    """None of nothing."""
    found = only([attempt(0, 1.0, valid=False)]).valid
    assert found is not None
    assert (found.n, found.mean, found.pass_rate) == (0, Estimate(), Estimate())


def test_results_that_nobody_looked_at_are_read_and_not_called_valid() -> None:
    """A result in the store of an older version has neither evidence nor fault."""
    old = (
        b'{"case_id": "c", "position": 0, "outcomes": [{"criterion": "m", "score": {"value": 0.0}, "threshold": 0.5}]}'
    )
    result = msgspec.json.decode(old, type=CaseResult)
    assert (result.verdict, result.fault, result.invalidations) == ("failed", None, None)
    assert only([result, attempt(1, 1.0)]).valid is None


def test_a_resumed_run_has_the_same_faults(tmp_path: Path) -> None:
    """Evidence is of the case and the recording, also of those that were scored before the interruption."""
    store = f"sqlite:///{tmp_path}/r.db"
    cases = EvalSet("s", (expecting("drop"), replace(expecting("get"), id="other")))
    criteria = [Criterion("calls", ToolTrajectory(forbidden_tools=("drop",)), 1.0)]
    agent = ScriptedAgent({"case": [["good"]], "other": [["good"]]})
    plan = api.plan_run(cases, agent, criteria)
    first = list(api.execute(plan, store=store).cases)
    again = list(api.execute(api.resume(plan, plan.info), store=store, resumed=True).cases)
    assert [blamed(one)[0] for one in first] == ["expectation", "agent"]
    assert [(one.fault, one.invalidations) for one in again] == [(one.fault, one.invalidations) for one in first]
    assert [one.invalidations for one in api.reread(store, plan.info.id).cases] == [one.invalidations for one in first]


CASES, BREAK, SOLVE, LUCK = 150, 0.3, 0.8, 0.1
"""Of the simulated users 30 % leave their plan; the agent solves 80 % where they do not, and 10 % where they do."""


def drawn(seed: int) -> list[tuple[bool, bool]]:
    """For each case whether its user leaves the plan, and whether the agent solves it."""
    rng = random.Random(seed)
    broken = [rng.random() < BREAK for _ in range(CASES)]
    return [(one, rng.random() < (LUCK if one else SOLVE)) for one in broken]


def covers(rate: Estimate) -> bool:
    """Whether an interval holds the agent's true pass rate."""
    assert rate.low is not None
    assert rate.high is not None
    return rate.low <= SOLVE <= rate.high


@pytest.mark.long
def test_a_run_in_which_users_leave_their_plan_recovers_the_agents_true_rate() -> None:
    """The interval over valid attempts holds 80 %, which the agent does; the one over all attempts is far from it."""
    fates = {f"c{i}": fate for i, fate in enumerate(drawn(6))}
    users = {name: ["Hello", "Tell me a joke" if broken else "Where is A-17?"] for name, (broken, _) in fates.items()}
    replies = {name: [["Hi"], ["good" if solved else "bad"]] for name, (_, solved) in fates.items()}
    watching = judge(lambda _, prompt: "invalid" if "Tell me a joke" in prompt.text else "valid")
    run = fairtrial.evaluate(
        EvalSet("shop", tuple(EvalCase(name, scenario=PLAN) for name in fates)),
        ScriptedAgent(replies),
        [GOOD, Criterion(SIMULATOR, UserSimulatorQuality(watching), 1.0)],
        users=ScriptedUsers(users),
    )
    found = run.summary.criteria[0]
    assert found.valid is not None
    assert found.valid.n == sum(not broken for broken, _ in fates.values())
    assert covers(found.valid.pass_rate)
    assert found.pass_rate.high is not None
    assert found.pass_rate.high < SOLVE
    assert run.summary.invalid == {"simulator": CASES - found.valid.n}


@pytest.mark.long
def test_over_many_runs_the_interval_of_valid_attempts_keeps_its_level() -> None:
    """In 300 runs it holds the true rate as often as a 95 % interval does (285, give or take 4 standard errors of 3.8).

    The interval over all attempts never does.
    """
    kept_to_plan = Criterion(SIMULATOR, lambda trace, _: trace.invocations[0].query == "Hello", 1.0)
    results = {
        fate: asyncio.run(
            score_case(
                PlannedCase(0, "c", EvalCase("c", scenario=PLAN), (GOOD, kept_to_plan)),
                Recording(
                    "c", Trace((turn(query="joke" if fate[0] else "Hello", reply="good" if fate[1] else "bad"),))
                ),
            )
        )
        for fate in ((False, False), (False, True), (True, False), (True, True))
    }
    valid = naive = 0
    for seed in range(300):
        run = [replace(results[fate], position=i) for i, fate in enumerate(drawn(seed))]
        found = aggregate(run).criteria[0]
        assert found.valid is not None
        valid += covers(found.valid.pass_rate)
        naive += covers(found.pass_rate)
    assert 285 - 15 <= valid <= 300
    assert naive == 0


def surviving(error: str, *, reply: str = "Sorry, our orders are not available.", **more: Any) -> Invocation:
    """An agent that looks up an order, gets an error, and says so."""
    result = ToolResult("get_order", {"error": error}, is_error=True, **more)
    return turn(call("get_order", order_id="A-17"), result, query="Where is A-17?", reply=reply)


DOWN = "ConnectionError: connection refused"
NEEDS_RESULT = turn(call("get_order", order_id="A-17"), query="Where is A-17?", reply="It comes on 2026-12-24.")
NEEDS_NOTHING = turn(call("get_order", order_id="A-17"), query="Where is A-17?", reply="A-17 is on its way.")
NEEDS_ANOTHER_TOOL = turn(call("track", parcel="P-1"), query="Where is A-17?", reply="It comes on 2026-12-24.")


@pytest.mark.parametrize(
    "error",
    [
        DOWN,
        "HTTP 503",
        "503 Service Unavailable",
        "httpx.ConnectTimeout: timed out",
        "TimeoutError: The read operation timed out",
        "TimeoutError: [Errno 110] Connection timed out",
        "Error: TimeoutError - timed out",
        "timed out",
    ],
)
def test_a_tool_that_is_down_is_the_infrastructures_if_its_answer_is_needed(error: str) -> None:
    """The agent cannot know the date that the reference expects."""
    result = scored([GOOD], surviving(error), expected=EvalCase("case", (NEEDS_RESULT,)))
    side, evidence = blamed(result)
    assert side == "infrastructure"
    assert evidence[0].startswith("the tool 'get_order' was down in invocation 1: ")


@pytest.mark.parametrize(
    ("actual", "expected", "warned"),
    [
        (surviving(DOWN), NEEDS_NOTHING, True),
        (surviving(DOWN), NEEDS_ANOTHER_TOOL, True),
        (surviving(DOWN, reply="It comes on 2026-12-24, I think."), NEEDS_RESULT, True),
        (surviving("no order A-17"), NEEDS_RESULT, False),
        (surviving("TimeoutError"), NEEDS_RESULT, False),
        (surviving("the offer timed out"), NEEDS_RESULT, False),
        (surviving(DOWN, injected=(Injection("error", "503"),)), NEEDS_RESULT, False),
    ],
    ids=[
        "not needed",
        "another tool",
        "known anyway",
        "an answer",
        "a limit of its own",
        "an expired offer",
        "injected",
    ],
)
def test_a_tool_that_is_down_otherwise_stands_beside_the_fault(
    actual: Invocation, expected: Invocation, *, warned: bool
) -> None:
    """The agent is at fault, and a warning names the outage."""
    result = scored([GOOD], actual, expected=EvalCase("case", (expected,)))
    assert blamed(result)[0] == "agent"
    assert any("was down" in warning for warning in result.warnings) == warned


def test_a_tool_that_answers_at_last_was_not_down() -> None:
    """The agent called it again."""
    first = surviving(DOWN)
    steps = (*(first.steps or ()), call("get_order", order_id="A-17"), ToolResult("get_order", {"on": "soon"}))
    result = scored([GOOD], replace(first, steps=steps), expected=EvalCase("case", (NEEDS_RESULT,)))
    assert (blamed(result)[0], result.warnings) == ("agent", ())
