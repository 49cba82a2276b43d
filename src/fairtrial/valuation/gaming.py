"""Warnings about gaming: text in a trace that seems to be there for the score. It never changes the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from fairtrial.valuation.invented_steps import CONFIDENT_COUNT, count_confident_words, invented_steps

if TYPE_CHECKING:
    from fairtrial.records.reasoning import ReasoningStep, ReasoningTrace

PADDING_SHARE = 0.7
"""Thoughts beyond this share of a trace of at least PADDING_STEPS steps are called padding."""
PADDING_STEPS = 5
TROUBLE = (
    *("error", "fail", "exception", "denied", "refus", "timeout", "timed out", "time out", "invalid", "not found"),
    *("unable", "cannot", "could not", "rate limit", "retry", "no such", "not exist", "forbidden", "unauthori"),
    *("unavailable", "missing", "conflict", "crash", "abort", "traceback", "permiso", "fallo", "no existe"),
    *("오류", "실패", "에러", "거부", "거절", "예외", "찾을 수 없", "エラー", "失敗", "拒否", "例外", "見つかりません"),
    *("错误", "錯誤", "失败", "异常", "拒绝", "超时", "未找到", "找不到", "不存在", "无法"),
)
"""Words for errors, in the languages of the source documents and in Spanish."""

_sorted_json = msgspec.json.Encoder(order="sorted").encode


def warnings(trace: ReasoningTrace) -> tuple[str, ...]:
    """Return the signs of gaming, each as a sentence with the ids of its steps. The list is empty if there are none."""
    steps = trace.steps
    signs = [_empty(steps), _find_repeated(steps), _find_unanswered(steps), _padding(steps)]
    signs += [_sentence(problem, ids) for problem, ids in invented_steps(trace, _reads_like_trouble)]
    count = count_confident_words(trace)
    signs.append(f"confident words: {count}" if count >= CONFIDENT_COUNT else "")
    return tuple(filter(None, signs))


def _empty(steps: Sequence[ReasoningStep]) -> str:
    return _sentence(
        "empty steps",
        [
            step.step_id
            for step in steps
            if step.tool is None
            and not step.input
            and not (step.content and step.content.strip())
            and not (step.output_summary and step.output_summary.strip())
        ],
    )


def _find_repeated(steps: Sequence[ReasoningStep]) -> str:
    seen: set[tuple[str, str | None, str, str | None, bytes]] = set()
    again = []
    for step in steps:
        name = step.tool.name if step.tool is not None else ""
        if not (step.content or name or step.input or step.output_summary):
            continue
        content = (step.type, step.content, name, step.output_summary, _sorted_json(step.input))
        if content in seen:
            again.append(step.step_id)
        seen.add(content)
    return _sentence("repeated steps", again)


def _reads_like_trouble(steps: Sequence[ReasoningStep]) -> bool:
    # Looking for each word in turn is several times faster than one pattern of all of them.
    text = "\n".join([f"{step.content or ''}\n{step.output_summary or ''}" for step in steps]).lower()
    for word in TROUBLE:  # noqa: SIM110  # and a loop faster than a generator
        if word in text:
            return True
    return False


def _find_unanswered(steps: Sequence[ReasoningStep]) -> str:
    """A call is answered by its own output, or by a later observation: one of its tool, else the next without tool."""
    waiting: list[tuple[str, int]] = []
    for step in steps:
        name = step.tool.name if step.tool is not None else ""
        if step.type == "observation" or (step.type == "error_recovery" and not name):
            match = next((place for place, (tool, _) in enumerate(waiting) if not name or tool == name), None)
            if match is not None:
                del waiting[match]
        elif name and not step.output_summary:
            waiting.append((name, step.step_id))
    return _sentence("tools named but never answered", [step_id for _, step_id in waiting])


def _padding(steps: Sequence[ReasoningStep]) -> str:
    thoughts = sum(step.type == "thought" for step in steps)
    if len(steps) < PADDING_STEPS or thoughts <= PADDING_SHARE * len(steps):
        return ""
    return f"thoughts as padding: {thoughts} of {len(steps)} steps"


def _sentence(problem: str, ids: Sequence[int], limit: int = 5) -> str:
    if not ids:
        return ""
    more = f" and {len(ids) - limit} more" if len(ids) > limit else ""
    return f"{problem}: step {', '.join(map(str, ids[:limit]))}{more}"
