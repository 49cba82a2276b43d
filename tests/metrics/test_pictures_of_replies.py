"""A judge of replies sees the pictures that stand in them, up to a bound."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fairtrial.metrics.rubrics import FinalResponseRubrics, ToolUseRubrics
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Part, ToolCall, ToolResult, Trace
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
        Part("audio/ogg", data=PICTURE, name="sound.ogg"),
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


SCREENSHOTS = [
    {"content": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}, {"type": "text", "text": "a page"}]},
    [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}],
    {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PICTURE}"},
    {"parts": [{"inlineData": {"mimeType": "image/png", "data": PICTURE}}]},
]
"""The results of MCP, Anthropic, OpenAI and Gemini that hold a screenshot."""


def browsing(response: Any) -> Trace:
    """A conversation in which a tool returns a screenshot."""
    steps = (ToolCall("look", {"url": "https://example.com"}, "1"), ToolResult("look", response, "1"))
    return Trace((Invocation(Message("Look."), steps, Message("It is a page.")),))


@pytest.mark.parametrize("response", SCREENSHOTS, ids=["mcp", "anthropic", "openai", "gemini"])
@pytest.mark.parametrize("metric", [FinalResponseRubrics, ToolUseRubrics], ids=["reply", "tools"])
def test_a_screenshot_in_a_result_goes_along(metric: Any, response: Any) -> None:
    """The text of the result has its number in place of its content."""
    bench = Bench(lambda _item, _prompt: "yes", votes=2)
    rubric = Rubric("page", "It is a page.", type=metric.kind)
    assert score(metric(bench.judge, (rubric,)), browsing(response)).value == 1
    (prompt, *_) = bench.prompts
    assert prompt.pictures == (Part("image/png", data=PICTURE),)
    assert "[image/png, which is picture 1]" in fenced(prompt, "tool result 1.2")
    assert PICTURE not in prompt.text


def test_the_latest_screenshots_go_along() -> None:
    """A long session has more of them than a judge sees. The earlier ones are named."""
    contents = [base64.b64encode(bytes([number] * 30)).decode() for number in range(8)]
    shots = [{"type": "image", "data": content, "mimeType": "image/png"} for content in contents]
    bench = Bench(lambda _item, _prompt: "yes", votes=2)
    steps = tuple(ToolResult("look", shot) for shot in shots)
    seen = Trace((Invocation(Message("Look."), steps, Message("Done.")),))
    assert score(FinalResponseRubrics(bench.judge, (RUBRIC,)), seen).value == 1
    (prompt, *_) = bench.prompts
    assert [part.data for part in prompt.pictures] == list(reversed(contents[2:]))
    assert "which is not shown here" in fenced(prompt, "tool result 1.1")
    assert "which is picture 1]" in fenced(prompt, "tool result 1.8")


def test_a_spoken_reply_goes_along() -> None:
    """A sound has a number among the pictures, and is called a sound."""
    spoken = Part("audio/wav", data=PICTURE, name="reply.wav")
    for prompt in judge(CHART, spoken).prompts:
        assert prompt.pictures == (CHART, spoken)
        assert "[audio/wav reply.wav, which is sound 2]" in fenced(prompt, "reply 1")
