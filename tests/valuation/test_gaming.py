"""Warnings about traces that look as if they were made for the score."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.valuation.single import value
from reasonings import reasoning


def _warnings(*steps: dict[str, Any]) -> tuple[str, ...]:
    numbered = [{"step_id": number} | step for number, step in enumerate(steps)]
    return value(reasoning(steps=numbered), embedder=None).warnings


THOUGHT = {"type": "thought", "content": "so"}
CALL = {"type": "tool_call", "tool": {"name": "t"}}
SEEN = {"type": "observation", "content": "seen"}
BROKEN = {"type": "observation", "content": "Error: disk full"}
RECOVERY = {"type": "error_recovery", "content": "freed some"}

CASES = {
    "an honest trace": ((THOUGHT, CALL, SEEN), ()),
    "an empty step": (({"type": "thought", "content": " "}, SEEN), ("empty steps: step 0",)),
    "a repeated step": ((SEEN, THOUGHT, SEEN), ("repeated steps: step 2",)),
    "the same call with other arguments": (
        (CALL | {"input": {"a": 1}}, SEEN, CALL | {"input": {"a": 2}}, THOUGHT | {"type": "observation"}),
        (),
    ),
    "a recovery from nothing": ((THOUGHT, RECOVERY), ("recoveries without an error before them: step 1",)),
    "a recovery from an error": ((CALL, BROKEN, RECOVERY), ()),
    "a recovery from an error in Korean": ((CALL, {"type": "observation", "content": "디스크 오류"}, RECOVERY), ()),
    "a recovery from what is not there": (
        (CALL, {"type": "observation", "content": "ls: No such file or directory"}, RECOVERY),
        (),
    ),
    "a recovery from what is not there in Chinese": (
        (CALL, {"type": "observation", "content": "找不到文件"}, RECOVERY),
        (),
    ),
    "a tool without an answer": ((CALL, THOUGHT), ("tools named but never answered: step 0",)),
    "a tool with its own output": ((CALL | {"output_summary": "ok"}, THOUGHT), ()),
    "two calls answered by name": (
        (
            CALL,
            {"type": "tool_call", "tool": {"name": "u"}},
            SEEN | {"tool": {"name": "u"}},
            THOUGHT | {"type": "observation"},
        ),
        (),
    ),
    "thoughts as padding": (
        tuple({"type": "thought", "content": f"hm {i}"} for i in range(6)),
        (
            "thoughts as padding: 6 of 6 steps",
            "thoughts that restate earlier thoughts: step 1, 2, 3, 4, 5",
            "thoughts in a row: step 0, 1, 2, 3, 4 and 1 more",
        ),
    ),
}


@pytest.mark.parametrize(("steps", "expected"), CASES.values(), ids=CASES.keys())
def test_what_looks_like_gaming_is_told(steps: tuple[dict[str, Any], ...], expected: tuple[str, ...]) -> None:
    """Each kind is named with its steps, and an honest trace has no warning."""
    assert _warnings(*steps) == expected


def test_a_long_list_of_steps_is_cut() -> None:
    """Eight repeated steps are five numbers and a count."""
    assert _warnings(*[SEEN] * 9) == ("repeated steps: step 1, 2, 3, 4, 5 and 3 more",)


def test_warnings_do_not_change_the_score() -> None:
    """A trace whose call is never answered scores like one whose call is."""
    told = reasoning(steps=[{"step_id": 0} | CALL, {"step_id": 1} | THOUGHT])
    clean = reasoning(steps=[{"step_id": 0, "output_summary": "ok"} | CALL, {"step_id": 1} | THOUGHT])
    first, second = value(told, embedder=None), value(clean, embedder=None)
    assert first.warnings
    assert not second.warnings
    assert first.score == second.score


def test_repeated_steps_are_found_in_one_pass() -> None:
    """Twenty thousand calls of one tool are compared by their contents, not each with all before it."""
    steps = [CALL | {"output_summary": "x", "input": {"n": number % 19_999}} for number in range(20_000)]
    assert "repeated steps: step 19999" in _warnings(*steps)
