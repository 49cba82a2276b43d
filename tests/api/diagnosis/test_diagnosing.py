"""A failed case is repeated without a suspect, and the change names the side at fault."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fairtrial
from builders import case, turn
from fairtrial import Criterion, EvalSet, ResponseMatch, Scenario, ToolCall, ToolResult, Trace
from fairtrial.api.diagnosis.diagnosing import CERTAIN
from fairtrial.records.case import EvalCase
from fairtrial.stats.beta import probability_larger
from fairtrial.testing import ScriptedUser
from fairtrial.text.languages import speaking
from fairtrial.text.translated_lines import say_sentence

CRITERIA = [Criterion("reply", ResponseMatch(), threshold=0.95)]
ASKED = "Where is my order?"


def notes(cases: list[EvalCase], agent: Callable[..., Any], repetitions: int = 5, **options: Any) -> list[str]:
    """The notes of a run about its failures."""
    run = fairtrial.evaluate(EvalSet("shop", tuple(cases)), agent, CRITERIA, diagnose=repetitions, **options)
    return [note.removeprefix("diagnose: ") for note in run.summary.notes if note.startswith("diagnose")]


def get_order() -> dict[str, str]:
    """Look up the order."""
    return {"state": "shipped"}


def faithful(_: Trace, call: Any) -> Iterator[Any]:
    """Reply what the tool says."""
    yield f"Your order is {call(get_order)['state']}."


def down() -> dict[str, str]:
    """Look up the order in a backend that is down."""
    raise ConnectionError("connection refused")


def polite(_: Trace, call: Any) -> Iterator[Any]:
    """Say that the tool is down instead of falling over it."""
    try:
        order = call(down)
    except ConnectionError as error:
        yield ToolResult("down", f"ConnectionError: {error}", "call-1", is_error=True)
        yield "Sorry, I cannot look that up now."
        return
    yield f"Your order is {order['state']}."


def careless(_: Trace, call: Any) -> Iterator[Any]:
    """Reply something else than the tool says."""
    call(get_order)
    yield "I do not know."


SHIPPED = case(turn(query=ASKED, reply="Your order is shipped."), name="order")


def test_a_tool_that_was_down_is_the_infrastructure() -> None:
    """With the recorded answer of the reference in its place, the agent passes."""
    steps = (ToolCall("down", {}, "c1"), ToolResult("down", {"state": "shipped"}, "c1"))
    recorded = case(turn(*steps, query=ASKED, reply="Your order is shipped."), name="order")
    (note,) = notes([recorded], polite)
    assert note == (
        "'order': the side is the infrastructure and not the agent: 5 of 5 attempts pass with the recorded answer of "
        "down, which was down, and 0 of 5 pass as the case is; the probability is 99.9% that this change makes the "
        "case pass more often"
    )


def test_a_tool_that_was_down_without_a_recorded_answer_is_not_decided() -> None:
    """Nothing can take its place, and no repetition is paid for."""
    (note,) = notes([SHIPPED], polite)
    assert note.startswith("'order': not decided: down was down, and neither the reference nor another attempt holds")


def test_wrong_data_that_was_injected_is_the_environment() -> None:
    """Without the injection, the agent repeats the right answer as faithfully."""
    wrong = {"tool_name": "get_order", "injection_configs": [{"injected_response": {"state": "lost"}}]}
    (note,) = notes([SHIPPED], faithful, environment={"tool_simulation_configs": [wrong]})
    assert note.startswith(
        "'order': the side is the environment and not the agent: 5 of 5 attempts pass without the injection ("
    )
    assert note.endswith(
        "and 0 of 5 pass as the case is; the probability is 99.9% that this change makes the case pass more often"
    )


def test_a_reference_that_contradicts_the_tool_is_the_expectation() -> None:
    """With the value of the reference in the answer of the tool, the agent passes: it repeats the tool faithfully."""
    contradicting = case(turn(query=ASKED, reply="Your order is cancelled."), name="order")
    (note,) = notes([contradicting], faithful)
    assert note.startswith(
        "'order': the side is the expectation and not the agent: 5 of 5 attempts pass with the value of the reference "
        "in the answers of tools ('cancelled' for 'shipped'), and 0 of 5"
    )


def test_an_agent_that_ignores_the_tool_stays_at_fault() -> None:
    """Without the injection, it fails as before."""
    wrong = {"tool_name": "get_order", "injection_configs": [{"injected_response": {"state": "lost"}}]}
    (note,) = notes([SHIPPED], careless, environment={"tool_simulation_configs": [wrong]})
    assert note.startswith(
        "'order': the side is the agent and not the environment: 0 of 5 attempts pass without the injection ("
    )
    assert "and 0 of 5 pass as the case is; the probability is 50.0% that this change" in note


def test_a_simulated_user_is_replaced_by_that_of_an_attempt_that_passed() -> None:
    """The user of the second attempt leaves the plan; with the messages of the first, the agent passes."""
    scenario = EvalCase("talk", scenario=Scenario("Hello", "Ask where the order is."))

    def users(case: EvalCase, attempt: int) -> ScriptedUser:
        """Leave the plan in every attempt but the first. The case asks for nothing else."""
        assert case.id == "talk"
        return ScriptedUser(["Hello", "Bye"] if attempt == 1 else ["Hello", "What is the weather?"])

    shipped = Criterion("shipped", lambda trace, _: "shipped" in trace.invocations[-1].reply, 1.0)

    def shop(trace: Trace) -> str:
        return "I do not know" if "weather" in trace.invocations[-1].query else "It is shipped"

    run = fairtrial.evaluate(EvalSet("s", (scenario,)), shop, [shipped], users=users, attempts=6, diagnose=6)
    (note,) = [note for note in run.summary.notes if note.startswith("diagnose")]
    assert note.startswith(
        "diagnose: 'talk': the side is the simulator and not the agent: 6 of 6 attempts pass with the user of attempt "
        "1, which passed, and 1 of 6 pass as the case is"
    )


@pytest.mark.parametrize(
    ("language", "side", "probability"),
    [
        ("ko", "책임은 에이전트가 아니라 환경", "이렇게 바꾸면 케이스가 더 자주 통과할 확률은 99.9%"),
        ("ja", "責任はエージェントではなく環境にある", "この変更でケースの合格が増える確率は 99.9%"),
        ("zh-CN", "责任方是环境，不是智能体", "这样改动使用例更常通过的概率为 99.9%"),
        ("zh-TW", "責任方是環境，不是代理", "這樣更改使案例更常通過的機率為 99.9%"),
    ],
)
def test_the_side_and_the_probability_are_said_in_the_language_of_the_reader(
    language: str, side: str, probability: str
) -> None:
    """The sentence names the alternative, and what the probability is that of."""
    wrong = {"tool_name": "get_order", "injection_configs": [{"injected_response": {"state": "lost"}}]}
    (note,) = notes([SHIPPED], faithful, environment={"tool_simulation_configs": [wrong]})
    with speaking(language):
        said = say_sentence(f"diagnose: {note}")
    assert side in said
    assert said.endswith(probability)
    assert " attempts pass " not in said
    assert "injection" not in said


@pytest.mark.parametrize("language", ["ko", "ja", "zh-CN", "zh-TW"])
def test_each_conclusion_is_said_in_the_language_of_the_reader(language: str) -> None:
    """Of each suspect, and if nothing can be repeated."""
    steps = (ToolCall("down", {}, "c1"), ToolResult("down", {"state": "shipped"}, "c1"))
    recorded = case(turn(*steps, query=ASKED, reply="Your order is shipped."), name="order")
    contradicting = case(turn(query=ASKED, reply="Your order is cancelled."), name="order")
    several = [
        *notes([recorded], polite),
        *notes([SHIPPED], polite),
        *notes([contradicting], faithful),
        *notes([SHIPPED], lambda _: "no"),
    ]
    assert len(several) == 4
    with speaking(language):
        said = [say_sentence(f"diagnose: {note}") for note in several]
    words = re.compile(r"\b(the|and|pass|not|agent|with|answer)\b")
    assert [text for text in said if words.search(text)] == []


def test_a_flaky_agent_is_rarely_taken_for_a_victim() -> None:
    """If the removal changes nothing, a side is named in less than 3 % of all results, whatever the pass rate is."""
    worst = 0.0
    for rate, trials in itertools.product((0.1, 0.3, 0.5, 0.7, 0.9), (3, 5, 10)):
        chances = [_binomial(k, trials, rate) for k in range(trials + 1)]
        worst = max(
            worst,
            sum(
                chances[own] * chances[control]
                for own in range(trials + 1)
                for control in range(trials + 1)
                if probability_larger(own, trials, control, trials) >= CERTAIN
            ),
        )
    assert 0.01 < worst < 0.03


def _binomial(k: int, n: int, rate: float) -> float:
    ways = 1.0
    for i in range(k):
        ways = ways * (n - i) / (i + 1)
    return ways * rate**k * (1 - rate) ** (n - k)


@pytest.mark.parametrize("counts", [(5, 5, 0, 5), (1, 5, 4, 5), (2, 7, 1, 3), (0, 0, 0, 0)])
def test_the_probability_agrees_with_draws(counts: tuple[int, int, int, int]) -> None:
    """From Beta variables of the standard library."""
    chance = random.Random(1)
    passed, n, other, m = counts
    draws = 20_000
    larger = sum(
        chance.betavariate(1 + passed, 1 + n - passed) > chance.betavariate(1 + other, 1 + m - other)
        for _ in range(draws)
    )
    assert probability_larger(*counts) == pytest.approx(larger / draws, abs=0.015)


def test_the_price_comes_before_the_repetitions(capsys: pytest.CaptureFixture[str]) -> None:
    """A command says how many conversations follow; here 5 as they are, and 5 without the injection."""
    from fairtrial.api import RunOptions, execute, plan_run

    wrong = {"tool_name": "get_order", "injection_configs": [{"injected_response": {"state": "lost"}}]}
    options = RunOptions(environment={"tool_simulation_configs": [wrong]}, diagnose=5)
    prices: list[str] = []
    calls: list[int] = []

    def counting(trace: Trace, call: Any) -> Iterator[Any]:
        calls.append(len(prices))
        yield from faithful(trace, call)

    execute(plan_run(EvalSet("s", (SHIPPED,)), counting, CRITERIA, run=options), on_wait=prices.append)
    assert prices == ["diagnose: 10 conversations more with 1 failed case"]
    assert calls == [0] + [1] * 10
    assert capsys.readouterr().out == ""


def test_a_case_that_failed_without_a_suspect_is_not_repeated() -> None:
    """The run says so."""
    (note,) = notes([SHIPPED], lambda _: "no")
    assert note == "no failed attempt has a suspect beside the agent"
