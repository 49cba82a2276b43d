"""Which numbers of a trace can a fitted value rest on?

A number counts only if an agent cannot raise its score by adding to the trace. So each number about the agent's steps
can only grow when steps or words are added, and a model may only lower the score for it. Numbers about the user's
objective are free, because the agent does not write it. Confidence and success are not used: they are claims.
"""

from __future__ import annotations

import math
from collections import Counter

import msgspec

from fairtrial.records.reasoning import ReasoningStep, ReasoningTrace
from fairtrial.valuation.gaming import TROUBLE

STEP_FEATURES = {
    "steps": "steps of any type",
    "thoughts": "steps of the type thought",
    "calls": "steps that name a tool and are not observations",
    "recoveries": "steps of the type error_recovery",
    "tools": "distinct tools",
    "most_used_tool": "calls of the tool that is called most",
    "repeated_calls": "calls that an earlier call of the same tool with the same input repeats",
    "troubles": "steps whose content or result reads like an error",
    "words": "words of all contents and results",
    "longest_step": "words of the longest step",
}
"""The numbers about the steps, as log(1 + number). None of them falls when something is added to a trace."""
OBJECTIVE_FEATURES = {
    "objective_words": "words of the objective",
    "objective_lines": "lines of the objective, which are the messages of the user if the trace was recorded",
}
"""The numbers about the task, as log(1 + number)."""
CALLS_OF = "calls_of:"
"""Before the name of a tool: the number of its calls, as log(1 + number)."""
_encode = msgspec.json.Encoder(order="sorted").encode


def trace_features(trace: ReasoningTrace) -> dict[str, float]:
    """Return the features of a trace by name, with one more for each tool that it calls."""
    steps = trace.steps
    calls = [step for step in steps if step.tool is not None and step.type != "observation"]
    calls_of = Counter(step.tool.name for step in calls if step.tool is not None)
    words = [_count_words(step) for step in steps]
    counts = {
        "steps": len(steps),
        "thoughts": sum(step.type == "thought" for step in steps),
        "calls": len(calls),
        "recoveries": sum(step.type == "error_recovery" for step in steps),
        "tools": len({step.tool.name for step in steps if step.tool is not None}),
        "most_used_tool": max(calls_of.values(), default=0),
        "repeated_calls": len(calls) - len({(step.tool.name, _encode(step.input)) for step in calls if step.tool}),
        "troubles": sum(map(_reads_like_trouble, steps)),
        "words": sum(words),
        "longest_step": max(words, default=0),
        "objective_words": len(trace.task.objective.split()),
        "objective_lines": len(trace.task.objective.splitlines()),
    }
    counts |= {f"{CALLS_OF}{name}": count for name, count in calls_of.items()}
    return {name: math.log1p(count) for name, count in counts.items()}


def is_free(feature: str) -> bool:
    """Return whether a feature may raise the score: only if the agent does not write it."""
    return feature in OBJECTIVE_FEATURES


def _count_words(step: ReasoningStep) -> int:
    return len((step.content or "").split()) + len((step.output_summary or "").split())


def _reads_like_trouble(step: ReasoningStep) -> bool:
    text = f"{step.content or ''}\n{step.output_summary or ''}".lower()
    return any(word in text for word in TROUBLE)
