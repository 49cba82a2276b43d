"""Scoring ends with a result for every recording, whatever a metric does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from builders import case, criterion, recording, turn, work
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.planned_case import Pair
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.result import CaseResult, Criterion, Outcome, Verdict
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import Range, Score
from fairtrial.records.trace import Trace, Usage
from fairtrial.scoring import as_score, score, score_case
from judged import Bench

SAID = recording(turn(reply="hello"))


def outcome(metric: Callable[[Trace, EvalCase], Any], heard: Recording = SAID, **more: Any) -> Outcome:
    """The outcome of one metric of a user."""
    (found,) = asyncio.run(score_case(work(criterion(metric, **more)), heard)).outcomes
    return found


def returns(value: Any) -> Callable[[Trace, EvalCase], Any]:
    """A metric that returns this."""
    return lambda _trace, _case: value


def raises(error: BaseException) -> Callable[[Trace, EvalCase], Any]:
    """A metric that raises this."""

    def metric(_trace: Trace, _case: EvalCase) -> float:
        raise error

    return metric


@pytest.mark.parametrize(("returned", "value"), [(True, 1.0), (False, 0.0), (1, 1.0), (0.25, 0.25), (Score(0.5), 0.5)])
def test_a_metric_returns_a_score_a_number_or_a_bool(returned: Any, value: float) -> None:
    """True is 1."""
    assert outcome(returns(returned)).score.value == value


def test_a_metric_may_be_async() -> None:
    """It is awaited here and nowhere else."""

    async def metric(_trace: Trace, _case: EvalCase) -> float:
        await asyncio.sleep(0)
        return 1.0

    assert outcome(metric).verdict is Verdict.PASSED


class SilentError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Foreign(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no"), "the metric failed: ValueError: no"),
        (ValueError(), "the metric failed: ValueError"),
        (SystemExit(3), "the metric failed: SystemExit: 3"),
        (asyncio.CancelledError(), "the metric failed: CancelledError"),
        (RecursionError("deep"), "the metric failed: RecursionError: deep"),
        (Foreign("x"), "the metric failed: Foreign: x"),
        (SilentError(), "the metric failed: SilentError: <its message cannot be read>"),
        (ValueError("\ud800"), "the metric failed: ValueError: ?"),
    ],
)
def test_a_metric_that_raises_leaves_its_outcome_unscored(error: BaseException, reason: str) -> None:
    """Whatever it raises, the reason says it, and the run goes on."""
    found = outcome(raises(error))
    assert (found.verdict, found.score.reason) == (Verdict.UNSCORED, reason)


def test_an_interruption_is_not_the_metrics() -> None:
    """Ctrl-C ends the run, also while a metric is computed."""
    with pytest.raises(KeyboardInterrupt):
        outcome(raises(KeyboardInterrupt()))


@pytest.mark.parametrize(
    "returned",
    [
        None,
        "1.0",
        float("nan"),
        float("inf"),
        10**400,
        [1.0],
        Score(float("nan")),
        Score("0.5"),  # type: ignore[arg-type]
        Score(0.5, reason=None),  # type: ignore[arg-type]
        Score(0.5, parts=(0.5,)),  # type: ignore[arg-type]
        Score(0.5, "\ud800"),
        Score(0.5, quotes=(object(),)),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_score_is_unscored(returned: Any) -> None:
    """Neither a pass nor a zero, and nothing that the store could not give back."""
    found = outcome(returns(returned))
    assert found.verdict is Verdict.UNSCORED
    assert found.score.reason.startswith("the metric failed: ")


def test_a_score_without_value_keeps_its_reason() -> None:
    """None with a reason is a metric's own "could not be scored"."""
    found = outcome(returns(Score(None, "no weather today")))
    assert (found.verdict, found.score.reason) == (Verdict.UNSCORED, "no weather today")


def test_a_metric_may_say_that_it_does_not_apply() -> None:
    """`Score(applicable=False)` leaves every mean."""
    assert outcome(returns(Score(applicable=False))).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("value", [-0.1, 1.1, True + 1])
def test_a_value_outside_the_range_is_unscored(value: float) -> None:
    """A custom metric says its range; 0 to 1 without."""
    found = outcome(returns(value))
    assert found.verdict is Verdict.UNSCORED
    assert found.score.reason == f"must be from 0 to 1, got {value:g}"


def test_a_value_inside_its_own_range_is_scored() -> None:
    """A range from 1 to 5."""
    assert outcome(returns(4.5), threshold=4, range=Range(1, 5)).verdict is Verdict.PASSED


def test_the_parts_of_a_users_score_inform_only() -> None:
    """Its own value counts, whatever its parts are."""
    found = outcome(returns(Score(1.0, parts=(Score(0.0), Score(None)))))
    assert (found.verdict, len(found.score.parts)) == (Verdict.PASSED, 2)


def broken(*replies: str, side: Any = "agent") -> Recording:
    """A recording that broke in the invocation after these replies."""
    done = [turn(reply=reply) for reply in replies]
    trace = Trace((*done, turn()))
    return Recording("case", trace, failure=Failure(side, "timeout"), ended_by="failure")


def test_completed_invocations_of_a_failed_recording_are_scored() -> None:
    """The broken one is unscored, naming the failure; the case is an error, unless it already fails by bounds."""
    expected = case(turn(reply="a"), turn(reply="b"))
    one = Criterion("response_match_score", ResponseMatch(), 0.5, aggregation="parts")
    found = asyncio.run(score_case(work(one, expected=expected), broken("a")))
    assert [part.value for part in found.outcomes[0].score.parts] == [1, None]
    assert found.outcomes[0].score.parts[1].reason == "broke here: timeout"
    assert found.outcomes[0].verdict is Verdict.PASSED, "the mean is at least 0.5"
    assert found.verdict is Verdict.ERROR
    failing = asyncio.run(score_case(work(replace(one, threshold=0.6), expected=expected), broken("x")))
    assert failing.verdict is Verdict.FAILED


def test_conversation_level_criteria_of_a_failed_recording_are_unscored() -> None:
    """Nobody knows how the conversation would have ended: metrics of users see whole conversations."""
    found = outcome(returns(1.0), broken("a"))
    assert (found.verdict, found.score.reason) == (Verdict.UNSCORED, "the conversation broke: timeout")


@pytest.mark.parametrize("side", ["agent", "simulator", "environment", "infrastructure"])
def test_a_failure_of_any_side_is_treated_alike(side: str) -> None:
    """Who broke it matters for the run, not for the score."""
    assert asyncio.run(score_case(work(criterion(returns(1.0))), broken(side=side))).verdict is Verdict.ERROR


def test_a_failure_without_a_cause_is_one() -> None:
    """A recording from elsewhere may not say why."""
    silent = Recording("case", Trace(), failure=Failure("agent", ""))
    assert outcome(returns(1.0), silent).score.reason == "the conversation broke: failure of the agent"


def test_a_criterion_without_threshold_informs_also_where_it_failed() -> None:
    """An informational outcome is never an error of the case."""
    assert outcome(raises(ValueError("no")), threshold=None).verdict is Verdict.INFORMATIONAL


def test_usage_is_what_was_recorded() -> None:
    """Tokens in and out, the number of model calls and of those without tokens; None where nothing was recorded."""
    used = replace(turn(reply="a"), usages=(Usage(10, 5), Usage(model="m")))
    found = asyncio.run(score_case(work(), recording(used)))
    assert found.usage == {"input_tokens": 10, "output_tokens": 5, "inference_calls": 2, "unreported_calls": 1}
    assert asyncio.run(score_case(work(), SAID)).usage is None


def test_a_reply_whose_calls_are_not_recorded_is_a_call_without_tokens() -> None:
    """The sums are those of the other reply, so that the whole usage is larger."""
    turns = (replace(turn(reply="a"), usages=(Usage(10, 5),)), turn(reply="b"))
    found = asyncio.run(score_case(work(), recording(*turns)))
    assert found.usage == {"input_tokens": 10, "output_tokens": 5, "inference_calls": 2, "unreported_calls": 1}


def test_user_messages_that_differ_are_a_warning_with_the_first_difference() -> None:
    """Invocations are paired by position, whatever was said."""
    heard = recording(turn(query="hi "), turn(query="buy"), turn(query="sell"))
    expected = case(turn(query="hi"), turn(query="look"), turn(query="stop"))
    found = asyncio.run(score_case(work(expected=expected), heard))
    assert found.warnings == ("the user's message of invocation 2 differs: 'buy' recorded, 'look' expected",)


def test_surplus_invocations_are_reported() -> None:
    """They are not scored."""
    found = asyncio.run(score_case(work(), recording(turn(), turn())))
    assert found.warnings == ("2 invocations recorded, 1 expected; the surplus is not scored",)


def test_a_rubric_without_a_type_is_a_warning_once() -> None:
    """Where the criterion on final responses takes it; nobody needs to look into the parts of a passed score."""
    bench = Bench(lambda *_: "yes")
    untyped = EvalCase("c", rubrics=(Rubric("brief", "is brief"),))
    heard = recording(turn(query="a", reply="b"), turn(query="c", reply="d"))
    metrics = [criterion(FinalResponseRubrics(bench.judge)), criterion(ResponseMatch())]
    with_it, without = (asyncio.run(score_case(work(one, expected=untyped), heard)) for one in metrics)
    assert with_it.warnings == ("rubric 'brief' of the case has no type; it is taken as FINAL_RESPONSE_QUALITY",)
    assert without.warnings == ()


def scored(pairs: list[Pair], *, concurrency: int = 4, known: Any = None) -> list[CaseResult]:
    """The results of these recordings, in the order of completion."""

    async def given() -> AsyncIterator[Pair]:
        for pair in pairs:
            yield pair

    async def run() -> list[CaseResult]:
        return [result async for result in score(given(), concurrency=concurrency, earlier=known)]

    return asyncio.run(run())


def test_one_broken_case_does_not_end_the_run() -> None:
    """The others are scored."""

    def metric(_trace: Trace, case: EvalCase) -> float:
        if case.id == "b":
            raise ValueError("no")
        return 1.0

    pairs = [
        (work(criterion(metric), expected=case(name=name), position=i), recording(name=name))
        for i, name in enumerate("abc")
    ]
    verdicts = {result.case_id: result.verdict for result in scored(pairs)}
    assert verdicts == {"a": Verdict.PASSED, "b": Verdict.UNSCORED, "c": Verdict.PASSED}


def test_no_more_than_the_limit_are_scored_at_once() -> None:
    """Of four cases two at a time, and two they are."""
    running = most = 0
    gate = asyncio.Event()

    async def metric(_trace: Trace, _case: EvalCase) -> float:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            gate.set()
        await gate.wait()
        running -= 1
        return 1.0

    pairs = [(work(criterion(metric), position=i), SAID) for i in range(4)]
    assert len(scored(pairs, concurrency=2)) == 4
    assert most == 2


def test_known_outcomes_stay_and_unscored_ones_are_computed_again() -> None:
    """A resume asks nobody twice."""
    asked: list[str] = []

    def metric(name: str) -> Criterion:
        def called(_trace: Trace, _case: EvalCase) -> float:
            asked.append(name)
            return 1.0

        return criterion(called, name=name)

    outcomes = (Outcome("done", Score(0.0), 0.5), Outcome("open", Score(None), 0.5))
    known = {(0, 1): CaseResult("case", 0, outcomes)}
    (found,) = scored([(work(metric("done"), metric("open"), metric("new")), SAID)], known=known)
    assert asked == ["open", "new"]
    assert [one.verdict for one in found.outcomes] == ["failed", "passed", "passed"]


def test_a_score_of_ours_is_held_against_its_parts() -> None:
    """Built-in criteria count by bounds."""
    one = Criterion("tool_trajectory_avg_score", ToolTrajectory(), 1.0, aggregation="parts")
    (found,) = asyncio.run(score_case(work(one), SAID)).outcomes
    assert found.verdict is Verdict.PASSED


def test_as_score_does_not_take_text_for_a_number() -> None:
    """Numbers in text are a mistake."""
    with pytest.raises(Exception, match="must return a Score, a number or a bool, got str"):
        as_score("1")
