"""A judge of replies sees the pictures that stand in them, up to a bound."""

from __future__ import annotations

import base64

import pytest

from fairtrial.metrics.rubrics import FinalResponseRubrics, ToolUseRubrics
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Part, Trace
from judged import Bench, fenced, score

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n...").decode()
CHART = Part("image/png", data=PICTURE, name="chart.png")
RUBRIC = Rubric("axes", "Both axes are labelled.")


def trace(*parts: Part) -> Trace:
    """A reply with parts."""
    return Trace((Invocation(Message("Draw."), (), Message("Done.", "agent", parts=parts)),))


def judge(*parts: Part) -> Bench:
    """A judge who was asked about a reply with parts."""
    bench = Bench(lambda _item, _prompt: "yes", votes=2)
    assert score(FinalResponseRubrics(bench.judge, (RUBRIC,)), trace(*parts)).value == 1
    return bench


def test_a_picture_is_numbered_and_goes_along() -> None:
    """Both orders of the answers have it."""
    for prompt in judge(CHART).prompts:
        assert prompt.pictures == (CHART,)
        assert fenced(prompt, "reply 1") == "Done.\n[image/png chart.png, which is picture 1]"


@pytest.mark.parametrize(
    "part",
    [
        Part("audio/wav", data=PICTURE, name="sound.wav"),
        Part("image/png", uri="https://example.com/x.png"),
        Part("image/png", data="no base64!", name="broken.png"),
        Part("image/png", data="A" * 8_000_000, name="large.png"),
    ],
)
def test_a_part_that_cannot_go_along_is_named(part: Part) -> None:
    """The judge knows that it does not see it."""
    (prompt, *_) = judge(part).prompts
    assert prompt.pictures == ()
    assert "which is not shown here" in fenced(prompt, "reply 1")


def test_six_pictures_are_enough() -> None:
    """An agent cannot make a call dear by many pictures."""
    parts = [Part("image/png", data=PICTURE, name=f"{number}.png") for number in range(9)]
    (prompt, *_) = judge(*parts).prompts
    assert len(prompt.pictures) == 6
    assert "8.png, which is not shown here" in fenced(prompt, "reply 1")


def test_a_judge_of_tool_use_sees_no_pictures() -> None:
    """It does not judge the reply."""
    bench = Bench(lambda _item, _prompt: "yes", votes=1)
    score(ToolUseRubrics(bench.judge, (RUBRIC,)), trace(CHART))
    assert bench.prompts[0].pictures == ()
