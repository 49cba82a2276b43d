"""The stages of the Python API work together."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import call, case, eval_set, recording, said, trace, turn
from fairtrial.api import (
    Run,
    RunOptions,
    calibrate,
    evaluate,
    execute,
    plan_run,
    plan_score,
    reread,
    resume,
    runs,
    score,
)
from fairtrial.errors import ConfigError, UsageError
from fairtrial.metrics.response import ResponseMatch
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet, Scenario
from fairtrial.records.result import CaseResult, Criterion, Verdict
from fairtrial.records.trace import Trace
from plans import with_records

SET = EvalSet("greetings", (case(turn(reply="hello"), name="a"), case(turn(reply="hello"), name="b")))
MATCHES = {"response_match_score": 1.0}


def hello(_trace: Trace) -> str:
    """An agent that says hello."""
    return "hello"


class Greeter:
    """An agent that is an object."""

    def __call__(self, trace: Trace) -> str:
        """Say hello."""
        return hello(trace)


@pytest.mark.parametrize(("agent", "name"), [(hello, "hello"), (Greeter(), "Greeter")])
def test_a_run_says_which_agent_it_was(agent: Any, name: str) -> None:
    """A function by its name, an object by its class."""
    assert plan_run(SET, agent, MATCHES).info.config["agent"] == name


def verdicts(run: Run) -> dict[tuple[str, int], Verdict]:
    """The verdict of each attempt."""
    return {(one.title, one.attempt): one.verdict for one in run.cases}


def test_evaluate_runs_and_scores() -> None:
    """An agent that says what it should passes."""
    run = evaluate(SET, hello, MATCHES)
    assert run.verdict is Verdict.PASSED
    assert verdicts(run) == {("a", 1): Verdict.PASSED, ("b", 1): Verdict.PASSED}


def test_every_attempt_is_a_result() -> None:
    """Cases keep their order, the attempts of one follow each other."""
    run = evaluate(SET, hello, MATCHES, attempts=2)
    assert list(verdicts(run)) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_an_agent_that_crashes_is_an_error_and_the_run_failed() -> None:
    """Its text and traceback are kept; it is never silently dropped."""

    def agent(trace: Trace) -> str:
        if trace.session_id == "a":
            raise ValueError("no")
        return "hello"

    run = evaluate(SET, agent, MATCHES)
    first, second = run.cases
    assert (first.verdict, second.verdict, run.verdict) == (Verdict.ERROR, Verdict.PASSED, Verdict.FAILED)
    assert first.failure is not None
    assert first.failure.cause.startswith("ValueError: no (")
    assert "raise ValueError" in first.failure.traceback


def test_an_agent_that_says_nothing_has_said_something_blank() -> None:
    """A silent turn is a turn: 0 against a reference, not a broken run."""
    run = evaluate(SET, lambda _trace: None, MATCHES)
    assert set(verdicts(run).values()) == {Verdict.FAILED}


def test_a_metric_is_a_function() -> None:
    """Its bool passes or fails; beside it the efficiency criteria are computed."""

    def short(trace: Trace, case: EvalCase) -> bool:  # noqa: ARG001
        return len(trace.invocations[0].reply) < 10

    criteria: dict[str, Any] = {"short": short, "response_match_score": 1.0}
    run = evaluate(SET, hello, criteria)
    (first, _) = run.cases
    assert [one.criterion for one in first.outcomes][:2] == ["short", "response_match_score"]
    assert first.outcomes[0].verdict is Verdict.PASSED
    assert "invocation_duration_v1" in [one.criterion for one in first.outcomes]


def test_criteria_may_be_made_in_python() -> None:
    """A metric with its threshold."""
    run = evaluate(SET, hello, [Criterion("match", ResponseMatch(rouge_type="rougeL"), 1.0, aggregation="parts")])
    assert run.verdict is Verdict.PASSED
    assert run.info.signatures["match"]["options"]["rouge_type"] == "rougeL"


@pytest.mark.parametrize(
    ("agent", "criteria", "problem"),
    [
        (5, MATCHES, "must be a function or 'module:function', got int"),
        ("nowhere", MATCHES, "must be 'module:function'"),
        (hello, {"responce_match_score": 1.0}, "did you mean 'response_match_score'"),
        (hello, {"response_match_score": 2.0}, "must be a number from 0 to 1, or an object with options, got 2.0"),
    ],
)
def test_a_mistake_is_a_usage_error_before_anything_runs(agent: Any, criteria: Any, problem: str) -> None:
    """No agent is called."""
    with pytest.raises(UsageError, match=problem):
        evaluate(SET, agent, criteria)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"attempts": 0}, "attempts must be a whole number, 1 or more, got 0"),
        ({"attempts": 1.5}, "attempts must be a whole number, 1 or more, got 1.5"),
        ({"concurrency": 0}, "concurrency must be a whole number, 1 or more, got 0"),
        ({"reply_timeout": 0}, "reply_timeout must be a number of seconds above 0, or None, got 0"),
        ({"eval_set": None}, "a list of objects of the class Case, dicts or pairs, got NoneType"),
        ({"eval_set": {"eval_cases": []}}, "dicts or pairs, got dict"),
        ({"eval_set": [SET]}, "dicts or pairs; got EvalSet as item 1"),
        ({"eval_set": []}, "dicts or pairs, got list of nothing"),
        ({"eval_set": "a" * 5000}, "aaa…: File name too long"),
        ({"criteria": Criterion("m", ResponseMatch())}, "list of objects of the class Criterion, got Criterion"),
        ({"criteria": "a" * 5000}, "aaa…: File name too long"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_a_usage_error(given: dict[str, Any], problem: str) -> None:
    """What is no number of attempts, no eval set or no criteria is said, with what it may be; nothing hangs."""
    with pytest.raises(UsageError, match=re.escape(problem)):
        plan_run(**with_records({"eval_set": SET, "agent": hello, "criteria": MATCHES, **given}))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"recordings": recording()}, "objects of the class Recording or Trace, got Recording"),
        ({"recordings": [recording(), "a.json"]}, "got list of Recording, str"),
        ({"recordings": [{"role": "user"}]}, "got list of dict"),
        ({"match": "name"}, "match must be one of id, session, query, order, got 'name'"),
        ({"concurrency": 0}, "concurrency must be a whole number"),
    ],
)
def test_what_cannot_be_scored_is_a_usage_error(given: dict[str, Any], problem: str) -> None:
    """So is what can be no recording, and a way to match that there is not."""
    with pytest.raises(UsageError, match=re.escape(problem)):
        plan_score(**with_records({"recordings": [recording()], "eval_set": SET, "criteria": MATCHES, **given}))


def test_recordings_may_come_from_a_generator() -> None:
    """What can be gone through only once is gone through once."""
    run = score((recording(turn(reply="hello"), name=name) for name in "ab"), SET, MATCHES)
    assert verdicts(run) == {("a", 1): Verdict.PASSED, ("b", 1): Verdict.PASSED}


def test_what_a_config_file_holds_may_be_given_as_a_dict() -> None:
    """Whole, as `json.load` gives it, or its criteria alone."""
    whole: dict[str, Any] = {"criteria": MATCHES, "user_simulator_config": {"max_allowed_invocations": 3}}
    plans = plan_run(SET, hello, whole), plan_run(SET, hello, MATCHES)
    first, second = ([case.criteria for case in plan.cases] for plan in plans)
    assert first == second


def test_only_may_be_one_id() -> None:
    """A string is one id, not a sequence of letters."""
    assert list(verdicts(evaluate(SET, hello, MATCHES, only="a"))) == [("a", 1)]


def test_only_chooses_cases() -> None:
    """Their positions stay those of the file."""
    run = evaluate(SET, hello, MATCHES, only=["b"])
    assert [(one.case_id, one.position) for one in run.cases] == [("b", 1)]


def test_it_runs_inside_a_running_loop() -> None:
    """In a notebook a loop is already running."""

    async def cell() -> Verdict:
        return evaluate(SET, hello, MATCHES).verdict

    assert asyncio.run(cell()) is Verdict.PASSED


def test_results_outlive_the_run_that_nobody_keeps() -> None:
    """`for case in evaluate(...).cases` reads them to the end."""
    assert [one.case_id for one in evaluate(SET, hello, MATCHES).cases] == ["a", "b"]


def test_an_empty_eval_set_is_refused() -> None:
    """Nothing would be tested."""
    with pytest.raises(UsageError, match="there are no cases"):
        evaluate(EvalSet("none"), hello, MATCHES)


def test_a_run_is_neither_true_nor_false() -> None:
    """`assert evaluate(...)` would pass whatever the verdict."""
    with pytest.raises(TypeError, match="compare its verdict"):
        bool(evaluate(SET, hello, MATCHES))


def test_score_recordings_in_memory_against_an_eval_set() -> None:
    """Recordings are matched by the id of their case."""
    heard = [recording(turn(reply="hello"), name="b"), recording(turn(reply="goodbye"), name="a")]
    assert verdicts(score(heard, SET, MATCHES)) == {("a", 1): Verdict.FAILED, ("b", 1): Verdict.PASSED}


def test_a_case_that_was_not_recorded_leaves_the_run_unscored() -> None:
    """No recording is an error that is not the agent's."""
    run = score([recording(turn(reply="hello"), name="a")], SET, MATCHES)
    assert verdicts(run) == {("a", 1): Verdict.PASSED, ("b", 1): Verdict.ERROR}
    assert run.verdict is Verdict.UNSCORED


def test_a_failed_recording_keeps_its_side() -> None:
    """A failure of the agent fails the run, another one leaves it unscored."""
    for side, verdict in (("agent", Verdict.FAILED), ("simulator", Verdict.UNSCORED)):
        heard = Recording("a", trace(), failure=Failure(side, "gone"), ended_by="failure")  # type: ignore[arg-type]
        assert score([heard], replace(SET, cases=SET.cases[:1]), MATCHES).verdict is verdict


def test_traces_need_no_expectation() -> None:
    """Criteria without reference score what happened; those with one do not apply, and the run is not passed."""
    run = score([trace(turn(call("f"), reply="hello"))], criteria={"tool_call_count_v1": 1, **MATCHES})
    (one,) = run.cases
    found = {outcome.criterion: outcome.verdict for outcome in one.outcomes}
    assert found["tool_call_count_v1"] is Verdict.PASSED
    assert found["response_match_score"] is Verdict.NOT_APPLICABLE
    assert run.verdict is Verdict.UNSCORED


def written(folder: Path, name: str, *replies: str, reference: str = "hello") -> Path:
    """A result file: one case, one invocation, expected and actual."""
    pairs = [
        {
            "eval_id": "one",
            "eval_metric_result_per_invocation": [
                {
                    "actual_invocation": {"user_content": said("hi"), "final_response": said(reply)},
                    "expected_invocation": {"user_content": said("hi"), "final_response": said(reference)},
                }
            ],
        }
        for reply in replies
    ]
    file = folder / name
    file.write_text(json.dumps({"eval_set_id": name, "eval_case_results": pairs}))
    return file


def test_a_file_that_holds_both_sides_needs_no_eval_set(tmp_path: Path) -> None:
    """Results of a case are its attempts."""
    run = score(written(tmp_path, "r.evalset_result.json", "hello", "bye"), criteria=MATCHES)
    assert list(verdicts(run).values()) == [Verdict.PASSED, Verdict.FAILED]


def test_files_with_equal_ids_are_scored_each_against_itself(tmp_path: Path) -> None:
    """Ids need only be unique in one file."""
    files = [
        written(tmp_path, "r.evalset_result.json", "hello"),
        written(tmp_path, "s.evalset_result.json", "bye", reference="bye"),
    ]
    assert list(verdicts(score(files, criteria=MATCHES)).values()) == [Verdict.PASSED, Verdict.PASSED]


def test_an_eval_set_that_was_recorded_expects_nothing(tmp_path: Path) -> None:
    """Its conversations are what happened; they are not held against themselves."""
    file = tmp_path / "a.evalset.json"
    file.write_text(json.dumps(eval_set({"user_content": said("hi"), "final_response": said("hello")})))
    (one,) = score(file, criteria=MATCHES).cases
    assert one.outcomes[0].verdict is Verdict.NOT_APPLICABLE
    (other,) = score(file, file, MATCHES).cases
    assert other.outcomes[0].verdict is Verdict.PASSED


def test_an_eval_set_of_no_json_is_a_usage_error() -> None:
    """It could not be told apart from another one, nor written to a file."""
    odd = replace(SET, cases=(replace(SET.cases[0], final_session_state={"x": object()}),))
    with pytest.raises(UsageError, match="must hold JSON only"):
        evaluate(odd, hello, MATCHES)


def test_a_recording_of_no_json_is_a_usage_error() -> None:
    """It could not be kept."""
    with pytest.raises(UsageError, match="the recording '1' must hold JSON only"):
        score([trace(turn(call("f", x=object())))], SET, MATCHES)


def test_nouns_made_in_python_are_taken_as_a_file_would_give_them() -> None:
    """A tuple is an array: what was expected as one is equal to what was recorded as the other."""
    expected = EvalSet("s", (case(turn(call("f", x=(1, 2))), name="1"),))
    run = score([trace(turn(call("f", x=[1, 2])))], expected, {"tool_trajectory_avg_score": 1.0})
    assert run.verdict is Verdict.PASSED


@pytest.mark.long
def test_a_scenario_needs_somebody_to_play_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key for the model that would, nothing runs."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="no key"):
        evaluate(EvalSet("s", (EvalCase("a", scenario=Scenario("hi", "buy")),)), hello, MATCHES)


def test_a_run_is_read_back_from_its_store(tmp_path: Path) -> None:
    """With the same numbers."""
    url = f"sqlite:///{tmp_path}/runs.db"
    run = evaluate(SET, hello, MATCHES, store=url)
    again = reread(url, run.info.id)
    assert (again.summary, list(again.cases)) == (run.summary, list(run.cases))
    assert again.info == run.info
    assert again.info.verdict is Verdict.PASSED


def test_results_are_heard_as_they_come() -> None:
    """For progress."""
    heard: list[CaseResult] = []
    run = execute(plan_run(SET, hello, MATCHES), on_result=lambda result, _: heard.append(result))
    assert sorted(one.case_id for one in heard) == [one.case_id for one in run.cases]


def test_two_runs_of_the_same_give_the_same() -> None:
    """Cases and summary are equal but for durations."""
    runs = [evaluate(SET, hello, MATCHES, attempts=2) for _ in range(2)]
    first, second = (
        [
            (one.case_id, one.attempt, [o for o in one.outcomes if o.criterion != "invocation_duration_v1"])
            for one in run.cases
        ]
        for run in runs
    )
    assert first == second


def test_a_result_is_committed_while_the_next_conversation_is_held(tmp_path: Path) -> None:
    """The third case waits until another reader sees the results of the first two."""
    url = f"sqlite:///{tmp_path}/runs.db"
    third = replace(SET.cases[0], id="c")

    async def agent(trace: Trace) -> str:
        if trace.session_id == "c":
            while len(list(reread(url, runs(url)[0].id).cases)) < 2:  # noqa: ASYNC110  (a database sets no event)
                await asyncio.sleep(0.01)
        return "hello"

    run = evaluate(replace(SET, cases=(*SET.cases, third)), agent, MATCHES, concurrency=1, reply_timeout=60, store=url)
    assert run.verdict is Verdict.PASSED


class Flaky:
    """A metric that answers only when it is told to, and counts how often it was asked."""

    def __init__(self) -> None:
        self.answers = False
        self.asked: list[str] = []

    def __call__(self, trace: Trace, case: EvalCase) -> float:  # noqa: ARG002
        self.asked.append(case.id)
        if not self.answers and case.id == "b":
            raise ValueError("not now")
        return 1.0


def test_a_resume_computes_only_what_is_unscored(tmp_path: Path) -> None:
    """Conversations stand, outcomes that were scored stay."""
    url, flaky, calls = f"sqlite:///{tmp_path}/runs.db", Flaky(), []

    def agent(trace: Trace) -> str:
        calls.append(trace.session_id)
        return "hello"

    criteria = [Criterion("flaky", flaky, 1.0)]
    plan = plan_run(SET, agent, criteria, run=RunOptions(concurrency=1))
    run = execute(plan, store=url)
    assert run.verdict is Verdict.UNSCORED
    flaky.answers = True
    resumed = execute(resume(plan_run(SET, agent, criteria), run.info), store=url, resumed=True)
    assert (resumed.verdict, resumed.info.id) == (Verdict.PASSED, run.info.id)
    assert calls == ["a", "b"]
    assert flaky.asked == ["a", "b", "b"]


def test_a_resume_may_add_attempts(tmp_path: Path) -> None:
    """What was held stands."""
    url = f"sqlite:///{tmp_path}/runs.db"
    run = evaluate(SET, hello, MATCHES, store=url)
    plan = resume(plan_run(SET, hello, MATCHES, run=RunOptions(2)), run.info)
    assert list(verdicts(execute(plan, store=url, resumed=True))) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def other(_trace: Trace) -> str:
    """Another agent."""
    return "hallo"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"agent": other}, "agent"),
        ({"criteria": {"response_match_score": 0.5}}, "response_match_score"),
        ({"only": ["a"]}, "only"),
        ({"reply_timeout": 5.0}, "reply_timeout"),
        ({"attempts": 1}, "attempts must be at least 2"),
        ({"eval_set": replace(SET, cases=SET.cases[:1])}, "eval set .* is not the same as in the run"),
    ],
)
def test_a_resume_of_another_run_is_refused_naming_the_difference(change: dict[str, Any], name: str) -> None:
    """Numbers of two different runs must not be mixed; concurrency makes no difference."""
    given: dict[str, Any] = {"eval_set": SET, "agent": hello, "criteria": MATCHES, "attempts": 2}
    before = plan_run(**with_records(given))
    resume(plan_run(**with_records({**given, "concurrency": 1})), before.info)
    with pytest.raises(UsageError, match=name):
        resume(plan_run(**with_records({**given, **change})), before.info)


def test_a_resume_with_another_file_is_refused(tmp_path: Path) -> None:
    """The digest of the bytes tells."""
    file = tmp_path / "a.evalset.json"
    file.write_text(json.dumps(eval_set({"user_content": said("hi")})))
    before = plan_run(file, hello, MATCHES).info
    file.write_text(json.dumps(eval_set({"user_content": said("bye")})))
    with pytest.raises(UsageError, match=r"eval set .* is not the same as in the run"):
        resume(plan_run(file, hello, MATCHES), before)


def test_warnings_are_kept_with_the_plan(tmp_path: Path) -> None:
    """A recording that answers nothing is said."""
    plan = plan_score([recording(name="z")], SET, MATCHES)
    assert plan.warnings == ("recording 'z' belongs to no case",)
    assert tmp_path.exists()


@pytest.mark.parametrize("criteria", [{}, []])
def test_no_criteria_are_an_error(criteria: Any) -> None:
    """Nothing would be tested."""
    with pytest.raises(ConfigError, match="at least one criterion"):
        evaluate(SET, lambda _: "hello", criteria)


@pytest.mark.parametrize(
    ("criteria", "problem"),
    [
        (
            [Criterion("m", ResponseMatch(), 0.5), Criterion("m", ResponseMatch(), 0.6)],
            "the name 'm' stands there twice",
        ),
        ([Criterion("m", ResponseMatch(), 5)], "m: threshold: must be a number from 0 to 1, got 5"),
        ([Criterion("m", ResponseMatch(), "high")], "m: threshold: must be a number from 0 to 1, got 'high'"),  # type: ignore[arg-type]
        ([Criterion("m", ResponseMatch(), range=(0, 1))], "m: range: must be a Range, such as"),  # type: ignore[arg-type]
        ([Criterion("m", 5)], "m: metric: must be something to call"),  # type: ignore[arg-type]
        ({"m": ResponseMatch}, "m: metric: must be something to call"),
        ({"m": hello}, r"m: metric: must take 2 arguments \(trace, case\), got \(_trace"),
        ([hello], "must hold objects of the class Criterion, got <function hello"),
    ],
)
def test_criteria_made_in_python_are_checked_like_those_of_a_file(criteria: Any, problem: str) -> None:
    """A threshold that nothing can reach, or a name twice, is found before anything runs."""
    with pytest.raises(ConfigError, match=f"arguments: criteria: {problem}"):
        evaluate(SET, hello, criteria)


def test_a_threshold_made_in_python_is_coerced_like_that_of_a_file() -> None:
    """`true` and `"0.5"` are numbers there too."""
    thresholds: tuple[Any, ...] = (True, "0.5")
    result, *_ = evaluate(SET, hello, [Criterion(str(one), ResponseMatch(), one) for one in thresholds]).cases
    assert [outcome.threshold for outcome in result.outcomes] == [1.0, 0.5]


def test_labels_that_are_not_there_are_a_usage_error() -> None:
    """The message names the file."""
    run = evaluate(EvalSet("set", (case(turn(reply="a")),)), lambda _: "a", {"response_match_score": 0.5})
    with pytest.raises(UsageError, match=r"nofile\.csv: No such file or directory"):
        calibrate(run, "nofile.csv")
