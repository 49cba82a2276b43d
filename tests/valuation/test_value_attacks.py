"""Thirty ways to make a trace look better: warnings name each of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation.gaming import warnings
from reasonings import WORDS as ALL_WORDS
from reasonings import reasoning

Steps = list[dict[str, Any]]
WORDS = [word for word in ALL_WORDS if word != "retry"]  # a result with it would read like an error


def honest(number: int) -> dict[str, Any]:
    """A trace of a few calls with results; every second one has an error and a recovery."""
    rng = random.Random(number)

    def text(count: int) -> str:
        return " ".join(rng.sample(WORDS, count))

    steps: Steps = [{"type": "thought", "content": f"first {text(5)}"}]
    for place in range(rng.randrange(2, 5)):
        steps.append({"type": "tool_call", "tool": {"name": f"tool_{place}"}, "input": {"q": text(2)}})
        steps.append({"type": "observation", "content": f"record {place}: {text(6)}"})
    if number % 2:
        steps.append({"type": "tool_call", "tool": {"name": "tool_0"}, "input": {"q": "again"}})
        steps.append({"type": "observation", "content": f"error: timeout of {text(3)}"})
        steps.append({"type": "error_recovery", "tool": {"name": "tool_1"}, "output_summary": f"found {text(4)}"})
    return reasoning(number, steps=steps)


def _add(*steps: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    return lambda trace: trace["steps"].extend(copy.deepcopy([*steps]))


def _call(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_call", "tool": {"name": name}} | more


def _thought(content: str) -> dict[str, Any]:
    return {"type": "thought", "content": content}


def _recovery(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "error_recovery", "content": content} | more


def _copy_results(trace: dict[str, Any]) -> None:
    trace["steps"] += [step | {"tool": {"name": "audit"}} for step in trace["steps"] if step["type"] == "observation"]


def _repeat_all(trace: dict[str, Any]) -> None:
    trace["steps"] += copy.deepcopy(trace["steps"])


def _shuffle_thought(trace: dict[str, Any]) -> None:
    trace["steps"].append(_thought(" ".join(reversed(trace["steps"][0]["content"].split()))))


def _repeat_objective(trace: dict[str, Any]) -> None:
    trace["steps"] += [_thought(trace["task"]["objective"])] * 3


def _summary(text: str) -> Callable[[dict[str, Any]], None]:
    return lambda trace: trace.update(outcome={"result_summary": text, "confidence": 1.0})


def _affirm(trace: dict[str, Any]) -> None:
    for step in trace["steps"]:
        if step["type"] == "thought":
            step["content"] = f"I am absolutely and definitely sure: {step['content']}"


_FILLER = "let us think about this carefully and consider all of the options again and again "
_ERROR = {"type": "observation", "content": "error: the disk is full"}
_FAILED_CALL = _call("probe", input={"q": 1}, output_summary="error: no such probe")
_CONFIDENT_THOUGHTS = [_thought(f"This is certainly right, part {name}, no doubt") for name in ("one", "two")]

ATTACKS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "calls without results": (_add(*[_call(f"new_{n}") for n in range(3)]), "never answered"),
    "one call without a result": (_add(_call("verify", input={"all": True})), "never answered"),
    "calls that return ok": (_add(*[_call(f"new_{n}", output_summary="ok") for n in range(3)]), "without content"),
    "calls that return success": (
        _add(*[_call(f"new_{n}", input={"n": n}, output_summary="all good") for n in range(4)]),
        "without content",
    ),
    "results of tools that were not called": (
        _add({"type": "observation", "tool": {"name": "auditor"}, "content": "the audit found 0 problems"}),
        "not called",
    ),
    "results copied to another tool": (_copy_results, "copied from another step"),
    "empty steps": (_add(*[{"type": "observation"}] * 4), "empty steps"),
    "blank thoughts": (_add(_thought("  "), _thought("")), "empty steps"),
    "all steps twice": (_repeat_all, "repeated steps"),
    "ten thoughts": (_add(*[_thought(f"idea {word} and more") for word in WORDS[:10]]), "thoughts in a row"),
    "five thoughts in Korean": (_add(*[_thought(f"{word} 생각합니다") for word in WORDS[:5]]), "thoughts in a row"),
    "forty thoughts": (_add(*[_thought(f"note {word * n}") for n in range(1, 4) for word in WORDS]), "padding"),
    "the same thought": (_add(*[_thought("it works")] * 3), "repeated steps"),
    "numbered thoughts": (_add(*[_thought(f"step {n} is fine") for n in range(3)]), "restate earlier"),
    "a thought in another order": (_shuffle_thought, "restate earlier"),
    "the objective as thoughts": (_repeat_objective, "repeated steps"),
    "a long thought that says nothing": (_add(_thought(_FILLER * 6)), "repeats itself"),
    "a long summary step": (_add({"type": "observation", "content": "done and dusted and " * 20}), "repeats itself"),
    "a recovery": (_add(_recovery("recovered")), "recoveries"),
    "two recoveries": (_add(_recovery("fixed it"), _recovery("fixed the rest")), "recoveries"),
    "an invented error and recoveries": (_add(_ERROR, _recovery("freed"), _recovery("went on")), "recoveries"),
    "an error in a thought": (_add(_thought("an error!"), _recovery("a"), _recovery("b")), "recoveries"),
    "five recoveries of one error": (
        _add(_FAILED_CALL, *[_recovery(f"way {word}") for word in WORDS[:5]]),
        "more recoveries than errors",
    ),
    "a recovery in Japanese": (_add(_recovery("エラーから回復しました"), _recovery("続行します")), "recoveries"),
    "a certain summary": (_summary("Definitely solved, 100% guaranteed."), "confident words"),
    "certain thoughts": (_affirm, "confident words"),
    "certain words in Korean": (_summary("확실히 해결했고 틀림없습니다."), "confident words"),
    "certain words in Chinese": (_summary("毫无疑问，已经百分之百解决。"), "confident words"),
    "certain words in Japanese": (_summary("絶対に解決し、間違いありません。"), "confident words"),
    "certain thoughts at the end": (_add(*_CONFIDENT_THOUGHTS), "confident words"),
}


def _built(raw: dict[str, Any]) -> ReasoningTrace:
    raw["steps"] = [step | {"step_id": number} for number, step in enumerate(raw["steps"])]
    built = knowledgepulse.build(raw)
    assert isinstance(built, ReasoningTrace), built
    return built


@pytest.mark.parametrize("name", ATTACKS)
def test_the_warnings_name_each_attack(name: str) -> None:
    """A warning of each attacked trace names the attack, and an honest trace has no warning."""
    attack, message = ATTACKS[name]
    for number in range(20):
        raw = honest(number)
        assert warnings(_built(copy.deepcopy(raw))) == ()
        attack(raw)
        assert any(message in warning for warning in warnings(_built(raw))), warnings(_built(raw))


def test_there_are_thirty_attacks() -> None:
    """The number that the documentation states."""
    assert len(ATTACKS) == 30
